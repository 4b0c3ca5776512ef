#!/usr/bin/env bash
# A real window opens on its display, and can be reached, whatever the settings say and whatever size another program gives it;
# an exception in a frame costs that frame. Usage: odd_settings_test.sh PATH-OF-HEADLIGHT. Skipped where Xvfb or xdotool is missing.
set -euo pipefail
source "$(dirname "$0")/../support/display.sh"

program=$1
open_display 1280x900
settings=$folder/config/headlight/settings.json
failures=0
say() {
  echo "$1: $2"
  [ "$1" = ok ] || { failures=$((failures + 1)); cat "$folder/output" 2>/dev/null || true; }
}

# placed: where the window is: X, Y, WIDTH, HEIGHT.
placed() { eval "$(xdotool getwindowgeometry --shell "$window")"; }
# expect_reachable WHAT: no larger than the display, and with a part of its upper edge on it.
expect_reachable() {
  placed
  if [ "$WIDTH" -le 1280 ] && [ "$HEIGHT" -le 900 ] && [ "$X" -ge $((64 - WIDTH)) ] && [ "$X" -le 1216 ] && [ "$Y" -ge 0 ] && [ "$Y" -le 836 ]; then
    say ok "$1: ${WIDTH}x$HEIGHT at $X, $Y"
  else
    say bad "$1: ${WIDTH}x$HEIGHT at $X, $Y"
  fi
}
# try WHAT JSON: a start with these settings.
try() {
  rm -rf "$folder/config"
  mkdir -p "${settings%/*}"
  printf '%s' "$2" >"$settings"
  start_window --preset notebook-001
  if [ -z "$window" ]; then
    say bad "$1: no window"
    viewer=
    return
  fi
  sleep 1
  expect_reachable "$1"
  end_window
  [ "$status" = 0 ] || say bad "$1: status $status"
}

most='"panes": {"sidebar": 4000, "grid": 4000}, "device": "none", "export_directory": "/none", "model_folder": "/none"'
least='"panes": {"sidebar": 0, "grid": 0, "sidebar_fold": "folded", "grid_fold": "folded"}'
try "the largest of all" "{\"window\": {\"width\": 32768, \"height\": 32768, \"position\": [32768, 32768]}, $most, \"state\": {\"view\": {\"ui_scale\": 4}}}"
try "the smallest of all" "{\"window\": {\"width\": 64, \"height\": 64, \"position\": [-32768, -32768]}, $least, \"state\": {\"view\": {\"ui_scale\": 0.1}}}"
try "a display that is gone" '{"window": {"width": 1000, "height": 700, "position": [1920, 300]}}'
try "above the display" '{"window": {"width": 1000, "height": 700, "position": [100, -50]}}'
try "at the display's lower edge" '{"window": {"width": 1000, "height": 700, "position": [100, 900]}}'
try "larger than the display, maximised" '{"window": {"width": 32767, "height": 32767, "is_maximized": true}}'
try "a text for a number" '{"window": {"width": "wide"}}'
try "NaN" '{"window": {"width": NaN}}'

# Another program makes the open window larger than any image of the device, and the next start is none the worse.
rm -rf "$folder/config"
start_window --preset notebook-001
sleep 1
xdotool windowsize "$window" 32767 32767
for _ in $(seq 50); do
  sleep 0.2
  placed
  [ "$WIDTH" -le 1280 ] && break
done
expect_reachable "made too large by another program"
end_window
[ "$status" = 0 ] || say bad "made too large: status $status"
start_window --preset notebook-001
[ -n "$window" ] && expect_reachable "the start after that" || say bad "no start after that"

# A folder for what only passes through is missing: the figure isn't copied, and the window goes on.
[ -z "$viewer" ] || end_window
TMPDIR=$folder/none start_window --fresh
sleep 3
xdotool windowfocus "$window"
for keys in Escape Escape ctrl+shift+c ctrl+shift+c ctrl+shift+c ctrl+shift+c ctrl+shift+c; do
  xdotool key "$keys"
  sleep 0.7
done
kill -0 "$viewer" 2>/dev/null && say ok "without a folder for temporary files" || say bad "Copy figure ends the window"
end_window
[ "$status" = 0 ] || say bad "without a folder for temporary files: status $status"
[ "$failures" = 0 ] || { echo "failed: $failures"; exit 1; }
echo "passed"
