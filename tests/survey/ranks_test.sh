#!/usr/bin/env bash
# `headlight survey` of a small corpus: alone, with two devices at once, as two and three ranks of MPI, killed and continued.
# All write the same files, byte for byte. Usage: ranks_test.sh PATH-OF-HEADLIGHT FOLDER-OF-EXAMPLES. What needs mpirun is
# skipped where the program was built without MPI or mpirun is missing.
set -euo pipefail
source "$(dirname "$0")/../support/skip.sh"

program=$1
examples=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CONFIG_HOME=$folder/config XDG_CACHE_HOME=$folder/cache

fail() {
  echo "failed: $*"
  exit 1
}

# Five shards.
for _ in $(seq 300); do cat "$examples/captions.txt" "$examples/repeated_spans.txt" "$examples/english.txt"; done >"$folder/all"
head -c 80000 "$folder/all" >"$folder/corpus.txt"
flags=("$folder/corpus.txt" --model captions-gpt2 --metrics induction,previous,entropy --top 5)

survey() { # survey OUT ARGS…
  local out=$folder/$1
  shift
  "$program" survey "${flags[@]}" --out "$out" "$@" >"$out.said" 2>"$out.err" || fail "survey: $(cat "$out.err")"
}
same() { # all files but those that say how long it took, or those that are named: same OUT FILES…
  local out=$1 file
  shift
  for file in "${@:-heads.jsonl examples.jsonl mean.npy spread.npy histogram.npy report.html}"; do
    for file in $file; do cmp "$folder/one/$file" "$folder/$out/$file" || fail "$out/$file differs"; done
  done
}
same_numbers() { # but for the report, which names the corpus
  same "$1" heads.jsonl examples.jsonl mean.npy spread.npy histogram.npy
}

survey one
[ "$(wc -l <"$folder/one/heads.jsonl")" = 96 ] || fail "heads.jsonl has not 3 x 4 x 8 lines"
grep -q '"/' "$folder/one/survey.json" && fail "survey.json holds an absolute path: $(grep '"/' "$folder/one/survey.json")"
grep -q '"metric":"induction"' "$folder/one/examples.jsonl" || fail "no examples"
survey threads --devices 0,0
same threads
cp -r "$folder/one" "$folder/again"
survey again
grep -q "shards are measured already" "$folder/again.err" || fail "a complete survey is measured again"
same again
if "$program" survey "${flags[@]}" --top 6 --out "$folder/one" 2>"$folder/refused"; then fail "another survey's folder is used"; fi
grep -q "is of another survey" "$folder/refused" || fail "$(cat "$folder/refused")"

# Killed on the way: what was saved stays, and the rest is measured again.
"$program" survey "${flags[@]}" --out "$folder/killed" >/dev/null 2>&1 &
killed=$!
for _ in $(seq 600); do
  grep -q "died in shard" "$folder/killed/ranks/rank-0" 2>/dev/null && break
  sleep 0.05
done
kill -9 "$killed" 2>/dev/null || true
wait "$killed" 2>/dev/null || true
survey killed
grep -q "in the last run rank 0 of 1 (.*) died in shard" "$folder/killed.err" || fail "nobody is said to have died: $(cat "$folder/killed.err")"
same killed

# Compressed, and from standard input: the same shards and offsets; an interrupted one goes on.
gzip -k "$folder/corpus.txt"
plain=("${flags[@]}")
flags=("$folder/corpus.txt.gz" "${plain[@]:1}")
survey packed
same_numbers packed
survey packed
grep -q "5 of 5 shards are measured already" "$folder/packed.err" || fail "a compressed corpus is measured again"
flags=(- "${plain[@]:1}")
survey piped <"$folder/corpus.txt"
same_numbers piped
survey piped <"$folder/corpus.txt"
grep -q "5 of 5 shards are measured already" "$folder/piped.err" || fail "standard input is measured again"
[ -z "$(find "$folder/packed" "$folder/piped" -name 'corpus-*')" ] || fail "a copy of the corpus is left over"
flags=("${plain[@]}")

command -v mpirun >/dev/null || skip "without mpirun nothing is tested with ranks (Debian: apt install openmpi-bin)"
ranks() { # ranks NUMBER OUT; more than there are cores, which Open MPI 4 and 5 have to be told by variables of their own
  env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 \
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
    mpirun -n "$1" "$program" survey "${flags[@]}" --out "$folder/$2" >"$folder/$2.said" 2>"$folder/$2.err"
}
if ! ranks 2 two; then
  if grep -q "built without MPI" "$folder/two.err"; then skip "the program was built without MPI"; fi
  fail "two ranks: $(cat "$folder/two.err")"
fi
same two
flags=("$folder/corpus.txt.gz" "${plain[@]:1}")
ranks 2 packed-two || fail "two ranks with a compressed corpus: $(cat "$folder/packed-two.err")"
same_numbers packed-two
flags=(- "${plain[@]:1}")
if ranks 2 piped-two; then fail "ranks share a standard input that one of them has"; fi
flags=("${plain[@]}")
ranks 3 three || fail "three ranks: $(cat "$folder/three.err")"
same three

# A rank is killed: the run ends, the next one names it and measures its shard.
ranks 2 died &
run=$!
for _ in $(seq 1200); do
  grep -q "died in shard" "$folder/died/ranks/rank-1" 2>/dev/null && break
  sleep 0.05
done
victim=$(sed -n 's/.*process \([0-9]*\).*/\1/p' "$folder/died/ranks/rank-1")
kill -9 "$victim"
if wait "$run"; then fail "a run whose rank was killed succeeds"; fi
ranks 2 died || fail "after a rank died: $(cat "$folder/died.err")"
grep -q "in the last run rank 1 of 2 (.*, process $victim) died in shard" "$folder/died.err" || fail "the dead rank is not named: $(cat "$folder/died.err")"
same died
echo "passed"
