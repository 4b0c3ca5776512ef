#!/usr/bin/env bash
# Drives the real program in a real window along a path: a file whose lines are what somebody does, and what the window's
# session then says. Usage: follow_path.sh PATH-OF-HEADLIGHT FILE.path; skipped where Xvfb, xdotool or openbox is missing.
# HEADLIGHT_PATH_PICTURES: a folder that gets a picture after each step.
#
#   ACTION ARGUMENTS | PATTERN     PATTERN: an extended regular expression that the saved session, on one line, then matches: "{ …",
#                                  once its run is there "computed { …"; or a second line "answered …", the last answer to a
#                                  lesson; "! PATTERN": none does; no "|": the window need only live
#   # …                            a comment; an empty line ends nothing
#
#   type TEXT           types it                      key KEY…            presses keys, as xdotool names them
#   click X Y           at parts of width and height  double X Y          the same twice
#   drag X Y X2 Y2      with the left button          point X Y           moves there
#   scroll X Y N        the wheel there, N notches down
#   command LABEL       from the palette              save                the session, for the first time
#   start FLAGS         the program's, in the first line; it runs in a folder of its own, of which results.json is read
set -euo pipefail
source "$(dirname "$0")/../support/display.sh"

program=$(realpath "$1")
path=$2
open_display 1280x800 openbox
export HEADLIGHT_VALIDATION=1
openbox >"$folder/manager" 2>&1 &
manager=$!
sleep 1
session=$folder/path.headlight.json
line=
number=0

fail() {
  echo "failed: $(basename "$path"), line $number, '$line': $*"
  head -n 20 "$folder/output" 2>/dev/null || true
  state
  exit 1
}

# The saved state on one line, after "computed" where its run is there, and the last answer on another; nothing before the
# first of each.
state() {
  [ ! -f "$session" ] || tr -d '\n' <"$session" | tr -s ' ' | sed 's/.*"record": .*"state": {/computed {/; s/^{.*"state": {/{/'
  [ ! -f "$folder/results.json" ] || tr -d '\n' <"$folder/results.json" | tr -s ' ' | sed 's/.*{ "answer": /\nanswered /'
}

# at X Y: the pixel at these parts of the window.
at() { awk -v x="$1" -v y="$2" 'BEGIN { printf "%d %d", 1280 * x, 800 * y }'; }

act() {
  local action=$1
  shift
  case "$action" in
    start)
      start_program env -C "$folder" LC_ALL=C "$program" view "$@"
      [ -n "$window" ] || fail "no window"
      xdotool windowactivate --sync "$window"
      xdotool windowsize --sync "$window" 1280 800
      xdotool windowmove --sync "$window" 0 0
      sleep 2
      ;;
    type) xdotool type --delay 30 "$*" ;;
    key) xdotool key --delay 60 "$@" ;;
    point) xdotool mousemove --window "$window" $(at "$1" "$2") ;;
    click) xdotool mousemove --window "$window" $(at "$1" "$2") sleep 0.2 click 1 ;;
    double) xdotool mousemove --window "$window" $(at "$1" "$2") sleep 0.2 click --repeat 2 --delay 80 1 ;;
    drag)
      xdotool mousemove --window "$window" $(at "$1" "$2") sleep 0.1 mousedown 1 sleep 0.1
      xdotool mousemove --window "$window" $(at "$3" "$4") sleep 0.1 mousemove_relative 1 1 sleep 0.1 mouseup 1
      ;;
    scroll) xdotool mousemove --window "$window" $(at "$1" "$2") sleep 0.2 click --repeat "$3" --delay 60 5 ;;
    command)
      xdotool key ctrl+p
      sleep 0.5
      xdotool type --delay 30 "$*"
      sleep 0.5
      xdotool key Return
      ;;
    save)
      xdotool key ctrl+s
      sleep 1
      xdotool key ctrl+a
      xdotool type --delay 10 "$session"
      sleep 0.5
      xdotool key Return
      ;;
    *) fail "there is no action '$action'" ;;
  esac
  sleep 0.3
}

# check PATTERN: saves the session until it says so, at most for half a minute.
check() {
  local pattern=$1 is_wanted=yes found
  if [ "${pattern#! }" != "$pattern" ]; then
    pattern=${pattern#! }
    is_wanted=no
  fi
  for _ in $(seq 60); do
    xdotool key ctrl+s
    sleep 0.5
    kill -0 "$viewer" 2>/dev/null || fail "the program has ended"
    found=no
    if state | grep -qE "$pattern"; then found=yes; fi
    [ "$found" = "$is_wanted" ] && return
  done
  fail "the session doesn't say '$1'"
}

steps=0
while IFS= read -r line || [ -n "$line" ]; do
  number=$((number + 1))
  case "$line" in '' | '#'*) continue ;; esac
  action=${line%% |*}
  # "\ " is a space within an argument.
  mapfile -t words < <(sed 's/\\ /\x1f/g; s/ \+/\n/g; s/\x1f/ /g' <<<"$action")
  act "${words[@]}"
  kill -0 "$viewer" 2>/dev/null || fail "the program has ended"
  [ "$action" = "$line" ] || check "${line#*| }"
  steps=$((steps + 1))
  [ -z "${HEADLIGHT_PATH_PICTURES:-}" ] || import -window "$window" "$HEADLIGHT_PATH_PICTURES/$(basename "$path" .path)-$(printf %02d "$steps").png"
done <"$path"
end_window
[ "$status" = 0 ] || fail "exit status $status"
grep -qi 'validation' "$folder/output" && fail "validation messages"
echo "passed: $steps steps"
