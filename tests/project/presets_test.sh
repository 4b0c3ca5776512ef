#!/usr/bin/env bash
# Each preset configures in an empty folder: what a build made before isn't there. presets_test.sh SOURCE
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/skip.sh"
command -v clang++ > /dev/null || skip "some presets are clang's, which isn't installed (Debian: clang)"
cd "$1"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=0
for preset in $(cmake --list-presets | sed -nE 's/^ *"([^"]+)".*/\1/p'); do
  if ! cmake --preset "$preset" -B "$folder/$preset" > "$folder/said" 2>&1; then
    tail -n 30 "$folder/said"
    echo "the preset $preset doesn't configure in an empty folder"
    exit 1
  fi
  rm -rf "${folder:?}/$preset"
  count=$((count + 1))
done
[ "$count" -ge 6 ] || { echo "only $count presets were tried"; exit 1; }
