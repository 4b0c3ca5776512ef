#!/usr/bin/env python3
"""Makes tests/golden/steering.json: what four small models compute when a steering vector is added to the residual stream, and
when a head gives the mean of what it gives in another text.

Runs the models of tests/golden/models in transformers, in float64. The vector is the input of a layer in a run of another text less
that of the present one, the mean over the tokens or that of the last token, and is added to every token's input of that layer by a
hook. The mean takes the place of the head's columns before the output projection. Needs the packages torch, transformers and
safetensors.
"""

import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
LAYER = 1
HEAD = 2
STRENGTH = 1.5
torch.set_default_dtype(torch.float64)


def load(name):
    loader = {
        "gpt2": transformers.GPT2LMHeadModel,
        "llama": transformers.LlamaForCausalLM,
        "bert": transformers.BertForMaskedLM,
        "marian": transformers.MarianMTModel,
    }[name]
    return loader.from_pretrained(GOLDEN / "models" / name, attn_implementation="eager").double().eval()


def layers_of(name, model):
    if name == "gpt2":
        return {"encoder": model.transformer.h}
    if name == "llama":
        return {"encoder": model.model.layers}
    if name == "bert":
        return {"encoder": model.bert.encoder.layer}
    return {"encoder": model.model.encoder.layers, "decoder": model.model.decoder.layers}


def run(model, inputs, layer, change):
    """The logits of the last token where change(states) replaces the layer's input."""

    def hook(_, positional, named):
        if positional:
            return (change(positional[0]), *positional[1:]), named
        return positional, {**named, "hidden_states": change(named["hidden_states"])}

    handle = layer.register_forward_pre_hook(hook, with_kwargs=True) if WITH_KWARGS else wrap(layer, change)
    try:
        with torch.no_grad():
            return model(**inputs).logits[0, -1]
    finally:
        handle.remove()


WITH_KWARGS = "with_kwargs" in (
    torch.nn.Module.register_forward_pre_hook.__code__.co_varnames
)


class wrap:
    """A hook on a layer's forward, for versions of PyTorch whose hooks don't see named arguments."""

    def __init__(self, layer, change):
        self.layer, forward = layer, layer.forward

        def changed(*positional, **named):
            if positional:
                return forward(change(positional[0]), *positional[1:], **named)
            return forward(**{**named, "hidden_states": change(named["hidden_states"])})

        layer.forward = changed

    def remove(self):
        del self.layer.forward


def states(model, inputs, layer):
    kept = []

    def keep(values):
        kept.append(values.clone())
        return values

    run(model, inputs, layer, keep)
    return kept[0][0]


def projections_of(name, model):
    """The output projection of every kind of attention in LAYER."""
    if name == "gpt2":
        return {"encoder": model.transformer.h[LAYER].attn.c_proj}
    if name == "llama":
        return {"encoder": model.model.layers[LAYER].self_attn.o_proj}
    if name == "bert":
        return {"encoder": model.bert.encoder.layer[LAYER].attention.output.dense}
    decoder = model.model.decoder.layers[LAYER]
    return {
        "encoder": model.model.encoder.layers[LAYER].self_attn.out_proj,
        "decoder": decoder.self_attn.out_proj,
        "cross": decoder.encoder_attn.out_proj,
    }


def run_with_mean(model, here, there, projection, heads):
    """The logits of the last token where the head gives, at every token, the mean of what it gives in the other text."""
    kept = []

    def replace(_, inputs):
        values = inputs[0].clone()
        width = values.shape[-1] // heads
        columns = values[..., HEAD * width : (HEAD + 1) * width]
        if not kept:
            kept.append(columns.mean(dim=1, keepdim=True))
        else:
            columns[:] = kept[0]
        return (values,)

    handle = projection.register_forward_pre_hook(replace)
    try:
        with torch.no_grad():
            model(**there)
            return model(**here).logits[0, -1]
    finally:
        handle.remove()


def make(name):
    model = load(name)
    reference = load_file(GOLDEN / "models" / name / "reference.safetensors")
    ids = reference["case1.ids"][0].tolist()
    target = reference["case1.target_ids"][0].tolist() if name == "marian" else []
    changed = lambda tokens: [5 if i in (1, len(tokens) // 2) and value != 5 else value for i, value in enumerate(tokens)]
    inputs_of = lambda ids, target: {
        "input_ids": torch.tensor([ids]),
        "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
        **({"decoder_input_ids": torch.tensor([target])} if target else {}),
    }
    here, there = inputs_of(ids, target), inputs_of(changed(ids), changed(target))
    cases = []
    for kind, layers in layers_of(name, model).items():
        now, other = states(model, here, layers[LAYER]), states(model, there, layers[LAYER])
        for pooling in ("mean", "last"):
            vector = other.mean(0) - now.mean(0) if pooling == "mean" else other[-1] - now[-1]
            logits = run(model, here, layers[LAYER], lambda values: values + STRENGTH * vector)
            cases.append({"kind": kind, "pooling": pooling, "vector": vector.tolist(), "logits": logits.tolist()})
    heads = getattr(model.config, "num_attention_heads", None) or model.config.encoder_attention_heads
    means = [
        {"kind": kind, "logits": run_with_mean(model, here, there, projection, heads).tolist()}
        for kind, projection in projections_of(name, model).items()
    ]
    others = {"other_ids": changed(ids), "other_target_ids": changed(target)}
    return {"ids": ids, "target_ids": target, **others, "cases": cases, "means": means}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


models = {name: rounded(make(name)) for name in ("gpt2", "bert", "llama", "marian")}
result = {"layer": LAYER, "head": HEAD, "strength": STRENGTH, "models": models}
text = json.dumps(result, separators=(",", ":")).replace("},{", "},\n{")
(GOLDEN / "steering.json").write_text(text + "\n")
