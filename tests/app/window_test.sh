#!/usr/bin/env bash
# The real program in a real window: types, presses keys, looks at the picture, closes, and reads what it remembered.
# Where openbox is installed, it runs under that window manager: moved, resized, and with files dropped on it.
# Usage: window_test.sh PATH-OF-HEADLIGHT [PATH-OF-DROP_ON_WINDOW]. Skipped where Xvfb or xdotool is missing.
set -euo pipefail
source "$(dirname "$0")/../support/display.sh"

program=$1
drop=${2:-}
open_display 1700x1100 import
export HEADLIGHT_VALIDATION=1

fail() {
  echo "failed: $*"
  cat "$folder/output" 2>/dev/null || true
  exit 1
}

if command -v openbox >/dev/null; then
  openbox >"$folder/manager" 2>&1 &
  manager=$!
  sleep 1
fi

open_window() {
  start_window
  kill -0 "$viewer" 2>/dev/null || fail "the program ended before it opened a window"
  [ -n "$window" ] || fail "no window within 60 s"
  if [ -n "$manager" ]; then xdotool windowactivate --sync "$window"; else xdotool windowfocus "$window"; fi
  sleep 2
}

# Colours of the window's picture: one or two mean that nothing is drawn.
count_colors() {
  import -window "$window" "$folder/picture.png"
  identify -format '%k' "$folder/picture.png"
}

close_window() {
  end_window
  [ "$status" = 0 ] || fail "exit status $status"
}

# Hundredths of a second of processor time so far.
ticks() { awk '{print $14 + $15}' "/proc/$viewer/stat"; }

# A device that is used for the first time is measured once, kernel by kernel with pauses; idling is what comes after.
wait_until_quiet() {
  for _ in $(seq 120); do
    [ -s "$folder/cache/headlight/kernels.json" ] && break
    sleep 1
  done
  [ -s "$folder/cache/headlight/kernels.json" ] || fail "the device was not measured within 120 s"
  quiet=0
  for _ in $(seq 120); do
    before=$(ticks)
    sleep 1
    if [ "$(($(ticks) - before))" -le 2 ]; then quiet=$((quiet + 1)); else quiet=0; fi
    [ "$quiet" = 4 ] && return
  done
  fail "the program keeps computing"
}

open_window
colors=$(count_colors)
[ "$colors" -gt 100 ] || fail "the window shows $colors colours"

# The text box has the keyboard: letters that are shortcuts elsewhere are typed, in place of the example.
xdotool type --delay 40 'kept back tonight'
xdotool key Escape  # leaves the text
sleep 1
xdotool key Escape  # closes the welcome panel
sleep 1
xdotool key p  # out of the text it is a shortcut, whose effect is not remembered
sleep 1
xdotool key t
sleep 7  # the shortcut's notice goes after 6 s, with one more frame
wait_until_quiet
before=$(ticks)
sleep 3
after=$(ticks)
idle=$((after - before))
echo "processor time of 3 idle seconds: ${idle}0 ms"
[ "$idle" -le 6 ] || fail "idling takes ${idle}0 ms of processor time in 3 s"
[ -n "${HEADLIGHT_WINDOW_PICTURE:-}" ] && import -window "$window" "$HEADLIGHT_WINDOW_PICTURE"
close_window

settings=$folder/config/headlight/settings.json
[ -f "$settings" ] || fail "no settings.json"
grep -q '"text": "kept back tonight"' "$settings" || fail "the typed text is not in settings.json: $(cat "$settings")"
grep -q '"key_padding": false' "$settings" && fail "the padding mask is still off at the next start: $(cat "$settings")"
grep -q '/captions-gpt2"' "$settings" || fail "the first start did not open the bundled model: $(cat "$settings")"
grep -q '"shows_welcome": false' "$settings" || fail "the welcome panel is not remembered as closed"
grep -q '"theme": "light"' "$settings" || fail "the theme is not in settings.json"

# What was remembered is there again; the second closing changes nothing.
cp "$settings" "$folder/first.json"
open_window
close_window
changed=$(diff "$folder/first.json" "$settings" | grep '^[<>]' | grep -v '"counter"') && fail "the settings changed by themselves: $changed"

# A minimised window sleeps, also when something else changes meanwhile; it draws again when it is back.
open_window
if [ -n "$manager" ]; then
  wait_until_quiet
  xdotool windowminimize --sync "$window"
  sleep 1
  before=$(ticks)
  sleep 3
  asleep=$(($(ticks) - before))
  echo "processor time of 3 minimised seconds: ${asleep}0 ms"
  [ "$asleep" -le 2 ] || fail "a minimised window takes ${asleep}0 ms of processor time in 3 s"
  xdotool windowactivate --sync "$window"
  sleep 1
  colors=$(count_colors)
  [ "$colors" -gt 100 ] || fail "the window shows $colors colours after it was minimised"
fi
close_window

# A sentence that is typed outside of the text box starts nothing; Enter puts it in place of the text.
open_window
xdotool key 2  # a start after the first leaves the keys to the views
sleep 1
xdotool type --delay 60 'the dog sat on the cat'
sleep 1
xdotool key shift+Return
sleep 1
close_window
grep -q '"text": "the dog sat on the cat"' "$settings" || fail "what was typed is not offered to the text: $(cat "$settings")"
grep -q '"theme": "light"' "$settings" || fail "a typed sentence changed the theme"
grep -q '"tab": "head"' "$settings" && fail "the key 2 did not show the second view"

# Keys are known by their characters: on a German keyboard "/" is Shift+7 and "+" has a key of its own.
if command -v setxkbmap >/dev/null; then
  open_window
  setxkbmap de
  xdotool key ctrl+plus
  sleep 1
  xdotool key slash
  sleep 1
  xdotool type --delay 40 ' here'
  sleep 1
  close_window
  setxkbmap us
  grep -q '"text": "the dog sat on the cat here"' "$settings" || fail "/ leads to no text on a German keyboard: $(cat "$settings")"
  grep -q '"ui_scale": [1-9]' "$settings" || fail "Ctrl++ does nothing on a German keyboard: $(cat "$settings")"
  sed -i 's/"ui_scale": [0-9.]*/"ui_scale": 0.0/' "$settings"
fi

# Moved, resized, and with files dropped on it as a file manager drops them: a text, and a model that can't be one.
open_window
if [ -n "$manager" ]; then
  xdotool windowsize --sync "$window" 1100 700
  xdotool windowmove --sync "$window" 200 100
  sleep 1
  colors=$(count_colors)
  [ "$colors" -gt 100 ] || fail "the resized window shows $colors colours"
  [ "$(identify -format '%wx%h' "$folder/picture.png")" = 1100x700 ] || fail "the window was not resized"
fi
if [ -n "$drop" ]; then
  echo 'dropped on the window' >"$folder/dropped.txt"
  head -c 100 /dev/zero >"$folder/broken.gguf"
  "$drop" "$window" "$folder/broken.gguf" || fail "dropping a broken model"
  sleep 1
  "$drop" "$window" "$folder/dropped.txt" || fail "dropping a text"
  sleep 1
fi
close_window
[ -z "$drop" ] || grep -q '"text": "dropped on the window"' "$settings" || fail "the dropped text is not in settings.json: $(cat "$settings")"
grep -q '/captions-gpt2"' "$settings" || fail "the model is gone after files were dropped: $(cat "$settings")"

# A window that is killed goes on at the next start, with the mask that settings.json leaves out; one that is closed does not.
kept_windows() { find "$folder/config/headlight/recovery" -name '*.json' | wc -l; }
wait_for_kept_window() {
  for _ in $(seq 100); do
    grep -q "$1" "$folder"/config/headlight/recovery/*.json && return
    sleep 0.2
  done
  fail "the changed window is not kept on disk"
}
[ "$(kept_windows)" = 0 ] || fail "a closed window is kept for the next start"
open_window
xdotool key Escape  # leaves the text
sleep 1
xdotool key p  # padding off
wait_for_kept_window '"key_padding": false'
kill -9 "$viewer"
wait "$viewer" 2>/dev/null || true
open_window
[ "$(kept_windows)" = 1 ] || fail "what a killed window left is not taken"
xdotool key Escape
sleep 1
xdotool key t
wait_for_kept_window '"key_padding": false'
close_window
[ "$(kept_windows)" = 0 ] || fail "a closed window is kept for the next start"

# A settings file that is garbage costs nothing but itself.
echo 'not json' >"$settings"
open_window
close_window
[ -f "$settings.bad" ] || fail "the broken settings file was not kept aside"

grep -qi 'validation' "$folder/output" && fail "validation messages"
echo "passed"
