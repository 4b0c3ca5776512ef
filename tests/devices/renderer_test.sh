#!/usr/bin/env bash
# Which device draws a real window: one that can show it on this display; and what the window does after the computer was suspended.
# Usage: renderer_test.sh PATH-OF-HEADLIGHT FOLDER-OF-THE-PRETENDING-LAYER FOLDER-OF-THE-FAULT-LAYER LIBRARY-THAT-MOVES-THE-CLOCK
# Skipped where Xvfb, xdotool or a driver that can be listed twice is missing.
set -euo pipefail
source "$(dirname "$0")/../support/display.sh"

program=$1
layer=$2
fault_layer=$3
clock=$4
open_display 1100x800
manifest=${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-$(ls /usr/share/vulkan/icd.d/lvp_icd*.json 2>/dev/null | head -n 1)}}
if [ ! -f "$manifest" ] || ! grep -q '"library_path": *"/' "$manifest"; then
  skip "no software driver whose manifest has an absolute path"
fi
use_layer "$layer" VK_LAYER_HEADLIGHT_pretend
cp "$manifest" "$folder/first.json"
cp "$manifest" "$folder/second.json"
one=$folder/first.json
two=$folder/first.json:$folder/second.json

failures=0
# start PROFILE DRIVERS [FLAG…]: opens a window, calls the function named by `meanwhile`, if any, and closes the window.
# Sets `opened`, `status` and `said`.
start() {
  export HEADLIGHT_PRETEND=$1 VK_DRIVER_FILES=$2 VK_ICD_FILENAMES=$2
  start_window --fresh --preset notebook-001 "${@:3}"
  opened=no
  if [ -n "$window" ]; then
    opened=yes
    ${meanwhile:-true}
  fi
  end_window
  said=$(cat "$folder/output")
}
# expect WHAT OPENED STATUS SAID: of the last start; SAID is a pattern of the whole output.
expect() {
  local verdict=ok
  [ "$opened" = "$2" ] && [ "$status" = "$3" ] && [[ $said == $4 ]] || verdict=bad
  echo "$verdict: $1: opened: $opened, status $status, said: $said"
  [ "$verdict" = ok ] || failures=$((failures + 1))
}

start datacentre "$two" --device llvmpipe
expect "the first GPU can't show windows, the next device draws" yes 0 ""
start geforce "$two" --device llvmpipe --renderer geforce
expect "a device by a part of its name" yes 0 ""
start datacentre "$two" --device llvmpipe --renderer 1
expect "a device by its number" yes 0 ""
start datacentre "$two" --device llvmpipe --renderer centre
expect "a device that can't show windows" no 1 \
  "headlight: the device '0: Pretended data-centre card' can't show a window on this display; choose by number or name among 1: *"
start geforce "$two" --device llvmpipe --renderer voodoo
expect "a device that isn't there" no 1 \
  "headlight: there is no Vulkan device 'voodoo' to draw with; choose by number or name among 0: Pretended GeForce; 1: *"
start datacentre "$one" --device 0
expect "no device can show windows" no 1 \
  "headlight: no Vulkan device can show a window on this display (there are 0: Pretended data-centre card): *"
start radeon-apu "$two" --device llvmpipe
expect "Dear ImGui has no memory on the first GPU, the next device draws" yes 0 ""
start radeon-apu "$two" --device llvmpipe --renderer 0
expect "a device without memory for Dear ImGui" no 1 \
  "headlight: the device '0: Pretended Radeon beside a processor' can't show a window on this display: Dear ImGui uses the first memory that the host can reach, and 1 MiB are less than 64; choose by number or name among 1: *"

# Without a driver a window of OpenGL says what to install, until it is closed.
start "" /nonexistent.json
expect "no driver at all" yes 1 "headlight: no Vulkan device to draw with: install *"

# Where the clock says that the computer was suspended for an hour, the window and the engine open their GPUs anew.
use_layer "$layer:$fault_layer" VK_LAYER_HEADLIGHT_pretend:VK_LAYER_HEADLIGHT_fault
export HEADLIGHT_FAULT_COUNTS=$folder/counts HEADLIGHT_CLOCK_JUMP=$folder/jump
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
computer=$program
printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$clock" "$computer" >"$folder/headlight"
chmod +x "$folder/headlight"
program=$folder/headlight
sleep_meanwhile=
work() {
  sleep 2
  [ -z "$sleep_meanwhile" ] || touch "$HEADLIGHT_CLOCK_JUMP"
  xdotool windowfocus "$window" key Escape  # leaves the text
  for _ in 1 2 3; do
    sleep 1
    xdotool key p  # a pass with another mask
  done
  sleep 2
}
# Devices that a session has opened.
opened_devices() { sed -n 's/^CreateDevice //p' "$folder/counts"; }
meanwhile=work
start radeon "$one" --device 0
expect "a session without a suspend" yes 0 ""
before=$(opened_devices)
sleep_meanwhile=yes
start radeon "$one" --device 0
expect "a session with a suspend" yes 0 ""
after=$(opened_devices)
echo "devices opened without a suspend: $before, with one: $after"
[ "$after" = "$((before + 2))" ] || failures=$((failures + 1))
[ "$failures" = 0 ] || { echo "failed: $failures"; exit 1; }
echo "passed"
