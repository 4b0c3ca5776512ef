#!/usr/bin/env python3
"""Writes tests/golden/torch_random.json and tests/golden/playground.json with PyTorch.

    python3 tools/make_golden.py

The files in the repository were made with PyTorch 1.13 on a CPU with AVX2. Other CPUs round large normals differently
in the last place, so that torch_random.json may come out different there.
"""
import json
import math
import pathlib

import numpy as np
import torch
from torch import nn

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"


def numbers(tensor):
    """Nested lists with the nine digits that restore a float32; infinities as "-inf"."""
    if isinstance(tensor, torch.Tensor):
        tensor = tensor.detach().tolist()
    if isinstance(tensor, list):
        return [numbers(element) for element in tensor]
    return "-inf" if tensor == -math.inf else float(f"{tensor:.9g}")


def save(name, content):
    text = json.dumps({"torch": torch.__version__, **content}, separators=(",", ":"))
    (GOLDEN / name).write_text(text + "\n")
    print(name, len(text))


# --- the generator -------------------------------------------------------------------------------------------------

def draw(kind, *sizes):
    """One call of PyTorch as {"kind", "sizes", "values"}; a Linear's values are its weight, then its bias."""
    if kind == "linear":
        layer = nn.Linear(sizes[0], sizes[1], bias=bool(sizes[2]))
        values = torch.cat([parameter.flatten() for parameter in layer.parameters()])
    elif kind == "embedding":
        values = nn.Embedding(*sizes).weight.flatten()
    else:
        values = getattr(torch, kind)(*sizes).flatten()
    result = {"kind": kind, "sizes": list(sizes)}
    if values.numel() <= 512:
        return {**result, "values": numbers(values)}
    # Σ (i + 1)·bits(i) modulo 2^64: one wrong bit anywhere changes it.
    bits = values.detach().numpy().view(np.uint32).astype(np.uint64)
    places = np.arange(1, bits.size + 1, dtype=np.uint64)
    return {**result, "bit_sum": str(int((bits * places).sum(dtype=np.uint64)))}


def sequence(seed, calls):
    torch.manual_seed(seed)
    return {"seed": seed, "draws": [draw(*call) for call in calls]}


def torch_random():
    save("torch_random.json", {"sequences": [
        sequence(0, [("rand", 7), ("rand", 1), ("rand", 3, 4)]),
        # Every size around the block of 16, one after the other: odd counts leave the second value of a pair for the next call.
        sequence(1, [("randn", size) for size in range(1, 41)]),
        sequence(2, [("randn", 3), ("rand", 5), ("randn", 1), ("randn", 17), ("randn", 1), ("rand", 2), ("randn", 2, 2), ("randn", 5)]),
        sequence(3, [("linear", 5, 3, 1), ("linear", 16, 4, 0), ("linear", 1, 2, 1), ("randn", 3), ("linear", 7, 7, 1)]),
        sequence(2**32 + 5, [("embedding", 8, 2), ("embedding", 7, 3), ("embedding", 2, 3), ("linear", 3, 3, 1)]),
        sequence(2**63 - 1, [("rand", 4), ("randn", 4)]),
        sequence(4, [("randn", 300, 500), ("randn", 99991), ("rand", 70001), ("linear", 512, 384, 1), ("embedding", 1000, 77)]),
    ]})


# --- the playground ------------------------------------------------------------------------------------------------

def tokenize(texts):
    """Lines of every text as word ids; one dictionary for all, a repeated word keeps its last index."""
    lines = [[line.replace(",", "").split() for line in text.split("\n")] for text in texts]
    words = sorted(word for text in lines for line in text for word in line)
    place = {word: index for index, word in enumerate(words)}
    return [[[place[word] for word in line] for line in text] for text in lines], len(words)


def positions(length, width):
    angle = np.arange(length)[:, None] * 10000.0 ** (-(np.arange(width) // 2 * 2) / width)
    return torch.tensor(np.where(np.arange(width) % 2 == 0, np.sin(angle), np.cos(angle)), dtype=torch.float32)


def embed(table, lines, with_positions):
    longest = max(map(len, lines))
    x = torch.zeros(len(lines), longest, table.shape[1])
    for row, line in enumerate(lines):
        x[row, :len(line)] = table[torch.tensor(line)]
    return x + positions(longest, table.shape[1]) if with_positions else x


def visible(mask, queries, lengths, keys):
    """[batch, 1, query, key]: the rule and the padding of the keys."""
    i, j = torch.arange(queries)[:, None], torch.arange(keys)[None, :]
    backward = torch.ones(queries, keys, dtype=torch.bool)
    if mask["causal"] or mask["prefix"]:
        backward = j <= i
    if mask["window"]:
        backward = backward & ((i - j).abs() < mask["window"])
    rule = (j < mask["prefix"]) | backward
    return rule[None, None] & (j[None] < torch.tensor(lengths)[:, None, None])[:, None]


def playground(name, text, key_text="", d_model=8, heads=2, d_k=0, d_v=0, layers=1, seed=123, bias=True, scale=True,
               output=True, with_positions=True, transpose=True, causal=False, window=0, prefix=0, fill="-inf"):
    mask = {"causal": causal, "window": window, "prefix": prefix}
    sides, vocabulary = tokenize([text, key_text] if key_text else [text])
    key_width, value_width = d_k or d_model // heads, d_v or d_model // heads
    torch.manual_seed(seed)
    table = nn.Embedding(vocabulary, d_model).weight
    torch.manual_seed(seed)
    projections = []
    for _ in range(layers):
        sizes = [(d_model, heads * key_width), (d_model, heads * key_width), (d_model, heads * value_width)]
        projections.append([nn.Linear(*size, bias=bias) for size in sizes + ([(heads * value_width, d_model)] if output else [])])

    x = embed(table, sides[0], with_positions)
    memory = embed(table, sides[-1], with_positions)
    keep = visible(mask, x.shape[1], [len(line) for line in sides[-1]], memory.shape[1])
    stages = []
    for query, key, value, *out in projections:
        source = memory if key_text else x
        split = lambda t: t.reshape(t.shape[0], t.shape[1], heads, -1).transpose(1, 2)
        q, k, v = split(query(x)), split(key(source)), split(value(source))
        scores = q @ k.transpose(-2, -1)
        scaled = scores / math.sqrt(key_width) if scale else scores
        masked = scaled.masked_fill(~keep, float(fill))
        weights = masked.softmax(-1)
        assert not weights.isnan().any(), name
        per_head = weights @ v
        merged = (per_head.transpose(1, 2) if transpose else per_head).reshape(x.shape[0], x.shape[1], -1)
        stage = {"x": x, "q": q, "k": k, "v": v, "scores": scores, "scaled": scaled, "masked": masked, "weights": weights,
                 "heads": per_head, "merged": merged}
        y = merged
        if out:
            y = stage["output"] = out[0](merged)
        stages.append({key: numbers(tensor) for key, tensor in stage.items()})
        x = nn.LayerNorm(d_model)(x + y) if layers > 1 else y
    return {"name": name, "text": text, "key_text": key_text, "d_model": d_model, "heads": heads, "d_k": d_k, "d_v": d_v,
            "layers": layers, "seed": seed, "bias": bias, "scaled": scale, "output_projection": output,
            "positions": with_positions, "transpose": transpose, **mask, "fill": fill, "stages": stages, "result": numbers(x)}


if __name__ == "__main__":
    torch_random()
    save("playground.json", {"cases": [
        playground("two causal layers over a padded batch", "The cat sat on the mat\nthe dog, the cat", d_model=12, heads=3,
                   layers=2, causal=True),
        playground("two cross layers with an odd width", "who sat there\nwhich one", "The cat sat on it\nthe dog, the cat",
                   d_model=9, heads=3, layers=2, seed=7, fill="-1e10"),
        playground("wide values, a window that masks whole rows", "one two three four five\nsix seven", d_model=7, heads=2,
                   d_k=3, d_v=5, bias=False, output=False, window=2, fill="-1e9"),
        playground("not scaled, no positions, prefix, merged without transpose", "a b c d e\nf g h", d_model=8, heads=4,
                   seed=2**33 + 1, scale=False, with_positions=False, transpose=False, prefix=2),
        playground("two layers without output projection", "a b a c", d_model=6, heads=2, layers=2, seed=0, output=False),
    ]})
