#!/usr/bin/env python3
"""Makes tests/golden/survey.json: what heads of models/gpt2, llama and bert attend to over ten lines of random tokens.

Attention is transformers' (eager, float64); everything is computed of whole matrices in numpy, by the definitions of
docs/SURVEYS.md. Needs numpy, torch and transformers.
"""

import json
import pathlib

import numpy as np
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"
LENGTHS = [1, 2, 3, 5, 8, 8, 13, 20, 27, 31]
ENDS = np.array([*range(33), *(2**power for power in range(6, 16))])


def bins(places, weights):
    return np.bincount(np.searchsorted(ENDS, places.ravel()), weights.ravel(), minlength=len(ENDS))


def table(keys, masses):
    """[key, mass, count] of each key, ascending."""
    found = {}
    for key, mass in zip(keys, masses):
        before = found.get(key, (0.0, 0))
        found[key] = (before[0] + mass, before[1] + 1)
    return [[*(key if isinstance(key, tuple) else (key,)), mass, count] for key, (mass, count) in sorted(found.items()) if mass > 0]


def of_head(maps, lines):
    """maps: [query, key] of each line."""
    far = [np.abs(np.subtract.outer(np.arange(len(a)), np.arange(len(a)))) for a in maps]
    everything = sum(a.sum() for a in maps)
    mean = sum((a * d).sum() for a, d in zip(maps, far)) / everything
    own = np.concatenate([np.diag(a) for a in maps])
    aligned = np.full((len(maps), 32, 32), np.nan)
    for i, a in enumerate(maps):
        aligned[i, : len(a), : len(a)] = a[:32, :32]
    offsets = {}
    for a in maps:
        for step in range(-min(32, len(a) - 1), min(32, len(a) - 1) + 1):
            offsets.setdefault(step, []).append(np.diagonal(a, step))
    strongest = [(line[q], line[1 + a[q, 1:].argmax()], a[q, 1:].max()) for a, line in zip(maps, lines) for q in range(len(a)) if a[q, 1:].sum() > 0]
    mean_map = np.nanmean(aligned[:, :31, :31], axis=0)
    return {
        "queries": len(own),
        "first": np.concatenate([a[:, 0] for a in maps]).mean(),
        "self": own.mean(),
        "self_spread": own.std(),
        "distance": mean,
        "distance_spread": np.sqrt(sum((a * (d - mean) ** 2).sum() for a, d in zip(maps, far)) / everything),
        "distances": (sum(bins(d, a) for a, d in zip(maps, far)) / everything).tolist(),
        "positions": (sum(bins(np.arange(len(a)), a.sum(axis=0)) for a in maps) / everything).tolist(),
        "map_sums": [mean_map.sum(axis=1).tolist(), mean_map.sum(axis=0).tolist()],
        "relative": [float(np.concatenate(offsets[step]).mean()) if step in offsets else None for step in range(-32, 33)],
        "query_tokens": table(np.concatenate(lines).tolist(), np.concatenate([a[:, 1:].sum(axis=1) for a in maps]).tolist()),
        "key_tokens": table(np.concatenate([line[1:] for line in lines]).tolist(), np.concatenate([a[:, 1:].sum(axis=0) for a in maps]).tolist()),
        "pairs": table([(int(q), int(k)) for q, k, _ in strongest], [float(weight) for *_, weight in strongest]),
    }


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def main():
    models = {}
    for name in ("gpt2", "llama", "bert"):
        model = transformers.AutoModel.from_pretrained(GOLDEN / "models" / name, attn_implementation="eager", dtype=torch.float64).eval()
        random = np.random.default_rng(36)
        lines = [random.integers(0, min(40, model.config.vocab_size), length) for length in LENGTHS]
        with torch.no_grad():
            runs = [model(torch.tensor(line)[None], output_attentions=True).attentions for line in lines]
        heads = [
            of_head([run[layer][0, head].numpy() for run in runs], lines)
            for layer in range(len(runs[0]))
            for head in range(runs[0][0].shape[1])
        ]
        models[name] = {"lines": [line.tolist() for line in lines], "heads": heads}
    (GOLDEN / "survey.json").write_text(json.dumps(rounded(models), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
