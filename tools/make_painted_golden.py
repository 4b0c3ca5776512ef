#!/usr/bin/env python3
"""Makes tests/golden/painted.json: what four small models compute under painted biases, painted patterns and documents.

Runs the models of tests/golden/models in transformers, in float64, with a softmax that changes its scores first: it adds biases to
cells of some heads, hides the keys of other documents, and gives painted rows of one head the painted weights of the keys that the mask
shows, divided by their sum. A case keeps the logits of the last token and the maps of heads 0 and 1 in the last attention of its kind.
Needs the packages torch, transformers and safetensors.
"""

import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
HIDDEN = -1e30  # scores below are masked: eager attention adds the least float
softmax = torch.nn.functional.softmax
torch.set_default_dtype(torch.float64)


def load(name):
    loader = {
        "gpt2": transformers.GPT2LMHeadModel,
        "llama": transformers.LlamaForCausalLM,
        "bert": transformers.BertForMaskedLM,
        "marian": transformers.MarianMTModel,
    }[name]
    return loader.from_pretrained(GOLDEN / "models" / name, attn_implementation="eager").double().eval()


def document_of(begins, token):
    return sum(begin <= token for begin in begins)


def run(model, inputs, calls, case):
    """`calls`: (kind, layer) of each softmax in its order."""
    maps, order = {}, iter(calls)

    def attend(scores, *_, **__):
        kind, layer = next(order)
        scores = scores.double().clone()
        heads = scores.view(-1, *scores.shape[-2:])  # of the only batch item; some versions of Marian have no axis of items
        visible = heads > HIDDEN
        if kind == case["kind"]:
            for of_layer, of_head, query, key, bias in case["biases"]:
                if of_layer in (None, layer):
                    heads[slice(None) if of_head is None else of_head, query, key] += bias
            for query in range(heads.shape[-2]):
                for key in range(heads.shape[-1]):
                    if document_of(case["documents"], query) != document_of(case["documents"], key):
                        visible[:, query, key] = False
            heads.masked_fill_(~visible, float("-inf"))
        weights = softmax(scores, dim=-1).nan_to_num(0.0)  # a row without keys has no weights
        heads = weights.view(-1, *weights.shape[-2:])
        painted = case["painted"]
        if painted and (kind, layer) == (case["kind"], painted["layer"]):
            rows = {}
            for query, key, weight in painted["weights"]:
                rows.setdefault(query, torch.zeros(heads.shape[-1]))[key] = weight
            for query, row in rows.items():
                shown = row * visible[painted["head"], query]
                heads[painted["head"], query] = shown / shown.sum() if shown.sum() > 0 else shown
        maps[kind] = heads
        return weights

    torch.nn.functional.softmax = attend
    try:
        with torch.no_grad():
            logits = model(**inputs).logits[0, -1]
    finally:
        torch.nn.functional.softmax = softmax
    assert next(order, None) is None, "not every attention calls softmax"
    return logits, maps


def make(name):
    model = load(name)
    reference = load_file(GOLDEN / "models" / name / "reference.safetensors")
    ids = reference["case1.ids"][:1]
    inputs = {"input_ids": ids}
    target = []
    config = model.config
    calls = [("encoder", layer) for layer in range(config.num_hidden_layers)]
    if name == "marian":
        inputs["decoder_input_ids"] = reference["case1.target_ids"][:1]
        target = inputs["decoder_input_ids"][0].tolist()
        calls = [("encoder", layer) for layer in range(config.encoder_layers)]
        for layer in range(config.decoder_layers):
            calls += [("decoder", layer), ("cross", layer)]
    inputs["attention_mask"] = torch.ones_like(ids)
    plain = run(model, inputs, calls, {"kind": None, "painted": None})[0]
    cases = []
    for kind in dict.fromkeys(kind for kind, _ in calls):
        queries = len(target) if kind in ("decoder", "cross") else ids.shape[1]
        keys = len(target) if kind == "decoder" else ids.shape[1]
        last = queries - 1
        biases = [[None, None, last, 0, 1.5], [0, 1, last, 1, -2.25], [1, None, last - 1, 0, 0.75], [1, 0, last, 0, -3.0]]
        # A narrower scope takes the place of a wider one: PyTorch's side adds what is left.
        added = biases[:3] + [[1, 0, last, 0, -3.0 - 1.5]]
        documents = [] if kind == "cross" else [2]
        painted = {"layer": 1, "head": 1, "weights": [[last, keys - 1, 0.25], [last, 0, 1.0], [last - 1, min(1, keys - 1), 0.5]]}
        for parts in (("biases",), ("documents",), ("painted",), ("biases", "documents", "painted")):
            if parts == ("documents",) and not documents:
                continue
            case = {
                "kind": kind,
                "biases": biases if "biases" in parts else [],
                "documents": documents if "documents" in parts else [],
                "painted": painted if "painted" in parts else None,
            }
            logits, maps = run(model, inputs, calls, {**case, "biases": added if "biases" in parts else []})
            assert (logits - plain).abs().max() > 1e-6, (name, kind, parts)
            cases.append({**case, "logits": logits.tolist(), "weights": maps[kind][:2].tolist()})
    return {"ids": ids[0].tolist(), "target_ids": target, "cases": cases}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


result = {name: rounded(make(name)) for name in ("gpt2", "bert", "llama", "marian")}
text = json.dumps(result, separators=(",", ":")).replace('},{"kind', '},\n{"kind')
(GOLDEN / "painted.json").write_text(text + "\n")
