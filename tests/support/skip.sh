# Sourced by tests that need something which a machine may lack.

# skip REASON: ends with 77, which ctest counts as skipped; with HEADLIGHT_NO_SKIPS, as .ci/run sets it, as a failure.
skip() {
  if [ -n "${HEADLIGHT_NO_SKIPS:-}" ]; then
    echo "failed: $*"
    exit 1
  fi
  echo "skipped: $*"
  exit 77
}
