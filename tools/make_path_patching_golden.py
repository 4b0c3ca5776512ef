#!/usr/bin/env python3
"""Makes tests/golden/path_patching.json: what five models predict when one head's output of another text reaches one input of
another head, and nothing else (path patching: Wang et al. 2022; Goldowsky-Dill et al. 2023).

Runs captions-gpt2 and the small models of tests/golden/models in transformers, in float64, with hooks. For each sender two passes
of the present text: in the first the sender's output is the other text's, all other heads of the layers between give what they gave
before, and so do the MLPs ("frozen") or not ("recomputed"); what the receiver's projection returns is kept. In the second the
receiver's projection returns that, and nothing else is changed. Needs the packages torch, transformers and safetensors.
"""

import contextlib
import json
import pathlib

import torch
import transformers
from make_patching_golden import GOLDEN, changed, inputs_of, load, numbers, rounded, with_output
from safetensors.torch import load_file

CAPTIONS = GOLDEN.parent.parent / "assets/models/captions-gpt2"
CAPTION_IDS = [3, 17, 250, 41, 99, 1030, 12, 17, 250, 41, 602]


def blocks_of(name, model):
    """Stack -> [(kind, layer, attention's last linear layer, feed-forward network or None)] in the order of computation."""
    if "gpt2" in name:
        return {"encoder": [("encoder", i, one.attn.c_proj, one.mlp) for i, one in enumerate(model.transformer.h)]}
    if name == "llama":
        return {"encoder": [("encoder", i, one.self_attn.o_proj, one.mlp) for i, one in enumerate(model.model.layers)]}
    if name == "bert":
        layers = enumerate(model.bert.encoder.layer)
        return {"encoder": [("encoder", i, one.attention.output.dense, one.output.dense) for i, one in layers]}
    decoder = []
    for i, one in enumerate(model.model.decoder.layers):
        decoder += [("decoder", i, one.self_attn.out_proj, None), ("cross", i, one.encoder_attn.out_proj, one.fc2)]
    encoder = [("encoder", i, one.self_attn.out_proj, one.fc2) for i, one in enumerate(model.model.encoder.layers)]
    return {"encoder": encoder, "decoder": decoder}


def projection(name, model, kind, layer, head, end):
    """The module that computes the receiver's queries, keys or values, and the head's columns of what it returns."""
    config = model.config
    if "gpt2" in name:
        width = config.n_embd // config.n_head
        first = "qkv".index(end[0]) * config.n_embd + head * width
        return model.transformer.h[layer].attn.c_attn, slice(first, first + width)
    if name == "llama":
        width = config.hidden_size // config.num_attention_heads
        group = config.num_attention_heads // config.num_key_value_heads
        at = head if end == "query" else head // group
        return getattr(model.model.layers[layer].self_attn, end[0] + "_proj"), slice(at * width, (at + 1) * width)
    if name == "bert":
        width = config.hidden_size // config.num_attention_heads
        return getattr(model.bert.encoder.layer[layer].attention.self, end), slice(head * width, (head + 1) * width)
    side = model.model.encoder if kind == "encoder" else model.model.decoder
    attention = side.layers[layer].encoder_attn if kind == "cross" else side.layers[layer].self_attn
    width = config.d_model // config.encoder_attention_heads
    return getattr(attention, end[0] + "_proj"), slice(head * width, (head + 1) * width)


def load_named(name):
    if name != "captions-gpt2":
        return load(name)
    return transformers.GPT2LMHeadModel.from_pretrained(CAPTIONS, attn_implementation="eager").double().eval()


def with_input(module, change):
    """Calls change(input) before the linear layer, which may return another input."""

    def hook(_, inputs):
        values = change(inputs[0])
        return None if values is None else (values,)

    return module.register_forward_pre_hook(hook)


def kept(module, hook_at, run):
    """What the hook sees while `run` is called."""
    values = []
    handle = hook_at(module, lambda value: values.append(value.clone()))
    run()
    handle.remove()
    return values[0]


class Paths:
    """Two texts of one model."""

    def __init__(self, name, here, there, measure):
        self.name, self.model = name, load_named(name)
        self.here, self.there = here, there
        self.numbers = lambda inputs: measure(self.model, inputs)
        self.blocks = blocks_of(name, self.model)
        config = self.model.config
        self.heads = getattr(config, "num_attention_heads", None) or config.encoder_attention_heads

    def chain(self, senders, receiver):
        """The blocks that a path leads through, from the stack's first to the last before the receiver."""
        kind, layer, _, end = receiver
        if kind == "cross" and end != "query":
            return self.blocks["encoder"]
        stack = self.blocks["encoder" if kind == "encoder" else "decoder"]
        return stack[: next(i for i, block in enumerate(stack) if block[:2] == (kind, layer))]

    def cell(self, chain, at, head, receiver, recomputes, token):
        output = chain[at][2]
        width = kept(output, with_input, lambda: self.numbers(self.here)).shape[-1] // self.heads
        columns = slice(head * width, (head + 1) * width)
        theirs = kept(output, with_input, lambda: self.numbers(self.there))
        rows = slice(None) if token is None else slice(token, token + 1)

        def put_sender(values):
            values = values.clone()
            values[:, rows, columns] = theirs[:, rows, columns]
            return values

        frozen = [block[2] for block in chain[at + 1 :]]
        if not recomputes:
            frozen += [block[3] for block in chain[at:] if block[3] is not None]
        before = [(module, kept(module, with_output, lambda: self.numbers(self.here))) for module in frozen]
        module, place = projection(self.name, self.model, *receiver)
        with contextlib.ExitStack() as hooks:
            handles = [with_input(output, put_sender)]
            handles += [with_output(one, lambda _, values=values: values) for one, values in before]
            for handle in handles:
                hooks.callback(handle.remove)
            received = kept(module, with_output, lambda: self.numbers(self.here))

        def put_receiver(values):
            values = values.clone()
            values[..., place] = received[..., place]
            return values

        handle = with_output(module, put_receiver)
        result = self.numbers(self.here)
        handle.remove()
        return result

    def map(self, senders, receiver, recomputes, token=None):
        chain = self.chain(senders, receiver)
        rows = [at for at, block in enumerate(chain) if block[0] == senders]
        kind, layer, head, end = receiver
        return {
            "kind": senders,
            "receiver": {"kind": kind, "layer": layer, "head": head, "input": end},
            "mlps": "recomputed" if recomputes else "frozen",
            "token": token,
            "cells": [[self.cell(chain, at, one, receiver, recomputes, token) for one in range(self.heads)] for at in rows],
        }


def make(name, questions):
    target = []
    if name == "captions-gpt2":
        ids = CAPTION_IDS
    else:
        reference = load_file(GOLDEN / "models" / name / "reference.safetensors")
        ids = reference["case1.ids"][0].tolist()
        target = reference["case1.target_ids"][0].tolist() if name == "marian" else []
    other_ids, other_target = changed(ids, (1, len(ids) // 2)), changed(target, (1,))
    position = 3 if name == "bert" else len(target or ids) - 1
    here, there = inputs_of(ids, target), inputs_of(other_ids, other_target)
    with torch.no_grad():
        token, other = load_named(name)(**there).logits[0, position].topk(2).indices.tolist()
    paths = Paths(name, here, there, lambda model, inputs: numbers(model, inputs, position, token, other))
    return {
        "ids": ids,
        "target_ids": target,
        "other_ids": other_ids,
        "other_target_ids": other_target,
        "position": position,
        "token": token,
        "other": other,
        "present": paths.numbers(here),
        "frozen": paths.numbers(there),
        "maps": [paths.map(*question) for question in questions],
    }


ENDS = ("query", "key", "value")
ONE_STACK = [("encoder", ("encoder", 1, 1, end), recomputes) for end in ENDS for recomputes in (False, True)]
QUESTIONS = {
    "captions-gpt2": [("encoder", ("encoder", layer, 5, end), recomputes) for layer, end, recomputes in
                      ((3, "query", False), (3, "key", False), (3, "value", True), (2, "query", True), (2, "key", False))],
    "gpt2": [*ONE_STACK, ("encoder", ("encoder", 1, 2, "query"), False, 1)],
    "bert": ONE_STACK,
    "llama": [*ONE_STACK, ("encoder", ("encoder", 1, 3, "key"), False, 1)],
    "marian": [
        ("encoder", ("encoder", 1, 0, "value"), False),
        ("encoder", ("cross", 1, 1, "key"), False),
        ("encoder", ("cross", 0, 1, "value"), True),
        ("decoder", ("decoder", 1, 1, "query"), False),
        ("cross", ("decoder", 1, 0, "key"), False),
        ("decoder", ("cross", 1, 1, "query"), False),
        ("decoder", ("cross", 1, 0, "query"), True),
        ("cross", ("cross", 1, 1, "query"), True),
    ],
}  # fmt: skip

if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)  # of the masks as well
    result = {name: rounded(make(name, questions)) for name, questions in QUESTIONS.items()}
    text = json.dumps(result, separators=(",", ":")).replace("]],[[", "]],\n[[").replace("},", "},\n")
    (GOLDEN / "path_patching.json").write_text(text + "\n")
