#!/usr/bin/env python3
"""Makes tests/golden/survey.json: what heads of models/gpt2, llama and bert attend to over ten lines of random tokens, and all
heads of models/marian over pairs of them, with their metrics.

Attention is transformers' (eager, float64); everything is computed of whole matrices in numpy, by the definitions of
docs/SURVEY_FILES.md. Needs numpy, torch and transformers.
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


def stretched(a):
    """[query, key] as 32 x 32: means over 32nds of the queries of the weights on 32nds of the keys, by integration."""
    n, m = a.shape
    fine = a.repeat(32, axis=0).repeat(32, axis=1) / 32  # each query as 32 rows, each key's weight spread over 32 columns
    return fine.reshape(32, n, 32, m).mean(axis=1).sum(axis=2)


def of_cross(maps, sources, targets):
    """maps: [target, source] of each pair. No position is compared with another one."""
    everything = sum(a.sum() for a in maps)
    mean_map = np.mean([stretched(a) for a in maps], axis=0)
    strongest = [(target[q], source[a[q].argmax()], a[q].max()) for a, source, target in zip(maps, sources, targets) for q in range(len(a))]
    return {
        "queries": sum(len(a) for a in maps),
        "first": np.concatenate([a[:, 0] for a in maps]).mean(),
        "positions": (sum(bins(np.arange(a.shape[1]), a.sum(axis=0)) for a in maps) / everything).tolist(),
        "map": mean_map[::5, ::5].ravel().tolist(),
        "query_tokens": table(np.concatenate(targets).tolist(), np.concatenate([a.sum(axis=1) for a in maps]).tolist()),
        "key_tokens": table(np.concatenate(sources).tolist(), np.concatenate([a.sum(axis=0) for a in maps]).tolist()),
        "pairs": table([(int(q), int(k)) for q, k, _ in strongest], [float(weight) for *_, weight in strongest]),
    }


def metrics(maps):
    """Means over texts of what every kind of attention has, causal maps with as many keys as a query sees."""
    rows = [[row[: q + 1] if np.all(np.triu(a, 1) == 0) and a.shape[0] == a.shape[1] else row for q, row in enumerate(a)] for a in maps]
    entropy = [[-(row[row > 0] * np.log(row[row > 0])).sum() for row in a] for a in rows]
    even = [[e / np.log(len(row)) for e, row in zip(es, a) if len(row) > 1] for es, a in zip(entropy, rows)]
    return {
        "sink": np.mean([np.mean([row[0] for row in a]) for a in rows]),
        "concentration": np.mean([np.mean([row.max() for row in a]) for a in rows]),
        "evenness": np.mean([np.mean(e) for e in even if e]),
        "entropy": np.mean([np.mean(e) for e in entropy]),
    }


def of_pairs(name):
    """Of an encoder-decoder: each kind's heads."""
    model = transformers.AutoModel.from_pretrained(GOLDEN / "models" / name, attn_implementation="eager", dtype=torch.float64).eval()
    random = np.random.default_rng(37)
    sources, targets = ([random.integers(1, 40, length) for length in lengths] for lengths in (LENGTHS[2:], LENGTHS[9:1:-1]))
    for target in targets:
        target[0] = model.config.decoder_start_token_id
    with torch.no_grad():
        runs = [
            model(torch.tensor(s)[None], decoder_input_ids=torch.tensor(t)[None], output_attentions=True, use_cache=False)
            for s, t in zip(sources, targets)
        ]
    kinds = {}
    for kind in ("encoder", "decoder", "cross"):
        all_maps = [getattr(run, "cross_attentions" if kind == "cross" else f"{kind}_attentions") for run in runs]
        kinds[kind] = []
        for layer in range(len(all_maps[0])):
            for head in range(all_maps[0][0].shape[1]):
                maps = [of_text[layer][0, head].numpy() for of_text in all_maps]
                found = of_cross(maps, sources, targets) if kind == "cross" else of_head(maps, sources if kind == "encoder" else targets)
                kinds[kind].append({**found, "metrics": metrics(maps)})
    return {"lines": [line.tolist() for line in sources], "targets": [line.tolist() for line in targets], **kinds}


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
    models["marian"] = of_pairs("marian")
    (GOLDEN / "survey.json").write_text(json.dumps(rounded(models), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
