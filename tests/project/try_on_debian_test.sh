#!/usr/bin/env bash
# Failures of tools/try_on_debian: one line with the reason, and nothing is removed that is mounted.
# Usage: try_on_debian_test.sh SOURCE_DIR. Skipped where the kernel doesn't allow user namespaces, in CI too: no package gives them.
set -euo pipefail
tool=$1/tools/try_on_debian
namespace=(unshare --user --map-root-user --mount --pid --fork --mount-proc)
if ! "${namespace[@]}" true 2> /dev/null; then
  echo "skipped: no user namespaces here"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT

fail() {
  echo "failed: $*"
  exit 1
}

# refuses TEXT COMMAND…: the command fails, and the last line that it prints contains TEXT
refuses() {
  local text=$1 printed
  shift
  if printed=$("$@" 2>&1); then fail "$* succeeded"; fi
  [[ "${printed##*$'\n'}" == *"$text"* ]] || fail "$* says '$printed', not '$text'"
}

refuses "which Debian?" "$tool"
refuses "is no name of a Debian release" "$tool" ../../etc
refuses "unknown option --fast" "$tool" trixie --fast
refuses "there is no step 'install'" "$tool" trixie --steps run,install

mkdir -p "$folder/mounted/root/inside" "$folder/plain/root/inside" "$folder/bin"
cat > "$folder/mount_and_remove" << SCRIPT
set -e
mount -t tmpfs tmpfs "$folder/mounted/root/inside"
touch "$folder/mounted/root/inside/kept"
status=0
"$tool" trixie --folder "$folder/mounted" --remove || status=\$?
[ -e "$folder/mounted/root/inside/kept" ] || { echo "removed what was mounted"; exit 3; }
exit \$status
SCRIPT
refuses "something is mounted at $folder/mounted/root/inside" "${namespace[@]}" bash "$folder/mount_and_remove"

"${namespace[@]}" "$tool" trixie --folder "$folder/plain" --remove || fail "a tree without mounts is not removed"
[ ! -e "$folder/plain/root" ] || fail "a tree without mounts is still there"

printf '#!/bin/sh\necho "no such mirror"\nexit 5\n' > "$folder/bin/debootstrap"
chmod +x "$folder/bin/debootstrap"
refuses "bootstrap failed on trixie with status 5 after" env PATH="$folder/bin:$PATH" "${namespace[@]}" \
  "$tool" trixie --folder "$folder/failing"
grep -q "no such mirror" "$folder/failing/logs/bootstrap.log" || fail "the log lacks what the step printed"
echo "passed"
