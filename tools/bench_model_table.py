#!/usr/bin/env python3
"""The table of scripts/bench-model: bench_model_table.py HEADLIGHT.jsonl TITLE=TORCH.jsonl …"""

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


def number(ms):
    return f"{ms:.3g}" if ms < 100 else f"{ms:.0f}"


def main():
    ours, peak = medians(sys.argv[1], "wall_ms"), medians(sys.argv[1], "peak_mib")
    others = [argument.split("=", 1) for argument in sys.argv[2:]]
    theirs = {title: (medians(path, "wall_ms"), medians(path, "peak_mib")) for title, path in others}
    print("| | Headlight ms | peak MiB |" + "".join(f" {title} ms | ratio | peak MiB | ratio |" for title in theirs))
    print("|---|---|---|" + "---|---|---|---|" * len(theirs))
    for op, what in (("model_forward", "{} tokens"), ("model_append", "one after {}")):
        for n in sorted(n for name, n in ours if name == op):
            row = f"| {what.format(n if op == 'model_forward' else n - 1)} | {number(ours[op, n])} | {peak[op, n]:.0f} |"
            for wall, mib in theirs.values():
                if (op, n) in wall:
                    row += (f" {number(wall[op, n])} | {wall[op, n] / ours[op, n]:.2f}× "
                            f"| {mib[op, n]:.0f} | {mib[op, n] / peak[op, n]:.2f}× |")
                else:
                    row += " | | | |"
            print(row)
    stream, cat, load = ours["model_stream", 0], ours["cat", 0], ours["model_load", 0]
    print(f"\nLoading the weights: {load:.0f} ms, `cat` of the file {cat:.0f} ms: {load / cat:.1f}×; writing as many bytes of new "
          f"memory with every core takes {ours['model_fill', 0]:.0f} ms. "
          f"Everything but the weights: {ours['model_open', 0]:.0f} ms.\n")
    print(f"Reading as many bytes once with every core: {stream:.0f} ms. Appending a token to a text of\n")
    for n in sorted(n for op, n in ours if op == "model_append"):
        mine = ours["model_append", n]
        print(f"- {n - 1} tokens: {number(mine)} ms, {mine / stream:.2f}× that")
    print("\nA painted cell, with the logits, of the whole pass:\n")
    for op, n in sorted(case for case in ours if case[0].startswith("model_paint_")):
        mine, whole = ours[op, n], ours["model_forward", n]
        print(f"- in layer {op.rsplit('_', 1)[1]}, {n} tokens: {mine:.1f} ms of {whole:.1f}, {mine / whole:.2f}×")


if __name__ == "__main__":
    main()
