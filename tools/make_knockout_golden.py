#!/usr/bin/env python3
"""Makes tests/golden/knockouts.json: what four small models predict when each head is knocked out, or averaged over the text
or over another one.

Runs the models of tests/golden/models in transformers, in float64, with a hook before every attention's output projection that
sets the columns of one head to 0, to their mean over the tokens, or to their mean over the tokens of the text backwards. Needs the
packages torch, transformers and safetensors.
"""

import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
KINDS = ("encoder", "decoder", "cross")


def projections(name, model):
    """(kind, layer, output projection) of every attention."""
    if name == "gpt2":
        return [("encoder", i, block.attn.c_proj) for i, block in enumerate(model.transformer.h)]
    if name == "llama":
        return [("encoder", i, layer.self_attn.o_proj) for i, layer in enumerate(model.model.layers)]
    if name == "bert":
        return [("encoder", i, layer.attention.output.dense) for i, layer in enumerate(model.bert.encoder.layer)]
    found = [("encoder", i, layer.self_attn.out_proj) for i, layer in enumerate(model.model.encoder.layers)]
    for i, layer in enumerate(model.model.decoder.layers):
        found += [("decoder", i, layer.self_attn.out_proj), ("cross", i, layer.encoder_attn.out_proj)]
    return found


def load(name):
    folder = GOLDEN / "models" / name
    loader = {
        "gpt2": transformers.GPT2LMHeadModel,
        "llama": transformers.LlamaForCausalLM,
        "bert": transformers.BertForMaskedLM,
        "marian": transformers.MarianMTModel,
    }[name]
    return loader.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()


def ablate(module, heads, head, ablation, frozen):
    def replace(_, inputs):
        values = inputs[0].clone()
        width = values.shape[-1] // heads
        columns = slice(head * width, (head + 1) * width)
        mean_of = {"zero": None, "mean": values, "frozen-mean": frozen}[ablation]
        values[..., columns] = 0.0 if mean_of is None else mean_of[..., columns].mean(dim=1, keepdim=True)
        return (values,)

    return module.register_forward_pre_hook(replace)


def head_outputs(name, model, inputs):
    """What enters every output projection, in the order of projections()."""
    outputs = []
    hooks = [
        module.register_forward_pre_hook(lambda _, given: outputs.append(given[0].clone()))
        for _, _, module in projections(name, model)
    ]
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return outputs


def measure(name, model, inputs, predicted, position, token=None, other=None):
    with torch.no_grad():
        logits = model(**inputs).logits[0]
    if token is None:
        token, other = logits[position].topk(2).indices.tolist()
    probabilities = logits.log_softmax(-1)
    result = [(logits[position, token] - logits[position, other]).item(), probabilities[position, token].exp().item()]
    if name != "bert":
        following = torch.tensor(predicted[1:])
        result.append(-probabilities[:-1].gather(1, following[:, None]).mean().item())
    return token, other, result


def make(name):
    model = load(name)
    reference = load_file(GOLDEN / "models" / name / "reference.safetensors")
    ids = reference["case1.ids"][0].tolist()
    inputs = {"input_ids": torch.tensor([ids])}
    frozen_inputs = {"input_ids": torch.tensor([ids[::-1]])}
    predicted = ids
    if name == "marian":
        predicted = reference["case1.target_ids"][0].tolist()
        inputs["decoder_input_ids"] = torch.tensor([predicted])
        frozen_inputs["decoder_input_ids"] = torch.tensor([predicted[::-1]])
    position = 3 if name == "bert" else len(predicted) - 1
    token, other, present = measure(name, model, inputs, predicted, position)
    heads = getattr(model.config, "num_attention_heads", None) or model.config.encoder_attention_heads
    without = []
    # An encoder's projections run first, then a decoder's layer by layer, as they are listed.
    frozen = head_outputs(name, model, frozen_inputs)
    for (kind, layer, module), of_frozen in zip(projections(name, model), frozen, strict=True):
        for head in range(heads):
            row = [KINDS.index(kind), layer, head]
            for ablation in ("zero", "mean", "frozen-mean"):
                hook = ablate(module, heads, head, ablation, of_frozen)
                row += measure(name, model, inputs, predicted, position, token, other)[2]
                hook.remove()
            without.append(row)
    rounded = lambda row: [value if isinstance(value, int) else float(f"{value:.12g}") for value in row]
    return {
        "ids": ids,
        "target_ids": predicted if name == "marian" else [],
        "frozen_ids": ids[::-1],
        "frozen_target_ids": predicted[::-1] if name == "marian" else [],
        "position": position,
        "token": token,
        "other": other,
        "present": rounded(present),
        "without": [rounded(row) for row in without],
    }


result = {name: make(name) for name in ("gpt2", "bert", "llama", "marian")}
text = json.dumps(result, separators=(",", ":")).replace("],[", "],\n[").replace("},", "},\n")
(GOLDEN / "knockouts.json").write_text(text + "\n")
