# `make run` opens the app, `make test` checks everything, `make check-windows` and `make check-macos` what can be checked of
# other platforms. Each installs what is missing first. The rest are the parts these are made of.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# What the scripts share: folders outside the clone that keep later builds quick, and the tools they found.
export MEWORK_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/mework
export CARGO_TARGET_DIR ?= $(MEWORK_CACHE)/target
# dev or release
export PROFILE ?= dev

.PHONY: help
help: ## This list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

.PHONY: run
run: ## Build the app and open its window (in a browser where there is no display)
	@scripts/setup run
	@scripts/ui
	@scripts/build
	@scripts/run

.PHONY: test
test: ## Every check and every test
	@scripts/setup test
	@scripts/ui
	@scripts/test

.PHONY: fuzz
fuzz: ## Look for bytes that break the parsers, FUZZ_SECONDS (60) for each target
	@scripts/setup run
	@scripts/fuzz

.PHONY: check-windows
check-windows: ## Check everything for Windows, and run under Wine the tests that Wine can run
	@scripts/setup windows
	@scripts/ui
	@scripts/check-windows

.PHONY: check-macos
check-macos: ## Check types, warnings and lints of everything for macOS
	@scripts/setup macos
	@scripts/ui
	@scripts/check-macos

.PHONY: setup
setup: ## Install what building and testing need
	@scripts/setup test

.PHONY: ui
ui: ## Build the web frontend into ui/dist
	@scripts/setup run
	@scripts/ui

.PHONY: build
build: ## Build both programs into target/app (PROFILE=release for optimised ones)
	@scripts/setup run
	@scripts/ui
	@scripts/build

.PHONY: api
api: ## Write ui/src/host/api.ts from the engine's method list
	@scripts/with-target env MEWORK_WRITE_API=1 cargo test -q -p mework-engine typescript_is_current

.PHONY: shots
shots: ## Take pictures of the main states, light and dark, into shots/
	@scripts/setup test
	@scripts/ui
	@scripts/test shots

.PHONY: bench
bench: export PROFILE = release
bench: ## Measure speed and memory of release builds; also into target/bench.json
	@scripts/setup test
	@scripts/ui
	@scripts/bench

.PHONY: format
format: ## Format the Rust sources
	@cargo fmt --all
