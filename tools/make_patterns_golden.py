#!/usr/bin/env python3
"""Makes tests/golden/patterns.json: what four small models compute when heads attend by fixed patterns.

Runs the models of tests/golden/models in transformers, in float64, with a softmax that gives one head of one attention the weights
of a pattern instead: the keys of the pattern that the mask shows, all alike. A case is a head and a pattern; it keeps the logits of
the last token and the map of head 1 in the last attention of that kind. Needs the packages torch, transformers and safetensors.
"""

import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
PATTERNS = ("uniform", "diagonal", "previous", "first")
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


def weights_of(pattern, visible):
    queries, keys = visible.shape[-2:]
    shown = torch.zeros(queries, keys)
    for query in range(queries):
        at = {"diagonal": query, "previous": max(query - 1, 0), "first": 0}.get(pattern)
        if at is None:
            shown[query] = 1
        else:
            shown[query, min(at, keys - 1)] = 1
    shown = shown.double() * visible
    total = shown.sum(-1, keepdim=True)
    return torch.where(total > 0, shown / total.clamp(min=1), torch.zeros(()).double())


def run(model, inputs, calls, replaced):
    """`calls`: (kind, layer) of each softmax in its order; `replaced`: (kind, layer, head) -> pattern."""
    maps, order = {}, iter(calls)

    def attend(scores, *_, **__):
        kind, layer = next(order)
        weights = softmax(scores.double(), dim=-1)
        heads = weights.view(-1, *weights.shape[-2:])  # of the only batch item; some versions of Marian have no axis of items
        for (of_kind, of_layer, head), pattern in replaced.items():
            if (of_kind, of_layer) == (kind, layer):
                heads[head] = weights_of(pattern, heads[head] > 0)
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
    layers = config.num_hidden_layers
    calls = [("encoder", layer) for layer in range(layers)]
    if name == "marian":
        inputs["decoder_input_ids"] = reference["case1.target_ids"][:1]
        target = inputs["decoder_input_ids"][0].tolist()
        calls = [("encoder", layer) for layer in range(config.encoder_layers)]
        for layer in range(config.decoder_layers):
            calls += [("decoder", layer), ("cross", layer)]
    inputs["attention_mask"] = torch.ones_like(ids)
    plain = run(model, inputs, calls, {})[0]
    cases = []
    for kind in dict.fromkeys(kind for kind, _ in calls):
        for number, pattern in enumerate(PATTERNS):
            replaced = {(kind, number % 2, number % 2): pattern}
            if number == 3:
                replaced[(kind, 0, 0)] = "uniform"
            logits, maps = run(model, inputs, calls, replaced)
            assert (logits - plain).abs().max() > 1e-6, (name, kind, pattern)
            cases.append(
                {
                    "heads": [
                        {"kind": of, "layer": layer, "head": head, "pattern": what}
                        for (of, layer, head), what in replaced.items()
                    ],
                    "kind": kind,
                    "logits": logits.tolist(),
                    "weights": maps[kind][1].tolist(),
                }
            )
    return {"ids": ids[0].tolist(), "target_ids": target, "cases": cases}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


result = {name: rounded(make(name)) for name in ("gpt2", "bert", "llama", "marian")}
text = json.dumps(result, separators=(",", ":")).replace('},{"heads', '},\n{"heads')
(GOLDEN / "patterns.json").write_text(text + "\n")
