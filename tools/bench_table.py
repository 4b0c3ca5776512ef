#!/usr/bin/env python3
"""Makes Markdown tables from measured rounds: bench_table.py OURS.jsonl TORCH.jsonl TORCH.jsonl

Each file holds the lines of all rounds; the median of a case over the rounds counts. A ratio is PyTorch's time divided by
Headlight's: above 1, Headlight is faster.
"""

import json
import statistics
import sys

TITLES = {
    "qkv_gemm": "QKV projection, [n, d] × [d, 3d]",
    "output_projection": "Output projection, [n, d] × [d, d]",
    "attention_scores": "Scores, QKᵀ",
    "masked_softmax": "Scale, mask and softmax of stored scores",
    "attention_merge": "Attention output with merge, weights · V → [n, heads·d_v]",
    "attention": "Attention as a whole: QKᵀ, scale, mask, softmax, · V, merge",
    "forward": "Multi-head attention as a whole, with both projections",
}


def read(path):
    """(op, n, d_model, heads, causal) → {"ms": median wall time, "gpu_ms": …, "rows": the lines}"""
    cases = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip().startswith("{"):
                row = json.loads(line)
                if row["wall_ms"] == 0:  # head_merge is counted, not timed
                    continue
                key = (row["op"], row["n"], row["d_model"], row["heads"], bool(row.get("causal", False)))
                cases.setdefault(key, []).append(row)
    return {key: summarise(rows) for key, rows in cases.items()}


def summarise(rows):
    """The fastest variant's median over the rounds."""
    variants = {}
    for row in rows:
        variants.setdefault(row.get("variant", ""), []).append(row)
    best = min(variants.values(), key=lambda some: statistics.median(row["wall_ms"] for row in some))
    gpu = [row["gpu_ms"] for row in best if row.get("gpu_ms") is not None]
    return {
        "ms": statistics.median(row["wall_ms"] for row in best),
        "spread": max(row["wall_ms"] for row in best) / min(row["wall_ms"] for row in best),
        "gpu_ms": statistics.median(gpu) if gpu else None,
        "gflops": statistics.median(row["gflops"] for row in best) if best[0].get("gflops") else None,
        "row": best[0],
    }


def threads_text(threads):
    """Of a processor how many, of a GPU the type of products."""
    return threads if isinstance(threads, str) else f"{threads} thread{'s' if threads > 1 else ''}"


def side(cases):
    row = next(iter(cases.values()))["row"]
    threads = f", {threads_text(row['threads'])}" if "threads" in row else ""
    return f"{row['device']}, {row['driver']}{threads}"


def ratio(theirs, ours):
    return f"{theirs['ms'] / ours['ms']:.2f}×" if theirs else "–"


def number(value):
    return "–" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(op, ours, torch):
    keys = sorted(key for key in ours if key[0] == op)
    if not keys:
        return
    print(f"\n### {TITLES[op]}\n")
    header = ["n", "d_model", "heads", "mask", "Headlight ms", "GPU ms", "GFLOP/s", "kernel"]
    naive = {key[1:]: value for key, value in ours.items() if key[0] == "linear_naive"} if op == "qkv_gemm" else {}
    header += ["× naive kernel"] if naive else []
    for count in torch:
        short = count if isinstance(count, str) else f"{count}T"
        header += [f"PyTorch {short} ms", f"ratio {short}"]
    print("| " + " | ".join(header) + " |")
    print("|" + "---:|" * len(header))
    for key in keys:
        mine = ours[key]
        cells = [str(key[1]), str(key[2]), str(key[3]), "causal" if key[4] else "none", number(mine["ms"])]
        cells += [number(mine["gpu_ms"]), number(mine["gflops"]), mine["row"].get("variant", "")]
        if naive:
            twin = naive.get(key[1:])
            cells.append(ratio(twin, mine))
        for cases in torch.values():
            theirs = cases.get(key)
            cells += [number(theirs["ms"]) if theirs else "–", ratio(theirs, mine)]
        print("| " + " | ".join(cells) + " |")


def memory_table(ours):
    """What a run leaves on the device, beside the n × n matrices that it does without."""
    rows = [(key, case["row"]["state_bytes"]) for key, case in sorted(ours.items()) if case["row"].get("state_bytes")]
    if not rows:
        return
    print("\n### Memory of a run on the device, without weights\n")
    print("| n | d_model | heads | Headlight MiB | bytes for each token and d_model | one stored [heads, n, n] MiB |")
    print("|---:|---:|---:|---:|---:|---:|")
    for (_, n, d_model, heads, _), state in rows:
        stored = 4 * heads * n * n
        print(f"| {n} | {d_model} | {heads} | {state / 2**20:.2f} | {state / (n * d_model):.1f} | {stored / 2**20:.2f} |")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    ours, *others = (read(path) for path in sys.argv[1:])
    if not ours:
        sys.exit(f"{sys.argv[1]} holds no measurement")
    torch = {next(iter(cases.values()))["row"]["threads"]: cases for cases in others if cases}
    print(f"- Headlight: {side(ours)}")
    for cases in torch.values():
        print(f"- {side(cases)}")
    spreads = sorted(case["spread"] for cases in (ours, *torch.values()) for case in cases.values())
    print(f"- slowest ÷ fastest round of a case: median {spreads[len(spreads) // 2]:.2f}, largest {spreads[-1]:.2f}")
    for op in TITLES:
        table(op, ours, torch)
    memory_table(ours)


if __name__ == "__main__":
    main()
