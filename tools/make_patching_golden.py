#!/usr/bin/env python3
"""Makes tests/golden/patching.json: what four small models predict when activations of another text are put into theirs.

Runs the models of tests/golden/models in transformers, in float64. A first pass keeps the other text's activations by hooks: the
input of each layer, what each output projection and feed-forward network returns, and the heads' outputs before the projection.
Then one pass a cell with a hook that replaces them, at one token (or, of a head, at all tokens). Queries, keys (both after rotary
positions), values and weights are replaced inside the attention function, which is written out here. Needs the packages torch,
transformers and safetensors.
"""

import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"


def sites(name, model):
    """(kind, map) -> modules by layer: of "residual" the layer, of the others the linear layer or network at its end."""
    if name == "gpt2":
        layers = list(model.transformer.h)
        return {
            ("encoder", "residual"): layers,
            ("encoder", "attention"): [layer.attn.c_proj for layer in layers],
            ("encoder", "feed-forward"): [layer.mlp for layer in layers],
        }
    if name == "llama":
        layers = list(model.model.layers)
        return {
            ("encoder", "residual"): layers,
            ("encoder", "attention"): [layer.self_attn.o_proj for layer in layers],
            ("encoder", "feed-forward"): [layer.mlp for layer in layers],
        }
    if name == "bert":
        layers = list(model.bert.encoder.layer)
        return {
            ("encoder", "residual"): layers,
            ("encoder", "attention"): [layer.attention.output.dense for layer in layers],
            ("encoder", "feed-forward"): [layer.output.dense for layer in layers],
        }
    encoder, decoder = list(model.model.encoder.layers), list(model.model.decoder.layers)
    return {
        ("encoder", "residual"): encoder,
        ("encoder", "attention"): [layer.self_attn.out_proj for layer in encoder],
        ("encoder", "feed-forward"): [layer.fc2 for layer in encoder],
        ("decoder", "residual"): decoder,
        ("decoder", "attention"): [layer.self_attn.out_proj for layer in decoder],
        ("cross", "attention"): [layer.encoder_attn.out_proj for layer in decoder],
        ("cross", "feed-forward"): [layer.fc2 for layer in decoder],
    }


class Attention:
    """The attention function of all modules: keeps q, k, v and the weights, and puts others in their place."""

    def __init__(self):
        self.kept, self.change = {}, None

    def __call__(self, module, query, key, value, mask, scaling=None, dropout=0.0, **_):
        parts = {"queries": query, "keys": key, "values": value}
        if self.change and self.change[0] is module:
            parts = self.change[1](parts)
        groups = query.shape[1] // key.shape[1]
        keys, values = (parts[part].repeat_interleave(groups, dim=1) for part in ("keys", "values"))
        scores = parts["queries"] @ keys.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
        if mask is not None:
            scores = scores + mask[:, :, :, : scores.shape[-1]]
        elif getattr(module, "is_causal", False) and query.shape[2] > 1:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
        parts["pattern"] = scores.softmax(-1)
        if self.change and self.change[0] is module:
            parts = self.change[1](parts)
        self.kept[module] = parts
        return (parts["pattern"] @ values).transpose(1, 2).contiguous(), parts["pattern"]


ATTENTION = Attention()
transformers.AttentionInterface.register("written_out", ATTENTION)
transformers.AttentionMaskInterface.register("written_out", transformers.masking_utils.eager_mask)


def attention_modules(name, model):
    """Kind -> modules that call the attention function, by layer."""
    if name == "gpt2":
        return {"encoder": [layer.attn for layer in model.transformer.h]}
    if name == "llama":
        return {"encoder": [layer.self_attn for layer in model.model.layers]}
    if name == "bert":
        return {"encoder": [layer.attention.self for layer in model.bert.encoder.layer]}
    decoder = list(model.model.decoder.layers)
    return {
        "encoder": [layer.self_attn for layer in model.model.encoder.layers],
        "decoder": [layer.self_attn for layer in decoder],
        "cross": [layer.encoder_attn for layer in decoder],
    }


def parts_of_heads(name, model, measure, here, there, heads):
    """Maps of queries, keys, values and patterns of each head, and of the single weights of the last layer's head 1."""
    measure(there)
    other = dict(ATTENTION.kept)
    maps = []
    for kind, modules in attention_modules(name, model).items():
        for what in ("queries", "keys", "values", "pattern"):
            rows = []
            for module in modules:
                row = []
                for head in range(heads):
                    shared = heads // other[module][what].shape[1]

                    def put(parts):
                        if what not in parts:
                            return parts
                        changed = parts[what].clone()
                        changed[:, head // shared] = other[module][what][:, head // shared]
                        return {**parts, what: changed}

                    ATTENTION.change = (module, put)
                    row.append(measure(here))
                rows.append(row)
            maps.append({"kind": kind, "map": what, "cells": rows})
        module, cells = modules[-1], []
        for query in range(other[module]["pattern"].shape[2]):
            cells.append([])
            for key in range(other[module]["pattern"].shape[3]):

                def put_weight(parts):
                    if "pattern" not in parts:
                        return parts
                    changed = parts["pattern"].clone()
                    changed[:, 1, query, key] = other[module]["pattern"][:, 1, query, key]
                    return {**parts, "pattern": changed}

                ATTENTION.change = (module, put_weight)
                cells[-1].append(measure(here))
        maps.append({"kind": kind, "map": "weights", "cells": cells})
    ATTENTION.change = None
    return maps


def load(name):
    loader = {
        "gpt2": transformers.GPT2LMHeadModel,
        "llama": transformers.LlamaForCausalLM,
        "bert": transformers.BertForMaskedLM,
        "marian": transformers.MarianMTModel,
    }[name]
    folder = GOLDEN / "models" / name
    return loader.from_pretrained(folder, attn_implementation="written_out").double().eval()


def with_input(module, change):
    """Calls change(input) before the module, which may return another input."""

    def hook(_, inputs, named):
        if inputs:
            changed = change(inputs[0])
            return None if changed is None else ((changed, *inputs[1:]), named)
        changed = change(named["hidden_states"])
        return None if changed is None else (inputs, {**named, "hidden_states": changed})

    return module.register_forward_pre_hook(hook, with_kwargs=True)


def with_output(module, change):
    return module.register_forward_hook(lambda _module, _inputs, output: change(output))


def numbers(model, inputs, position, token, other):
    with torch.no_grad():
        logits = model(**inputs).logits[0, position]
    return [(logits[token] - logits[other]).item(), logits.log_softmax(-1)[token].exp().item()]


def inputs_of(ids, target):
    inputs = {"input_ids": torch.tensor([ids])}
    if target:
        inputs["decoder_input_ids"] = torch.tensor([target])
    return inputs


def changed(ids, places):
    return [5 if i in places and value != 5 else 6 if i in places else value for i, value in enumerate(ids)]


def make(name):
    model = load(name)
    reference = load_file(GOLDEN / "models" / name / "reference.safetensors")
    ids = reference["case1.ids"][0].tolist()
    target = reference["case1.target_ids"][0].tolist() if name == "marian" else []
    other_ids, other_target = changed(ids, (1, len(ids) // 2)), changed(target, (1,))
    position = 3 if name == "bert" else len(target or ids) - 1
    here, there = inputs_of(ids, target), inputs_of(other_ids, other_target)
    with torch.no_grad():
        token, other = model(**there).logits[0, position].topk(2).indices.tolist()
    measure = lambda inputs: numbers(model, inputs, position, token, other)
    heads = getattr(model.config, "num_attention_heads", None) or model.config.encoder_attention_heads
    maps = []
    for (kind, what), modules in sites(name, model).items():
        length = len(target if kind != "encoder" else ids)
        hook_at = with_input if what == "residual" else with_output
        rows, head_rows = [], []
        for module in modules:
            kept = []
            hook = hook_at(module, lambda values: kept.append(values.clone()))
            measure(there)
            hook.remove()
            row = []
            for at in range(length):

                def put(values):
                    values = values.clone()
                    values[0, at] = kept[0][0, at]
                    return values

                hook = hook_at(module, put)
                row.append(measure(here))
                hook.remove()
            rows.append(row)
            if what != "attention":
                continue
            kept_heads = []
            hook = with_input(module, lambda values: kept_heads.append(values.clone()))
            measure(there)
            hook.remove()
            row = []
            width = kept_heads[0].shape[-1] // heads
            for head in range(heads):
                columns = slice(head * width, (head + 1) * width)

                def put_head(values):
                    values = values.clone()
                    values[..., columns] = kept_heads[0][..., columns]
                    return values

                hook = with_input(module, put_head)
                row.append(measure(here))
                hook.remove()
            head_rows.append(row)
        maps.append({"kind": kind, "map": what, "cells": rows})
        if head_rows:
            maps.append({"kind": kind, "map": "heads", "cells": head_rows})
    maps += parts_of_heads(name, model, measure, here, there, heads)
    return {
        "ids": ids,
        "target_ids": target,
        "other_ids": other_ids,
        "other_target_ids": other_target,
        "position": position,
        "token": token,
        "other": other,
        "present": measure(here),
        "frozen": measure(there),
        "maps": maps,
    }


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


if __name__ == "__main__":
    result = {name: rounded(make(name)) for name in ("gpt2", "bert", "llama", "marian")}
    text = json.dumps(result, separators=(",", ":")).replace("]],[[", "]],\n[[").replace("},", "},\n")
    (GOLDEN / "patching.json").write_text(text + "\n")
