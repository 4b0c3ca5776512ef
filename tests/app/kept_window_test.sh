#!/usr/bin/env bash
# What a real window had comes back at the next start, whatever ended it: a kill, a signal, its display, its device.
# Usage: kept_window_test.sh PATH-OF-HEADLIGHT FOLDER-OF-THE-FAULT-LAYER [POINT…]. Without points, all of them.
# Skipped where Xvfb or xdotool is missing.
set -euo pipefail
source "$(dirname "$0")/../support/display.sh"

program=$1
layer=$2
shift 2
all="kill kill-again kill-at-start kill-two term hup closed term-at-start server-term server-kill no-display device-lost"
open_display 1280x900
failures=0
say() {
  echo "$1: $2"
  [ "$1" = ok ] || { failures=$((failures + 1)); cat "$folder/output" 2>/dev/null || true; }
}

# Files of windows, the newest first.
kept() { ls -t "$folder"/config/headlight/recovery/*.json 2>/dev/null || true; }
# wait_for COMMAND…: until it succeeds, at most a minute.
wait_for() {
  local _
  for _ in $(seq 300); do
    "$@" && return 0
    sleep 0.2
  done
  return 1
}
newest_has() { local file; file=$(kept | head -n 1) && [ -n "$file" ] && grep -q -- "$1" "$file"; }
newest_lacks() { local file; file=$(kept | head -n 1) && [ -n "$file" ] && ! grep -q -- "$1" "$file"; }
is_starting() { newest_has '^  "is_starting": true'; }
is_at_rest() { newest_lacks '^  "is_starting": true'; }

# open_window: until all is computed that it began with.
open_window() {
  start_window "$@"
  [ -n "$window" ] || { say bad "$point: no window"; return 1; }
  sleep 1
  wait_for is_at_rest || say bad "$point: never at rest"
  xdotool windowfocus "$window"
  sleep 0.5
}

# begin_start: a start that has noted what it opens, and hasn't come to rest.
begin_start() {
  local _
  "$program" view >"$folder/output" 2>&1 &
  viewer=$!
  for _ in $(seq 1000); do
    is_starting && return
    sleep 0.02
  done
  say bad "$point: the start is not noted"
}

# work WORDS: a text, which the settings have too, and a mask, which they leave out.
work() {
  local keys
  for keys in Escape Escape ctrl+l ctrl+a; do
    xdotool key "$keys"
    sleep 0.7
  done
  xdotool type --delay 40 "$1"
  sleep 0.3
  xdotool key Escape
  sleep 0.5
  xdotool key p
  sleep 0.7
}
is_kept() { newest_has "\"text\": \"$1\"" && newest_has '"key_padding": false'; }
wait_until_kept() { wait_for is_kept "$1" || say bad "$point: '$1' is not kept while the window is open"; }

# finish SIGNAL: sends it, and waits until the program has ended.
finish() {
  kill "-$1" "$viewer"
  wait "$viewer" 2>/dev/null || true
  viewer=
}
# The program ends by itself, within a minute.
wait_for_end() {
  ended() { ! kill -0 "$viewer" 2>/dev/null; }
  if ! wait_for ended; then
    say bad "$point: the program still runs"
    kill -9 "$viewer"
  fi
  wait "$viewer" 2>/dev/null || true
  viewer=
}

state_of() { grep -vE '^  "(counter|end|is_starting)":' "$1"; }
# comes_back WORDS: the next start opens what the ended window had, all of it.
comes_back() {
  is_kept "$1" || { say bad "$point: '$1' and the mask are in no file"; return; }
  cp "$(kept | head -n 1)" "$folder/before.json"
  open_window || return
  if difference=$(diff <(state_of "$folder/before.json") <(state_of "$(kept | head -n 1)")); then
    say ok "$point: the next start has all of it"
  else
    say bad "$point: the next start has something else: $difference"
  fi
  end_window
  [ -z "$(kept)" ] || say bad "$point: a closed window is kept"
}

run_point() {
  point=$1
  rm -rf "$folder/config"
  case $point in
    kill)
      open_window && work 'words that were killed'
      wait_until_kept 'words that were killed'
      finish KILL
      comes_back 'words that were killed'
      ;;
    kill-again)
      open_window && work 'words that were killed'
      wait_until_kept 'words that were killed'
      finish KILL
      open_window
      finish KILL
      comes_back 'words that were killed'
      ;;
    kill-at-start)  # by what it opens, as far as the next start knows
      open_window && work 'words that end the start'
      wait_until_kept 'words that end the start'
      finish KILL
      begin_start
      finish KILL
      is_starting || say bad "$point: the end of the start is not noted"
      open_window
      if newest_has 'words that end the start'; then
        say bad "$point: the state is opened again"
      elif grep -q 'words that end the start' $(kept); then
        say ok "$point: the state is left for Lost windows"
      else
        say bad "$point: the state is gone"
      fi
      end_window
      ;;
    kill-two)
      open_window && work 'words of the first'
      wait_until_kept 'words of the first'
      first=$viewer
      "$program" view >"$folder/second" 2>&1 &
      viewer=$!
      two_windows() { [ "$(xdotool search --onlyvisible --name '^Headlight' 2>/dev/null | wc -l)" = 2 ] && [ "$(kept | wc -l)" = 2 ]; }
      wait_for two_windows || say bad "$point: no second window"
      wait_for is_at_rest || true
      window=$(xdotool search --onlyvisible --pid "$viewer" | tail -n 1)
      sleep 1
      xdotool windowfocus "$window"
      work 'words of the second'
      wait_until_kept 'words of the second'
      finish KILL
      viewer=$first
      finish KILL
      open_window
      newest_has 'words of the second' && say ok "$point: the newer is opened" || say bad "$point: the newer is not opened"
      grep -q 'words of the first' $(kept) && say ok "$point: the older is left for Lost windows" || say bad "$point: the older is gone"
      end_window
      ;;
    closed)  # masks go with the window, the text stays
      open_window && work 'words that were closed'
      end_window
      [ "$status" = 0 ] && [ -z "$(kept)" ] || say bad "$point: status $status, kept: $(kept)"
      open_window
      newest_has '"text": "words that were closed"' && newest_lacks '"key_padding": false' && say ok "$point: the text alone" \
        || say bad "$point: something else than the text"
      end_window
      ;;
    term | hup)
      open_window && work "words before $point"
      finish "${point^^}"
      comes_back "words before $point"
      ;;
    term-at-start)
      open_window && work 'words that were killed'
      wait_until_kept 'words that were killed'
      finish KILL
      begin_start
      finish TERM
      comes_back 'words that were killed'
      ;;
    server-term | server-kill)
      open_window && work "words before ${point#server-}"
      signal=${point#server-}
      kill "-${signal^^}" "$server"
      wait "$server" 2>/dev/null || true
      wait_for_end
      grep -qx 'headlight: the display has gone' "$folder/output" || say bad "$point: not said"
      start_server 1280x900
      comes_back "words before ${point#server-}"
      ;;
    no-display)
      open_window && work 'words that were killed'
      wait_until_kept 'words that were killed'
      finish KILL
      env -u DISPLAY "$program" view >"$folder/output" 2>&1 && say bad "$point: a window without a display"
      comes_back 'words that were killed'
      ;;
    device-lost)
      plain=$program
      printf '#!/bin/sh\nVK_LAYER_PATH=%s VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_fault HEADLIGHT_VALIDATION=0 %s exec %s "$@"\n' \
        "$layer" "HEADLIGHT_FAULT='QueuePresentKHR 250 -4 always'" "$plain" >"$folder/headlight"
      chmod +x "$folder/headlight"
      program=$folder/headlight
      open_window && work 'words before the loss'
      for _ in $(seq 600); do
        kill -0 "$viewer" 2>/dev/null || break
        xdotool windowfocus "$window" key t 2>/dev/null || true
        sleep 0.1
      done
      wait_for_end
      program=$plain
      newest_has '^  "end": ".*lost' || say bad "$point: what happened is not noted"
      comes_back 'words before the loss'
      ;;
    *) say bad "no point '$point'" ;;
  esac
}

for name in ${@:-$all}; do run_point "$name"; done
[ "$failures" = 0 ] || { echo "failed: $failures"; exit 1; }
echo "passed"
