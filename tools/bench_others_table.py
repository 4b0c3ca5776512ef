#!/usr/bin/env python3
"""The table of scripts/bench-others: bench_others_table.py FOLDER with headlight.jsonl, shaders.jsonl, ggml.jsonl and ncnn.jsonl"""

import collections
import json
import pathlib
import statistics
import sys


def medians(path):
    found = collections.defaultdict(list)
    if path.exists():
        for line in path.read_text().splitlines():
            row = json.loads(line)
            found[row["op"], row["n"]].append(row["wall_ms"])
    return {case: statistics.median(values) for case, values in found.items()}


def main():
    folder = pathlib.Path(sys.argv[1])
    ours, shaders, ggml, ncnn = (medians(folder / f"{name}.jsonl") for name in ("headlight", "shaders", "ggml", "ncnn"))
    print("| operation | tokens | Headlight ms | its shaders alone ms | ggml-vulkan ms | ÷ shaders | ncnn-vulkan ms | ÷ shaders |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for case in shaders:
        cells = [f"{ours[case]:.2f}" if case in ours else "–", f"{shaders[case]:.2f}"]
        for other in (ggml, ncnn):
            cells += [f"{other[case]:.2f}", f"{other[case] / shaders[case]:.1f}×"] if case in other else ["–", "–"]
        print(f"| {case[0]} | {case[1]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
