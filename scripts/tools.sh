# Sourced by the other scripts: where things are, and the tools that setup may have put into the cache folder.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
MEWORK_CACHE=${MEWORK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mework}
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$MEWORK_CACHE/target}
PROFILE=${PROFILE:-dev}
export MEWORK_CACHE CARGO_TARGET_DIR PROFILE

# Node from the cache folder, when this machine's own is missing or too old.
if [ -x "$MEWORK_CACHE/node/bin/node" ]; then PATH=$MEWORK_CACHE/node/bin:$PATH; fi
# Cargo of rustup, also when it was installed in this very shell's lifetime; Debian's is no match for it, and comes with
# what the checks for other platforms install.
if [ -x "$HOME/.cargo/bin/cargo" ]; then
  case $(command -v cargo || true) in ''|/usr/bin/cargo) PATH=$HOME/.cargo/bin:$PATH ;; esac
fi
export PATH

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'make: %s\n' "$*" >&2; exit 1; }

# Programs under test and programs to run lie here: a folder of this clone, because the target folder may be shared.
APP_DIR=$PWD/target/app
case $PROFILE in
  dev) PROFILE_DIR=debug ;;
  *) PROFILE_DIR=$PROFILE ;;
esac
export APP_DIR PROFILE_DIR

# The folder for something that a lock file decides: its name holds the lock's hash, so that clones share it.
keyed() { printf '%s/%s-%s' "$MEWORK_CACHE" "$1" "$(cat "${@:2}" | sha256sum | cut -c1-16)"; }
