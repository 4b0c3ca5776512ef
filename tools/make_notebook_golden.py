#!/usr/bin/env python3
"""Writes tests/golden/notebooks.json (the notebooks' code run again) and, from the notebooks' text, the printed numbers in
assets/notebooks.

    python3 tools/make_notebook_golden.py [FOLDER_OF_NOTEBOOKS]

Needs PyTorch on a CPU with AVX2. FOLDER_OF_NOTEBOOKS holds 000_*.txt … 004_*.txt, each a notebook's cells with what they
printed; without it assets/notebooks stays as it is. The words about a cell are written by hand in assets/notebooks and kept;
a cell without words gets empty ones.
"""
import json
import math
import pathlib
import re
import sys

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN, NOTEBOOKS = ROOT / "tests" / "golden", ROOT / "assets" / "notebooks"


def numbers(tensor):
    """Nested lists with nine digits; infinities as "-inf"."""
    if isinstance(tensor, torch.Tensor):
        tensor = tensor.detach().tolist()
    if isinstance(tensor, list):
        return [numbers(element) for element in tensor]
    return "-inf" if tensor == -math.inf else float(f"{tensor:.9g}")


# --- the notebooks' code, from the seeds on, in double precision over float32 weights --------------------------------

def split(tensor, heads):
    return tensor.reshape(tensor.shape[0], tensor.shape[1], heads, -1).transpose(1, 2)


def attention(x, query, key, value, output, heads, keep=None, fill=-1e9):
    """Every stage of torch's own arithmetic in float64."""
    x = x.double()
    q, k, v = (split(layer.double()(x), heads) for layer in (query, key, value))
    scores = q @ k.transpose(-2, -1)
    scaled = scores / math.sqrt(q.shape[-1])
    masked = scaled if keep is None else scaled.masked_fill(~keep, fill)
    weights = masked.softmax(-1)
    per_head = weights @ v
    merged = per_head.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)
    return {"x": x, "q": q, "k": k, "v": v, "scores": scores, "scaled": scaled, "masked": masked, "weights": weights,
            "heads": per_head, "merged": merged, "output": output.double()(merged)}


# Notebook 000 sets no seed: torch seeded itself with 32 bits of noise. Of all 2^32 seeds these alone draw the inputs that the
# cells 6 and 31 print; everything printed after them follows.
def notebook_000():
    torch.manual_seed(3133213777)
    x = torch.randn(2, 3, 8)
    query, key, value = (nn.Linear(8, 8) for _ in range(3))
    keep = torch.randint(low=-50, high=50, size=(2, 1, 3, 3)) < 0
    stages = attention(x, query, key, value, nn.Linear(8, 8), 2, keep)
    return {**stages, "mask_true_means_keep": keep.double()}


def notebook_000_class():
    torch.manual_seed(3130316345)
    x = torch.randn(2, 3, 8)
    for _ in range(3):
        nn.Linear(8, 8)
    torch.randint(low=-50, high=50, size=(2, 1, 3, 3))
    nn.Linear(8, 8)
    one = nn.Linear(8, 8)
    return attention(x, one, one, one, one, 2)


def notebook_003_fused_512():
    torch.manual_seed(3)
    d_model, heads, length = 512, 8, 6
    qkv, out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
    x = torch.randn(1, length, d_model).double()
    q, k, v = qkv.double()(x).reshape(1, length, heads, 192).permute(0, 2, 1, 3).chunk(3, dim=-1)
    masked = q @ k.transpose(-2, -1) / math.sqrt(64) + torch.full((length, length), -math.inf).triu(1)
    weights = masked.softmax(-1)
    output = out.double()((weights @ v).transpose(1, 2).reshape(1, length, d_model))
    return {"masked": masked, "weights": weights, "output": output}


def notebook_004_encoder():
    ids = torch.tensor([0, 6, 2, 7, 5, 4, 2, 3])
    torch.manual_seed(123)
    x = nn.Embedding(8, 2)(ids).detach()[None]
    torch.manual_seed(123)
    torch.rand(3, 2), torch.rand(3, 2), torch.rand(4, 2)
    stages = attention(x, *(nn.Linear(2, 2) for _ in range(4)), heads=2)
    first, second, norm = nn.Linear(2, 4).double(), nn.Linear(4, 2).double(), nn.LayerNorm(2).double()
    normed = norm(stages["x"] + stages["output"])
    inner = first(normed).relu()
    feed_forward = second(inner)
    return {**stages, "attended": normed, "ffn_active": inner, "ffn_output": feed_forward,
            "encoder_out": norm(normed + feed_forward)}


# --- what the notebooks print ---------------------------------------------------------------------------------------

# What Headlight has in each preset, by the letters of its axes: b batch, t token, h head, d number of a head's vector,
# q query, k key, c number of a token's vector, i input of a weight, o its output.
STAGES = {"x": "btc", "q": "bhtd", "k": "bhtd", "v": "bhtd", "scores": "bhqk", "scaled": "bhqk", "masked": "bhqk",
          "weights": "bhqk", "visible": "bhqk", "heads": "bhtd", "merged": "btc", "output": "btc", "attended": "btc",
          "ffn_output": "btc", "next": "btc", "ids": "bt", "w_q": "hdi", "w_k": "hdi", "w_v": "hdi", "drawn": "tc",
          "contiguous_heads": "n", "contiguous_drawn": "n", "hand_q": "bhtd", "hand_scores": "bhqk", "hand_heads": "bhtd"}
SIZES = {
    "notebook-000": {"b": 2, "t": 3, "h": 2, "d": 4, "c": 8}, "notebook-000-class": {"b": 2, "t": 3, "h": 2, "d": 4, "c": 8},
    "notebook-001": {"b": 2, "t": 5, "h": 4, "d": 2, "c": 8}, "notebook-003": {"b": 1, "t": 6, "h": 1, "d": 4, "c": 4},
    "notebook-003-fused-512": {"b": 1, "t": 6, "h": 8, "d": 64, "c": 512},
    "notebook-004": {"b": 1, "t": 8, "h": 1, "d": 3, "c": 2, "i": 2},
    "notebook-004-heads": {"b": 1, "t": 8, "h": 3, "d": 3, "c": 2, "i": 2},
    "notebook-004-encoder": {"b": 1, "t": 8, "h": 2, "d": 1, "c": 2}}
WIDE = "notebook-001 d_model=16"  # a preset with what is set of it
SIZES[WIDE] = {**SIZES["notebook-001"], "d": 4, "c": 16}


def stage_shape(preset, stage):
    size = {**SIZES[preset]}
    size["q"] = size["k"] = size.get("t")
    size["n"] = 2
    if stage == "drawn":
        return [2, 3]
    if preset in ("notebook-004", "notebook-004-heads") and stage in ("v", "heads", "w_v", "hand_heads"):
        size["d"] = 4
    if preset.startswith("notebook-004") and stage == "merged":
        size["c"] = {"notebook-004": 4, "notebook-004-heads": 12, "notebook-004-encoder": 2}[preset]
    return [size[letter] for letter in STAGES[stage]]


def indices(preset, stage, axes, select):
    """Where the numbers of a printed tensor are in the stage, in the order of `axes`: "b t h*d" is a token's heads side by
    side; a whole number repeats. `select` fixes axes to one index, or to some."""
    letters, shape = STAGES[stage], stage_shape(preset, stage)
    sizes = dict(zip(letters, shape))
    values = {letter: range(size) for letter, size in sizes.items()}
    for letter, chosen in select.items():
        values[letter] = chosen if isinstance(chosen, (list, range)) else [chosen]
    order = [part for axis in axes.split() for part in axis.split("*")]
    places = [{}]
    for part in order:
        steps = [{}] * int(part) if part.isdigit() else [{part: value} for value in values[part]]
        places = [{**place, **step} for place in places for step in steps]
    fixed = {letter: values[letter][0] for letter in letters if letter not in order}
    found = []
    for place in places:
        at = 0
        for letter, size in sizes.items():
            at = at * size + {**fixed, **place}[letter]
        found.append(at)
    return found


def tensor(name, preset, stage, axes, form="", **select):
    return {"name": name, "preset": preset, "stage": stage, "axes": axes, "form": form, "select": select}


def size(preset, stage, axes):
    return {"preset": preset, "stage": stage, "axes": axes}


def of_000():
    def stage(name, stage_name, axes, preset="notebook-000"):
        return tensor(name, preset, stage_name, axes), size(preset, stage_name, axes)
    side, per_token, per_head, turned, cells = "b t h*d", "b t h d", "b h t d", "b h d t", "b h q k"
    cells_of = {
        6: [stage("input", "x", "b t c")],
        9: [stage("queries", "q", side)], 10: [stage("keys", "k", side), stage("values", "v", side)],
        11: [stage("queries", "q", per_token)], 12: [stage("keys", "k", per_token), stage("values", "v", per_token)],
        13: [stage("queries", "q", per_head)], 14: [stage("keys", "k", per_head), stage("values", "v", per_head)],
        16: [stage("keys transposed", "k", turned)], 17: [stage("attention_scores", "scaled", cells)],
        18: [(tensor("mask_random", "notebook-000", "visible", "b 1 q k", h=0), size("notebook-000", "visible", "b 1 q k"))],
        19: [stage("attention_scores, masked", "masked", cells)], 20: [stage("attention_scores, softmax", "weights", cells)],
        22: [stage("attention_heads", "heads", per_head)], 23: [stage("attention_heads", "heads", per_token)],
        24: [stage("attention_heads", "merged", "b t c"),
             (tensor("is_contiguous, before and after reshape", "notebook-000", "contiguous_heads", "n"), None)], 26: [stage("multi_head_attention_output", "output", "b t c")],
        31: [stage("input", "x", "b t c", "notebook-000-class"), stage("output", "output", "b t c", "notebook-000-class")]}
    return {(cell, 0): ([t for t, _ in pairs], [s for _, s in pairs if s]) for cell, pairs in cells_of.items()}


def of_001():
    preset = "notebook-001"
    split_up, per_head, cells = (size(preset, "q", axes) for axes in ("b t h d", "b h t d", "b h d t"))
    playground = [size(WIDE, "merged", "b t c")]
    return {
        (7, 0): ([], [size(preset, "x", "b t c")]), (8, 0): ([tensor("X_input_tokens", preset, "x", "b t c")], []),
        (12, 0): ([], [split_up] * 3), (13, 0): ([], [per_head]), (14, 0): ([], [per_head] * 2),
        (15, 0): ([], [size(preset, "scaled", "b h q k")]), (16, 0): ([], [cells]),
        (17, 0): ([tensor("mask", preset, "visible", "q k", b=0, h=0)], []),
        (19, 0): ([tensor("attn_scores, masked", preset, "masked", "b h q k")], []),
        (21, 0): ([tensor("attn_weights", preset, "weights", "b h q k")], []),
        (23, 0): ([], [size(preset, "merged", "b t c")]), (24, 0): ([tensor("attention_output", preset, "merged", "b t c")], []),
        (28, 0): ([], playground), (29, 0): ([], playground), (30, 0): ([], playground),
        (31, 0): ([tensor("x", preset, "drawn", "t c"), tensor("x transposed", preset, "drawn", "c t"),
                   tensor("is_contiguous, x and x transposed", preset, "contiguous_drawn", "n")], [])}


def of_003():
    one, wide = "notebook-003", "notebook-003-fused-512"
    x, fused, q, k, v, cells, values, merged, output = (
        size(wide, "x", "b t c"), size(wide, "q", "b t 3*h*d"), size(wide, "q", "b h t d"), size(wide, "k", "b h t d"),
        size(wide, "v", "b h t d"), size(wide, "weights", "b h q k"), size(wide, "heads", "b h t d"),
        size(wide, "merged", "b t c"), size(wide, "output", "b t c"))
    in_heads, turned = size(wide, "q", "b t h 3*d"), size(wide, "q", "b h t 3*d")
    return {
        (28, 0): ([tensor(name, one, name, "t d", b=0, h=0) for name in ("q", "k", "v")], []),
        (29, 0): ([tensor("mask", one, "visible", "q k", form="additive", b=0, h=0)], []),
        (30, 0): ([tensor("w", one, "weights", "q k", b=0, h=0)], []),
        (31, 0): ([tensor("self_attention", one, "heads", "t d", b=0, h=0)], []),
        (36, 0): ([], [x]), (38, 0): ([], [fused]), (41, 0): ([], [in_heads]), (42, 0): ([], [turned]),
        (43, 0): ([], [q, k, v]), (44, 0): ([], [cells]),
        (46, 0): ([tensor("mask", wide, "visible", "q k", form="additive", b=0, h=1)], []), (47, 0): ([], [cells]),
        (48, 0): ([], [values]), (53, 0): ([], [cells, values]), (54, 0): ([], [merged]), (55, 0): ([], [output]),
        (69, 0): ([], [x, fused, in_heads, turned, q, k, v, cells, values, output])}


def of_004():
    one, heads, layer = "notebook-004", "notebook-004-heads", "notebook-004-encoder"
    x, x_turned = tensor("embedded_sentence", one, "x", "t c"), tensor("embedded_sentence.T", one, "x", "c t")
    x_size, x_turned_size = size(one, "x", "t c"), size(one, "x", "c t")
    w_q, w_k, w_v = (tensor(name, one, stage, "h*d i") for name, stage in (("W_query", "w_q"), ("W_key", "w_k"), ("W_value", "w_v")))
    w_sizes = [size(one, stage, "h*d i") for stage in ("w_q", "w_k", "w_v")]
    queries, keys, values = (tensor(name, one, stage, "t d", h=0) for name, stage in (("queries", "q"), ("keys", "k"), ("values", "v")))
    vector_sizes = [size(one, stage, "t d") for stage in ("q", "k", "v")]
    row = lambda name, stage, preset=one, **more: tensor(name, preset, stage, {"x": "c"}.get(stage, "h*d"), t=1, **more)
    omega = tensor("omega_2", one, "scores", "q k", q=1, h=0)
    whole = lambda name, stage, axes="b t c": tensor(name, layer, stage, axes)
    whole_size = size(layer, "output", "b t c")
    return {
        (2, 0): ([tensor("dc", one, "ids", "t", t=[0, 2, 7, 5, 4, 1, 3])], []),
        (3, 0): ([tensor("sentence_int", one, "ids", "t")], []),
        (4, 0): ([x], [x_size]), (5, 0): ([], [x_size]), (6, 0): ([], [x_size]),
        (7, 0): ([w_q], w_sizes[:1]), (8, 0): ([w_k], w_sizes[1:2]), (9, 0): ([w_v], w_sizes[2:]),
        (10, 0): ([row("x_2", "x"), w_q, row("query_2", "q"), w_k, row("key_2", "k"), w_v, row("value_2", "v")],
                  [size(one, "x", "c"), size(one, "q", "d"), size(one, "k", "d"), size(one, "v", "d")]),
        (45, 0): ([tensor("by hand: query_2[0]", one, "hand_q", "d", t=1, h=0, d=0)], []),
        (46, 0): ([], vector_sizes), (47, 0): ([queries], []), (48, 0): ([keys], []), (49, 0): ([values], []),
        (50, 0): ([x], []), (51, 0): ([x_turned], []), (52, 0): ([row("query_2", "q")], []), (53, 0): ([keys], []),
        (54, 0): ([tensor("by hand: omega_24", one, "hand_scores", "k", q=1, k=4)], []),
        (55, 0): ([tensor("by hand: omega_20", one, "hand_scores", "k", q=1, k=0)], []),
        (56, 0): ([tensor("omega_24", one, "scores", "k", q=1, k=4)], []), (57, 0): ([omega], []),
        (58, 0): ([omega, tensor("attention_weights_2", one, "weights", "q k", q=1, h=0)], []), (59, 0): ([values], []),
        (60, 0): ([], [size(one, "weights", "1 k"), vector_sizes[2]]),
        (61, 0): ([row("context_vector_2", "heads")], [size(one, "heads", "1 d")]),
        (63, 0): ([tensor("by hand: context_vector_2", one, "hand_heads", "d", t=1, h=0, d=[0, 1])], []),
        (65, 0): ([x, tensor("x_in", layer, "x", "b t c")], [size(layer, "x", "b t c")]),
        (66, 0): ([whole(name, stage, "b t h*d") for name, stage in (("Q", "q"), ("K", "k"), ("V", "v"))]
                  + [whole("Q, heads apart", "q", "b h t d")], []),
        (67, 0): ([whole("MHA output", "output"), whole("Add & Norm", "attended")], [whole_size] * 2),
        (68, 0): ([whole("ffn_out", "ffn_output")], []),
        (69, 0): ([whole("Final encoder output", "next")], [whole_size] * 2),
        (16, 0): ([tensor(f"context_vectors[{i}]", one, "heads", "t d", t=1, h=0, d=i) for i in range(3)]
                  + [tensor("combined_context", one, "heads", "t d", t=1, h=0, d=range(3))], [size(one, "heads", "1 3")]),
        (18, 0): ([tensor(f"heads[{i}]", one, "v", "t d", h=0, d=i) for i in range(3)], []),
        (32, 0): ([tensor("multihead_W_query", heads, "w_q", "h d i")], [size(heads, "w_q", "h d i")]),
        (35, 0): ([row("x_2", "x")], []),
        (34, 0): ([tensor("multihead_query_2", heads, "q", "h d", t=1)], [size(heads, "q", "h d")]),
        (36, 0): ([tensor("multihead_key_2", heads, "k", "h d", t=1), tensor("multihead_value_2", heads, "v", "h d", t=1)],
                  [size(heads, "k", "h d"), size(heads, "v", "h d")]),
        (42, 0): ([x, x_turned], [x_size, x_turned_size]),
        (43, 0): ([tensor("stacked_inputs", heads, "x", "3 c t")], [size(heads, "x", "3 c t")]),
        (44, 0): ([], [size(heads, "k", "h d t"), size(heads, "v", "h d t")]),
        (45, 1): ([], [size(heads, "k", "h t d"), size(heads, "v", "h t d")]),
        (46, 1): ([tensor("multihead_keys", heads, "k", "h t d"), tensor("multihead_values", heads, "v", "h t d")], [])}


# Numbers in outputs that no tensor is, beside the cells' tensors: a pattern whose groups are the numbers.
LOOSE = {("000", 7): r"d_k:  (\d+)", ("000", 24): r"is_contiguous:  (False)[\s\S]*is_contiguous:  (True)",
         ("001", 31): r"contiguous\? (True)\n[\s\S]*contiguous\? (False)\n", ("004", 2): r"\{'My': (\d), 'are': (\d), 'big.': (\d), 'feet': (\d), 'my': (\d), "
         r"'shoes': (\d), 'small': (\d)\}", ("004", 45): r"^(1\.0321289999999999)$", ("004", 54): r"^(-2\.49896742)$",
         ("004", 55): r"^(-0\.08795302000000002)$", ("004", 56): r"tensor\((-2\.4988)", ("004", 63): r"^(0\.\d+), (0\.\d+)$"}

NUMBER = re.compile(r"-?\b\d+(?:\.\d*)?(?:e[+-]\d+)?|-?\binf\b|\bTrue\b|\bFalse\b")


def printed_tensors(body):
    """[(where it begins, numbers as printed, length of a row or 0, whole?)] of the tensors and arrays that a cell prints."""
    for match in re.finditer(r"(?<![\w.])(?:tensor|array)\(\s*(?=\[)|^(?=\[\[)", body, re.M):
        begin, end, depth, row = match.end(), match.end(), 0, 0
        while end < len(body):
            depth += (body[end] == "[") - (body[end] == "]")
            end += 1
            if body[end - 1] == "]" and row == 0:
                row = len(NUMBER.findall(body[begin:end]))
            if depth == 0:
                break
        found = list(NUMBER.finditer(body, begin, end))
        if depth != 0 and found and body[found[-1].end():found[-1].end() + 1] not in (",", "]"):
            found.pop()  # its last digits are cut off
        yield match.start(), end, [number.group() for number in found], row, depth == 0


def read_notebook(path, expected):
    """Rows for printed_numbers.json. Throws where a cell prints other tensors or sizes than `expected` lists, and where a
    decimal number of an output is in none of them."""
    name, text = path.name[:3], path.read_text()
    parts, seen, rows = re.split(r"^In \[(\d+)\]:\n", text, flags=re.M), {}, []
    for cell, whole_body in ((int(parts[i]), parts[i + 1]) for i in range(1, len(parts), 2)):
        occurrence = seen.get(cell, 0)
        seen[cell] = occurrence + 1
        body = "\n".join(line for line in whole_body.split("\n") if not line.lstrip().startswith("#"))
        tensors, sizes = expected.get((cell, occurrence), ([], []))
        printed = [(*one[2:], one[0]) for one in printed_tensors(body)]
        loose = LOOSE.get((name, cell)) if occurrence == 0 else None
        if loose and cell != 7:
            match = re.search(loose, body, re.M)
            assert match, (name, cell)
            printed.append((list(match.groups()), len(match.groups()), True, match.end(len(match.groups()))))
            printed.sort(key=lambda one: one[3])
        assert len(printed) == len(tensors), (name, cell, len(printed), len(tensors))
        for (numbers_, row, is_whole, _), ours in zip(printed, tensors):
            at = indices(ours["preset"], ours["stage"], ours["axes"], ours["select"])
            assert len(at) == len(numbers_) if is_whole else len(at) > len(numbers_), (name, cell, ours["name"], len(at))
            part = {"name": ours["name"], "stage": ours["stage"], "axes": ours["axes"], "row": row, "printed": numbers_}
            if ours["select"]:
                part["select"] = {letter: list(at) if isinstance(at, (list, range)) else [at]
                                  for letter, at in ours["select"].items()}
            if ours["form"]:
                part["form"] = ours["form"]
            rows.append((name, cell, occurrence, ours["preset"], part))
        found = [[int(n) for n in size_.split(",")] for size_ in re.findall(r"torch\.Size\(\[([^\]]*)\]\)", body)]
        if name == "000" and cell == 7:
            found, sizes = [[int(re.search(loose, body).group(1))]], [size("notebook-000", "q", "d")]
        assert len(found) == len(sizes), (name, cell, found)
        for numbers_, ours in zip(found, sizes):
            rows.append((name, cell, occurrence, ours["preset"],
                         {"name": "size", "stage": ours["stage"], "axes": ours["axes"], "size": numbers_}))
        covered = set()
        for begin, end, *_ in printed_tensors(body):
            covered.update(range(begin, end))
        if loose:
            match = re.search(loose, body, re.M)
            covered.update(range(match.start(), match.end()))
        for number in re.finditer(r"\d+\.\d+", body):
            line = body[body.rfind("\n", 0, number.start()) + 1:].split("\n")[0]
            is_source = re.search(r"\*\* ?0\.5|test_omega_24 = |omega_20 = |context_vector_query2_\d = |dropout_prob: float|"
                                  r"\(0\.1794\*0\.2961\)|float\('-1e9'\)|https?://", line)
            is_explained = re.search(r"Dropout\(p=0\.1|torch version|dropout_prob=0\.1", line)
            assert number.start() in covered or is_source or is_explained, (name, cell, line)
    return rows


def printed_numbers(folder):
    rows = []
    for name, expected in (("000", of_000()), ("001", of_001()), ("003", of_003()), ("004", of_004())):
        rows += read_notebook(next(folder.glob(f"{name}_*.txt")), expected)
    # Notebook 002's cells print how fast its data were downloaded and nothing that is computed.
    outputs = [output for cell in json.loads(next(folder.glob("002_*.txt")).read_text())["cells"]
               for output in cell.get("outputs", [])]
    assert all(re.search(r"download", "".join(o["text"]), re.I) or "B/s]" in "".join(o["text"]) for o in outputs), outputs
    return rows


def put_numbers(rows):
    """Puts the printed numbers into assets/notebooks, between the cells there that print nothing."""
    for name in sorted({row[0] for row in rows}):
        path = NOTEBOOKS / f"{name}.json"
        notebook = json.loads(path.read_text()) if path.exists() else {"title": "", "cells": []}
        known, printed = {cell["id"]: cell for cell in notebook["cells"]}, {}
        for _, cell, occurrence, preset, part in (row for row in rows if row[0] == name):
            preset, *settings = preset.split()
            presets = printed.setdefault((cell, occurrence), {})
            presets.setdefault((preset, *settings), []).append(part)
        after = {}  # cells that print nothing stay after the one that they follow
        last = None
        for cell in notebook["cells"]:
            if any("printed" in part or "size" in part for part in cell["parts"]):
                last = cell["id"]
            else:
                after.setdefault(last, []).append(cell)
        cells = after.get(None, [])
        for (cell, occurrence), presets in printed.items():
            for number, ((preset, *settings), parts) in enumerate(presets.items()):
                id_ = f"{cell}{'b' if occurrence or number else ''}"
                words = known.get(id_, {"title": "", "does": "", "says": ""})
                made = {"id": id_, "preset": preset, "title": words["title"], "does": words["does"], "says": words["says"]}
                if settings:
                    made["set"] = dict(one.split("=") for one in settings)
                cells.append({**made, "parts": parts})
                cells += after.get(id_, [])
        write_notebook(path, {"title": notebook["title"], "cells": cells})


def write_notebook(path, notebook):
    """A line for each part of a cell."""
    text = lambda value: json.dumps(value, ensure_ascii=False)
    cells = []
    for cell in notebook["cells"]:
        words = {key: value for key, value in cell.items() if key != "parts"}
        parts = ",\n  ".join(text(part) for part in cell["parts"])
        cells.append(f'{text(words)[:-1]}, "parts": [\n  {parts}]}}')
    path.write_text(f'{{"title": {text(notebook["title"])},\n"cells": [\n' + ",\n".join(cells) + "]}\n")


if __name__ == "__main__":
    presets = {"notebook-000": notebook_000(), "notebook-000-class": notebook_000_class(),
               "notebook-003-fused-512": notebook_003_fused_512(), "notebook-004-encoder": notebook_004_encoder()}
    content = {name: {stage: numbers(values) for stage, values in stages.items()} for name, stages in presets.items()}
    (GOLDEN / "notebooks.json").write_text(json.dumps({"torch": torch.__version__, **content}, separators=(",", ":")) + "\n")
    if len(sys.argv) > 1:
        rows = printed_numbers(pathlib.Path(sys.argv[1]))
        put_numbers(rows)
        print(sum(len(row[-1].get("printed", row[-1].get("size"))) for row in rows), "numbers")
