#!/usr/bin/env bash
# tools/make_contact_sheets draws every view, and names the one that a change makes differ. Usage: contact_sheets.sh HEADLIGHT;
# skipped where ImageMagick is missing.
set -euo pipefail
source "$(dirname "$0")/../support/skip.sh"

program=$(realpath "$1")
make_sheets=$(realpath "$(dirname "$0")/../../tools/make_contact_sheets")
for tool in convert montage; do
  command -v "$tool" >/dev/null || skip "$tool is not installed (Debian: apt install imagemagick)"
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CONFIG_HOME=$folder/config XDG_STATE_HOME=$folder/state
fail() { echo "failed: $*"; exit 1; }

"$make_sheets" --program "$program" --out "$folder/before" --against "$folder" --sheets dark-1024x640 >"$folder/said"
[ "$(cat "$folder/said")" = "sheets: $folder/before" ] || fail "a view refuses the text: $(cat "$folder/said")"
IFS='|' read -ra views < <("$program" screenshot --help-all | sed -n 's/^ *--tab \([a-z_|]*\)$/\1/p')
drawn=("$folder"/before/pictures/*.png)
[ "${#drawn[@]}" = "${#views[@]}" ] || fail "${#drawn[@]} pictures of ${#views[@]} views"
[ -s "$folder/before/dark-1024x640.png" ] || fail "no sheet"

"$make_sheets" --program "$program" --out "$folder/needed" --against "$folder" --sheets needed --views patching,corpus >/dev/null
for view in patching corpus; do
  [ -s "$folder/needed/pictures/needed-$view.png" ] ||
    fail "no picture of $view with what it needs"
done

# A headlight whose view Lines has another text.
printf '#!/bin/sh\ncase "$*" in *"--tab lines"*) exec "%s" "$@" --text "a dog runs" ;; *) exec "%s" "$@" ;; esac\n' \
  "$program" "$program" >"$folder/changed"
chmod +x "$folder/changed"
"$make_sheets" --program "$folder/changed" --out "$folder/after" --against "$folder/before" --sheets dark-1024x640 \
  --views head,lines >"$folder/said"
grep -qx "1 pictures differ from $folder/before" "$folder/said" || fail "$(cat "$folder/said")"
grep -qx 'dark-1024x640-lines' "$folder/said" || fail "Lines isn't named: $(cat "$folder/said")"
[ -s "$folder/after/changed.png" ] || fail "no sheet of what changed"
