#!/usr/bin/env bash
# Which device draws a real window: one that can show it on this display. Usage: renderer_test.sh PATH-OF-HEADLIGHT FOLDER-OF-THE-LAYER
# Exits with 77 (skipped) where Xvfb, xdotool or a driver that can be listed twice is missing.
set -euo pipefail

program=$1
layer=$2
for tool in Xvfb xdotool; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed (Debian: apt install xvfb xdotool)"
    exit 77
  fi
done
manifest=${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-$(ls /usr/share/vulkan/icd.d/lvp_icd*.json 2>/dev/null | head -n 1)}}
if [ ! -f "$manifest" ] || ! grep -q '"library_path": *"/' "$manifest"; then
  echo "skipped: no software driver whose manifest has an absolute path"
  exit 77
fi

folder=$(mktemp -d)
server=
viewer=
finish() {
  [ -n "$viewer" ] && kill "$viewer" 2>/dev/null || true
  [ -n "$server" ] && kill "$server" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

Xvfb -noreset -displayfd 3 -screen 0 1100x800x24 3>"$folder/display" 2>"$folder/server" &
server=$!
for _ in $(seq 100); do
  [ -s "$folder/display" ] && break
  sleep 0.1
done
[ -s "$folder/display" ] || { echo "failed: Xvfb did not start"; exit 1; }
DISPLAY=:$(cat "$folder/display")
export DISPLAY
unset WAYLAND_DISPLAY
mkdir -m 700 "$folder/run"
export XDG_CONFIG_HOME=$folder/config XDG_CACHE_HOME=$folder/cache XDG_RUNTIME_DIR=$folder/run
export MESA_SHADER_CACHE_DIR=${MESA_SHADER_CACHE_DIR:-$layer/mesa-cache}
export VK_LAYER_PATH=$layer VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_pretend HEADLIGHT_VALIDATION=0
cp "$manifest" "$folder/first.json"
cp "$manifest" "$folder/second.json"
one=$folder/first.json
two=$folder/first.json:$folder/second.json

failures=0
# start PROFILE DRIVERS [FLAG…]: opens a window, waits until it is there or the program has ended, and closes it.
# Sets `opened`, `status` and `said`.
start() {
  HEADLIGHT_PRETEND=$1 VK_DRIVER_FILES=$2 VK_ICD_FILENAMES=$2 \
    "$program" view --fresh --preset notebook-001 --device llvmpipe "${@:3}" >"$folder/output" 2>&1 &
  viewer=$!
  opened=no
  for _ in $(seq 600); do
    kill -0 "$viewer" 2>/dev/null || break
    if xdotool search --onlyvisible --name '^Headlight' >"$folder/window" 2>/dev/null; then
      opened=yes
      break
    fi
    sleep 0.1
  done
  for _ in $(seq 300); do
    kill -0 "$viewer" 2>/dev/null || break
    if [ "$opened" = yes ]; then
      xdotool windowfocus "$(head -n 1 "$folder/window")" key ctrl+q 2>/dev/null || true
    fi
    sleep 0.2
  done
  status=hang
  if kill -0 "$viewer" 2>/dev/null; then
    kill -9 "$viewer"
    wait "$viewer" || true
  else
    status=0
    wait "$viewer" || status=$?
  fi
  viewer=
  said=$(cat "$folder/output")
}
# expect WHAT OPENED STATUS SAID: of the last start; SAID is a pattern of the whole output.
expect() {
  local verdict=ok
  [ "$opened" = "$2" ] && [ "$status" = "$3" ] && [[ $said == $4 ]] || verdict=bad
  echo "$verdict: $1: opened: $opened, status $status, said: $said"
  [ "$verdict" = ok ] || failures=$((failures + 1))
}

start datacentre "$two"
expect "the first GPU can't show windows, the next device draws" yes 0 ""
start geforce "$two" --renderer geforce
expect "a device by a part of its name" yes 0 ""
start datacentre "$two" --renderer 1
expect "a device by its number" yes 0 ""
start datacentre "$two" --renderer centre
expect "a device that can't show windows" no 1 \
  "headlight: the device '0: Pretended data-centre card' can't show a window on this display; choose by number or name among 1: *"
start geforce "$two" --renderer voodoo
expect "a device that isn't there" no 1 \
  "headlight: there is no Vulkan device 'voodoo' to draw with; choose by number or name among 0: Pretended GeForce; 1: *"
VK_LAYER_PATH=$layer start datacentre "$one" --device 0
expect "no device can show windows" no 1 \
  "headlight: no Vulkan device can show a window on this display (there are 0: Pretended data-centre card): *"
start radeon-apu "$two"
expect "Dear ImGui has no memory on the first GPU, the next device draws" yes 0 ""
start radeon-apu "$two" --renderer 0
expect "a device without memory for Dear ImGui" no 1 \
  "headlight: the device '0: Pretended Radeon beside a processor' can't show a window on this display: Dear ImGui uses the first memory that the host can reach, and 1 MiB are less than 64; choose by number or name among 1: *"
[ "$failures" = 0 ] || { echo "failed: $failures"; exit 1; }
echo "passed"
