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

# Three shards.
for _ in $(seq 300); do cat "$examples/captions.txt" "$examples/repeated_spans.txt" "$examples/english.txt"; done >"$folder/all"
head -c 48000 "$folder/all" >"$folder/corpus.txt"
flags=("$folder/corpus.txt" --model captions-gpt2 --metrics induction,previous,entropy --top 5 --activations next.3,heads.0 --every 20)

tables="heads.jsonl examples.jsonl samples.jsonl tokens.jsonl mean.npy spread.npy histogram.npy distance.npy positions.npy map.npy relative.npy"

survey() { # survey OUT ARGS…
  local out=$folder/$1
  shift
  "$program" survey "${flags[@]}" --out "$out" "$@" >"$out.said" 2>"$out.err" || fail "survey: $(cat "$out.err")"
}
same() { # all files but those that say how long it took, or those that are named: same OUT FILES…
  local out=$1 file
  shift
  for file in "${@:-$tables report.html}"; do
    for file in $file; do cmp "$folder/one/$file" "$folder/$out/$file" || fail "$out/$file differs"; done
  done
  diff -r "$folder/one/activations" "$folder/$out/activations" || fail "activations of $out differ"
}
same_numbers() { # but for the report, which names the corpus
  same "$1" $tables
}

survey one
[ "$(wc -l <"$folder/one/heads.jsonl")" = 96 ] || fail "heads.jsonl has not 3 x 4 x 8 lines"
grep -q '"/' "$folder/one/survey.json" && fail "survey.json holds an absolute path: $(grep '"/' "$folder/one/survey.json")"
grep -q '"metric":"induction"' "$folder/one/examples.jsonl" || fail "no examples"
[ "$(find "$folder/one/activations" -name '*.npy' | wc -l)" = 9 ] || fail "not an index and two sites of each of 3 shards"
"$program" survey "${flags[@]}" --dry-run --out "$folder/dry" | grep -q "activations of about .* at 2 sites: .* in 9 files" ||
  fail "--dry-run doesn't say how large activations are"
[ ! -e "$folder/dry/activations" ] || fail "--dry-run writes activations"
survey threads --devices 0,0
same threads
cp -r "$folder/one" "$folder/again"
survey again
grep -q "shards are measured already" "$folder/again.err" || fail "a complete survey is measured again"
same again
if "$program" survey "${flags[@]/#5/6}" --out "$folder/one" 2>"$folder/refused"; then fail "another survey's folder is used"; fi
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
grep -q "3 of 3 shards are measured already" "$folder/packed.err" || fail "a compressed corpus is measured again"
flags=(- "${plain[@]:1}")
survey piped <"$folder/corpus.txt"
same_numbers piped
survey piped <"$folder/corpus.txt"
grep -q "3 of 3 shards are measured already" "$folder/piped.err" || fail "standard input is measured again"
[ -z "$(find "$folder/packed" "$folder/piped" -name 'scratch-*')" ] || fail "a copy of the corpus is left over"
flags=("${plain[@]}")

# In parts, as the jobs of an array measure them, and merged in another order.
for part in 1 2 3; do survey "part-$part" --shard "$part/3"; done
merge() { # merge OUT PARTS…
  local out=$1
  shift
  "$program" survey merge "${@/#/$folder/}" --out "$folder/$out" >"$folder/$out.said" 2>"$folder/$out.err"
}
merge merged part-3 part-1 part-2 || fail "merge: $(cat "$folder/merged.err")"
same merged
if merge lacking part-1 part-3; then fail "a part is missing, and the merge succeeds"; fi
grep -q "is in none of these folders" "$folder/lacking.err" || fail "$(cat "$folder/lacking.err")"
if merge twice part-1 part-2 part-3 part-2; then fail "a part comes twice, and the merge succeeds"; fi
grep -q "a second time" "$folder/twice.err" || fail "$(cat "$folder/twice.err")"

rm "$folder/part-2/activations/heads.0-000001.npy"
if merge torn part-1 part-2 part-3; then fail "activations are missing, and the merge succeeds"; fi
grep -q "heads.0-000001.npy is missing; measure again with --restart" "$folder/torn.err" || fail "$(cat "$folder/torn.err")"

# A part of the lines: the first ones, and a sample that is the same for any number of parts.
lines=$(wc -l <"$folder/corpus.txt")
head -n $((lines / 2)) "$folder/corpus.txt" >"$folder/half.txt"
whole=("${flags[@]}")
flags=("$folder/half.txt" "${whole[@]:1}")
survey half
flags=("${whole[@]}")
survey limited --limit $((lines / 2))
cmp "$folder/half/mean.npy" "$folder/limited/mean.npy" || fail "--limit isn't the first lines"
survey sample --sample 0.25
for part in 1 2; do survey "sample-$part" --sample 0.25 --shard "$part/2"; done
merge sample-merged sample-2 sample-1 || fail "merge of samples: $(cat "$folder/sample-merged.err")"
cmp "$folder/sample/examples.jsonl" "$folder/sample-merged/examples.jsonl" || fail "a sample depends on the parts"
sampled=$(sed -n 's/^  "texts": \([0-9]*\),/\1/p' "$folder/sample/survey.json")
[ "$sampled" -gt $((lines / 8)) ] && [ "$sampled" -lt $((lines * 3 / 8)) ] || fail "a quarter of $lines lines are $sampled"
{ yes "a man with a ball" || true; } | timeout 60 "$program" survey - "${plain[@]:1}" --limit 3 --out "$folder/endless" >/dev/null 2>&1 ||
  fail "--limit doesn't end a text without an end"
grep -q '"texts": 3,' "$folder/endless/survey.json" || fail "--limit 3 isn't three texts"
survey packed-rows --pack --tokens 64
for part in 1 2; do survey "packed-$part" --pack --tokens 64 --shard "$part/2"; done
merge packed-merged packed-1 packed-2 || fail "merge of packed rows: $(cat "$folder/packed-merged.err")"
cmp "$folder/packed-rows/tokens.jsonl" "$folder/packed-merged/tokens.jsonl" || fail "packed rows depend on the parts"

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

# Pairs, of an encoder–decoder: all kinds of heads, by one rank and by three.
for i in $(seq 1200); do echo "{\"text\": \"ein Mann mit $((i % 9)) Hunden\", \"target\": \"a man with $((i % 7)) dogs\"}"; done >"$folder/pairs.jsonl"
flags=("$folder/pairs.jsonl" --model multi30k-de-en --metrics previous,entropy --top 3)
survey pairs
grep -q '"kind":"cross"' "$folder/pairs/heads.jsonl" || fail "cross-attention isn't measured on pairs"
ranks 3 pairs-three || fail "three ranks with pairs: $(cat "$folder/pairs-three.err")"
for file in $tables report.html; do cmp "$folder/pairs/$file" "$folder/pairs-three/$file" || fail "$file of pairs depends on ranks"; done
flags=("${plain[@]}")

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
