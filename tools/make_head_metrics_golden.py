#!/usr/bin/env python3
"""Makes tests/golden/head_metrics.json: head metrics of the maps in tests/golden/bundled, by whole matrices in numpy.

The definitions of patterns and of two measures are TransformerLens' (head_detector.py): a detection pattern D [query, key],
"mul" sum(A*D) / sum(A), "abs" 1 - round(mean over queries of sum|A - D|, 3), after the excluded cells of A and D were set to
0. "mean" is ours: the mean, over the queries with a key in D, of the weight on these keys.
Needs numpy and safetensors.
"""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"


def patterns(ids):
    """Detection patterns of a text, each [query, key]."""
    same = np.equal.outer(ids, ids)
    earlier = np.tril(np.ones_like(same), -1)
    duplicate = same & earlier
    induction = np.zeros_like(same)
    induction[:, 1:] = duplicate[:, :-1]
    return {"previous": np.eye(len(ids), k=-1, dtype=bool), "duplicate": duplicate, "induction": induction}


def scores(attention, pattern):
    """The mean where D has a cell; mul and abs for no exclusion, the first token, the current token and both."""
    found = {"mul": [], "abs": []}
    has_key = pattern.any(axis=1)
    if has_key.any():
        found["mean"] = float((attention * pattern).sum(axis=1)[has_key].mean())
    for excludes_current in (False, True):
        for excludes_first in (False, True):
            kept = np.ones_like(attention)
            if excludes_first:
                kept[:, 0] = 0
            if excludes_current:
                np.fill_diagonal(kept, 0)
            a, d = attention * kept, pattern * kept
            found["mul"].append(float((a * d).sum() / a.sum()))
            found["abs"].append(1 - round(float(np.abs(a - d).sum() / len(a)), 3))
    return found


def metrics(attention, visible, ids):
    """All metrics of one head. `visible`: which cells its mask shows; `ids`: None for attention between two texts."""
    n_queries, n_keys = attention.shape
    logs = np.log(attention, out=np.zeros_like(attention), where=attention > 0)
    entropy = -(attention * logs).sum(axis=1)
    choices = visible.sum(axis=1)
    chooses = choices > 1
    found = {
        "sink": attention[:, 0].mean(),
        "concentration": attention.max(axis=1).mean(),
        "entropy": entropy.mean(),
        "evenness": (entropy[chooses] / np.log(choices[chooses])).mean(),
    }
    if ids is not None:
        distances = np.abs(np.subtract.outer(np.arange(n_queries), np.arange(n_keys)))
        found["distance"] = (attention * distances).sum(axis=1).mean()
    found = {name: float(value) for name, value in found.items()}
    if ids is not None:
        found |= {name: scores(attention, pattern) for name, pattern in patterns(ids).items()}
    return found


def rounded(value):
    """Nine digits for each number of nested lists and objects."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def block(maps, is_causal, ids):
    """[layer][head] of maps [layer, 1, head, query, key]."""
    visible = np.ones(maps.shape[-2:], bool)
    if is_causal:
        visible = np.tril(visible)
    return [[metrics(head, visible, ids) for head in layer[0]] for layer in maps.astype(np.float64)]


def main():
    captions = load_file(GOLDEN / "bundled/captions-gpt2.safetensors")
    translator = load_file(GOLDEN / "bundled/multi30k-de-en.safetensors")
    ids, source, target = captions["case0.ids"][0], translator["case0.ids"][0], translator["case0.target_ids"][0]
    golden = {
        "captions-gpt2": {"encoder": block(captions["case0.attentions"], True, ids)},
        "multi30k-de-en": {
            "encoder": block(translator["case0.encoder_attentions"], False, source),
            "decoder": block(translator["case0.decoder_attentions"], True, target),
            "cross": block(translator["case0.cross_attentions"], False, None),
        },
    }
    (GOLDEN / "head_metrics.json").write_text(json.dumps(rounded(golden), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
