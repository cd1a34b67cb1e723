# Sourced by check-windows and check-macos, after tools.sh: Debian's Rust, set up to compile for another platform.
#
# The usual toolchain carries its own platform's standard library only. Debian has the library's source, from which Cargo
# builds it for any platform. That is an unstable option (-Zbuild-std), which a stable compiler takes when it is
# bootstrapped (RUSTC_BOOTSTRAP). Programs for people are built on their own platform; these are for the checks alone.

# The folder is not the usual target folder: that one's artifacts are another compiler's.
export CARGO_TARGET_DIR=$MEWORK_CACHE/cross-target
if [ "${MEWORK_TARGET_HELD:-}" != "$CARGO_TARGET_DIR" ]; then exec scripts/with-target "scripts/$(basename "$0")" "$@"; fi

# Named in full, because a cargo that rustup installed stands first in the PATH and would ask for its own compiler.
export CARGO=/usr/bin/cargo RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1
export PATH=/usr/bin:$PATH
# Nobody steps through these programs.
export CARGO_PROFILE_DEV_DEBUG=false

# The arguments that every command of Cargo's has here; the target stands in $target.
whole=(-Zbuild-std=std,panic_unwind --locked --workspace --features mework-desktop/custom-protocol,mework/ui)

# Checks types, warnings and lints of everything. Clippy is called past `cargo clippy`, which would find rustup's first.
lint() { /usr/bin/cargo-clippy clippy "${whole[@]}" --target "$target" --all-targets --keep-going --quiet -- -D warnings; }
