# Sourced by scripts that check one thing after another: each step runs even when one before it failed, and the last
# line counts them.
passed=0 failed=()

step() {
  local name=$1 began=$SECONDS; shift
  say "$name"
  if "$@"; then passed=$((passed + 1)); echo "-- $name: passed in $((SECONDS - began)) s"
  else failed+=("$name"); echo "-- $name: FAILED after $((SECONDS - began)) s"
  fi
}

count_steps() {
  echo
  for name in "${failed[@]}"; do echo "failed: $name"; done
  echo "$passed passed, ${#failed[@]} failed"
  [ ${#failed[@]} = 0 ]
}
