# Sourced by the tests of real windows: an X server of the test's own, and a folder that goes with it.
source "$(dirname "${BASH_SOURCE[0]}")/skip.sh"
# Functions read `program`, the path of headlight, and set
#   folder   for files of the test; removed at the end
#   viewer   the process of the running window, empty where there is none
#   window   its number in the X server, empty where none was opened

# open_display WxH TOOL…: skips the test where a tool is missing.
open_display() {
  local size=$1 tool
  shift
  for tool in Xvfb xdotool "$@"; do
    command -v "$tool" >/dev/null || skip "$tool is not installed (Debian: apt install xvfb xdotool imagemagick)"
  done
  folder=$(mktemp -d)
  server=
  manager=
  viewer=
  trap close_display EXIT
  start_server "$size"
  mkdir -m 700 "$folder/run"  # without it, Mesa's messages are on standard error too
  export XDG_CONFIG_HOME=$folder/config XDG_CACHE_HOME=$folder/cache XDG_STATE_HOME=$folder/state
  export XDG_RUNTIME_DIR=$folder/run
  unset WAYLAND_DISPLAY
}

# start_server WxH: an X server. Sets `server`, its process, and DISPLAY.
start_server() {
  : >"$folder/display"
  # -noreset: without it the server starts anew whenever the last client leaves, which xdotool does after each call, and a
  # viewer that connects at that moment is refused. -r: keys don't repeat; a busy machine lets them go late.
  Xvfb -noreset -r -displayfd 3 -screen 0 "$1x24" 3>"$folder/display" 2>"$folder/server" &
  server=$!
  for _ in $(seq 100); do
    [ -s "$folder/display" ] && break
    sleep 0.1
  done
  [ -s "$folder/display" ] || { echo "failed: Xvfb did not start: $(cat "$folder/server")"; exit 1; }
  DISPLAY=:$(cat "$folder/display")
  export DISPLAY
}

close_display() {
  local process
  for process in "$viewer" "$manager" "$server"; do
    [ -n "$process" ] && kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || true
  done
  rm -rf "$folder"
}

# use_layer FOLDER NAME: what is started from now on runs under this Vulkan layer.
use_layer() {
  export MESA_SHADER_CACHE_DIR=${MESA_SHADER_CACHE_DIR:-$1/mesa-cache}
  export VK_LAYER_PATH=$1 VK_INSTANCE_LAYERS=$2 HEADLIGHT_VALIDATION=0
}

# start_window FLAG…: `headlight view`, until its window is there or the program has ended.
start_window() { start_program "$program" view "$@"; }

# start_program PROGRAM ARGUMENT…: the same of any command that opens a window.
start_program() {
  "$@" >"$folder/output" 2>&1 &
  viewer=$!
  window=
  for _ in $(seq 600); do
    kill -0 "$viewer" 2>/dev/null || return 0
    window=$(xdotool search --onlyvisible --name '^Headlight' 2>/dev/null | head -n 1) && [ -n "$window" ] && return 0
    sleep 0.1
  done
}

# end_window: Ctrl+Q until the program has ended. Sets `status`: its exit status, or "hang" after two minutes.
end_window() {
  for _ in $(seq 600); do
    kill -0 "$viewer" 2>/dev/null || break
    [ -n "$window" ] && xdotool windowfocus "$window" key ctrl+q 2>/dev/null || true
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
}
