#!/usr/bin/env bash
# The real window on a device whose driver fails during use: the window continues, or the program ends in one line. A device
# lost in the middle of a session must be replaced. Usage: fault_window_test.sh PATH-OF-HEADLIGHT FOLDER-OF-THE-LAYER [FAULT…]
# Skipped where Xvfb or xdotool is missing.
set -euo pipefail
source "$(dirname "$0")/../support/display.sh"

program=$1
layer=$2
shift 2
open_display 1100x800
use_layer "$layer" VK_LAYER_HEADLIGHT_fault

failures=0
# session FAULT MAY_END: types, undoes, resizes and closes a window; MAY_END=yes where ending in one line is also correct.
session() {
  export HEADLIGHT_FAULT=$1
  start_window --fresh --preset notebook-001
  if [ -n "$window" ]; then
    sleep 1
    xdotool windowfocus "$window" 2>/dev/null || true
    for keys in Escape p p m m ctrl+z t; do
      kill -0 "$viewer" 2>/dev/null || break
      xdotool key "$keys" 2>/dev/null || true
      sleep 0.2
    done
    kill -0 "$viewer" 2>/dev/null && xdotool windowsize "$window" 900 640 2>/dev/null || true
    sleep 0.5
  fi
  reached_end=no
  kill -0 "$viewer" 2>/dev/null && reached_end=yes
  end_window
  lines=$(wc -l <"$folder/output")
  verdict=ok
  case $status in
    0) [ "$lines" = 0 ] || verdict=bad ;;
    1) [ "$2" = yes ] && [ "$lines" = 1 ] && grep -q '^headlight: ' "$folder/output" || verdict=bad ;;
    *) verdict=bad ;;
  esac
  echo "$verdict: fault '$1', status $status, reached the end: $reached_end, said: $(head -c 300 "$folder/output")"
  [ "$verdict" = ok ] || failures=$((failures + 1))
}

if [ $# -gt 0 ]; then
  for fault in "$@"; do session "$fault" yes; done
else
  session "QueueSubmit 30 -4" no             # lost while it is used, by whichever thread submits then
  session "QueuePresentKHR 4 -4" no          # … by the window
  session "WaitForFences 9 -4" no
  session "CreateBuffer 40 -1" no            # a vertex buffer of the interface, among others
  # SwiftShader attaches shared memory to the X server for each swapchain, and when that is refused Xlib ends the program.
  if VK_INSTANCE_LAYERS= "$program" devices 2>/dev/null | grep -q SwiftShader; then
    echo "left out: fault 'AcquireNextImageKHR 3 -4 always', on SwiftShader"
  else
    session "AcquireNextImageKHR 3 -4 always" yes
  fi
  session "QueueSubmit 25 -4 always" yes
  session "CreateSwapchainKHR 1 -2" yes
fi
[ "$failures" = 0 ] || { echo "failed: $failures"; exit 1; }
echo "passed"
