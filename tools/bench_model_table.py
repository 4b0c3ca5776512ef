#!/usr/bin/env python3
"""The table of scripts/bench-model: bench_model_table.py HEADLIGHT.jsonl TORCH_1.jsonl TORCH_2.jsonl"""

import collections
import json
import statistics
import sys


def medians(path, key):
    found = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            found[row["op"], row["n"]].append(row[key])
    return {case: statistics.median(values) for case, values in found.items()}


def main():
    ours, *theirs = (medians(path, "wall_ms") for path in sys.argv[1:4])
    peaks = [medians(path, "peak_mib") for path in sys.argv[1:3]]
    print("| tokens | Headlight ms | PyTorch 1 thread ms | ratio | 2 threads ms | ratio | peak MiB | PyTorch's | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sorted(n for op, n in ours if op == "model_forward"):
        case = ("model_forward", n)
        mine, one, two = ours[case], theirs[0][case], theirs[1][case]
        print(f"| {n} | {mine:.0f} | {one:.0f} | {one / mine:.2f}× | {two:.0f} | {two / mine:.2f}× "
              f"| {peaks[0][case]:.0f} | {peaks[1][case]:.0f} | {peaks[0][case] / peaks[1][case]:.2f}× |")
    stream, cat, load = ours["model_stream", 0], ours["cat", 0], ours["model_load", 0]
    print(f"\nLoading the weights: {load:.0f} ms, `cat` of the file {cat:.0f} ms: {load / cat:.1f}×; writing as many bytes of new "
          f"memory with every core takes {ours['model_fill', 0]:.0f} ms. "
          f"Everything but the weights: {ours['model_open', 0]:.0f} ms.\n")
    print(f"Reading as many bytes once with every core: {stream:.0f} ms. Appending a token to a text of\n")
    for n in sorted(n for op, n in ours if op == "model_append"):
        mine = ours["model_append", n]
        print(f"- {n - 1} tokens: {mine:.0f} ms, {mine / stream:.2f}× that")
    print("\nA painted cell, with the logits, of the whole pass:\n")
    for op, n in sorted(case for case in ours if case[0].startswith("model_paint_")):
        mine, whole = ours[op, n], ours["model_forward", n]
        print(f"- in layer {op.rsplit('_', 1)[1]}, {n} tokens: {mine:.1f} ms of {whole:.1f}, {mine / whole:.2f}×")


if __name__ == "__main__":
    main()
