#!/usr/bin/env bash
# Runs the commands of README.md and docs/*.md as they are written there: every line of their fenced sh blocks, in order, in one
# folder that has the files which the lines name. Each has to end with status 0; a command that opens a window has to draw it and end
# by Ctrl+Q. Prints each line's seconds, and those that failed with their output.
# Usage: documented_commands.sh SOURCE BUILD [--slow]. Without --slow, lines that `is_slow` names are left out.
# What can't run on the machine of the tests is counted: `lacking` may only fall.
set -euo pipefail
lacking=14

source_folder=$(readlink -f "$1")
build=$(readlink -f "$2")
slow=${3:-}
source "$source_folder/tests/support/display.sh"
program=$build/bin/headlight
open_display 1400x900

# What no machine of the tests has: PyTorch, a CUDA device, a cluster, the network, or a build from nothing beside this one.
is_lacking() {
  case $1 in
    scripts/run* | scripts/test* | tools/make_wheel* | "pip install"*) ;;
    scripts/bench\ * | scripts/bench | scripts/bench-model* | scripts/bench-others*) ;;
    "#!/bin/sh"* | *sbatch*) ;;
    HEADLIGHT_UPDATE_GOLDEN=*) ;;  # would write the repository's golden files
    *) return 1 ;;
  esac
}

# More than a few seconds each on two cores.
is_slow() {
  case $1 in
    "headlight check --json"* | scripts/bench-viewer* | scripts/machine-code* | *kernel_report* | *test_engine*) ;;
    *headlight-bench* | *long.txt* | *random_model.py* | *"--experiment paths"*) ;;
    *) return 1 ;;
  esac
}

# The smallest sizes of what measures, and no real-time priority, which needs a right of its own.
smaller() {
  sed -E 's/^chrt -r 5 //; s/ chrt -r 5 / /; s/--rounds [0-9]+/--rounds 1/; s/--n [0-9,]+/--n 16/; s/head -n 4555/head -n 600/
    s/^headlight-bench *( #.*)?$/headlight-bench --quick/' <<< "$1"
}

# ---- The folder: files that the documents name, of texts that the bundled models can read, and models under names from the hub.
mkdir "$folder/home" "$folder/bin"
export HOME=$folder/home PATH=$build/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
unset HF_HOME HF_HUB_CACHE XDG_DATA_HOME
work=$folder/work
mkdir -p "$work/docs/images" "$work/build" "$work/run"
cd "$work"
ln -s "$build" build/release
for shared in scripts tools python; do ln -s "$source_folder/$shared" .; done
golden=$source_folder/tests/golden assets=$source_folder/assets
head -n 12 "$assets/examples/captions.txt" > corpus.txt
head -n 3 "$assets/examples/captions.txt" > captions.txt
printf 'ein Mann isst ein Eis\nein Hund\n' > a.de
printf 'a man eats an ice cream\na dog\n' > a.en
cp "$assets/lessons/dot-product.json" lesson.json
cp "$assets/examples/views/head.headlight.json" notes.headlight.json
cp "$assets/examples/views/patching.headlight.json" .
cp "$assets/examples/captions.txt" long.txt
for step in 400 500; do cp -r "$golden/models/gpt2" run/checkpoint-$step; done
hub=$XDG_CACHE_HOME/huggingface/hub/models--openai-community--gpt2
mkdir -p "$hub/refs" "$hub/snapshots" "$HOME/models"
printf 1 > "$hub/refs/main"
cp -r "$golden/models/gpt2" "$hub/snapshots/1"
cp -r "$golden/models/llama" "$HOME/models/SmolLM2-135M-Instruct"
printf '%s' '{% for turn in messages %}{{ turn.role }}: {{ turn.content }}{% endfor %}' > "$HOME/models/SmolLM2-135M-Instruct/chat_template.jinja"

# What a reader has done before the line.
prepare() {
  case $1 in
    "headlight survey merge part-"*)
      rm -rf survey part-*
      for part in 1 2; do headlight survey corpus.txt --shard $part/2 --out part-$part --quiet; done
      ;;
    "headlight survey corpus.txt --shard"*) rm -rf part-* ;;
    *"headlight survey "*"--out survey"*) rm -rf survey ;;
  esac
}

# FILE:LINE, a tab, and the command, its continued lines joined; of a script its first line.
commands() {
  awk 'FNR == 1 { inside = 0 }
    /^```/ { inside = !inside && $0 == "```sh"; script = 0; next }
    !inside || /^[ \t]*$/ { next }
    script { next }
    { if (text == "") place = FILENAME ":" FNR
      text = text $0
      script = text ~ /^#!/
      if (sub(/\\$/, "", text)) next
      print place "\t" text
      text = "" }' README.md docs/*.md
}

opens_window() { [[ $1 =~ ^headlight(\ +#.*|\ +view\ .*)?$ ]]; }

run_line() {
  local line=$1 status=0
  if opens_window "$line"; then
    start_program bash -c "exec $line"
    [ -n "$window" ] || echo "no window" >> "$folder/output"
    sleep 1
    end_window
    [ "$status" = 0 ] && [ -n "$window" ]
  else
    timeout 600 bash -c "$line" > "$folder/output" 2>&1 < /dev/null || return 1
  fi
}

failed=0 ran=0 left_out=0 lacked=0
while IFS=$'\t' read -r place line; do
  if is_lacking "$line"; then
    lacked=$((lacked + 1))
    continue
  fi
  if [ -z "$slow" ] && is_slow "$line"; then
    left_out=$((left_out + 1))
    continue
  fi
  line=$(smaller "$line")
  start=$EPOCHREALTIME
  ran=$((ran + 1))
  result=ok
  { prepare "$line" && run_line "$line"; } || { result=FAILED; failed=$((failed + 1)); }
  awk -v start="$start" -v end="$EPOCHREALTIME" -v text="$result $place $line" 'BEGIN { printf "%6.1f s %s\n", end - start, text }'
  [ $result = ok ] || sed 's/^/         /' "$folder/output"
done < <(cd "$source_folder" && commands)

echo "$ran commands ran, $failed failed; $left_out only with --slow, $lacked can't run here"
[ "$ran" -ge 40 ] || { echo "failed: the documents' commands were not found"; exit 1; }
if [ "$lacked" -ne "$lacking" ]; then
  echo "failed: $lacked commands can't run here, where $lacking are expected: a new command has to run, fewer lower the number"
  exit 1
fi
[ "$failed" -eq 0 ]
