"""Runs the cases in float64 and in float32 and keeps the float64 results, rounded to float32."""

import json
import math
import re

import torch
from safetensors.torch import save_file

from . import cases as case_list
from . import exact


def results(model, case, kind):
    """{name: tensor}; attentions [layer, batch, head, query, key], hidden [layer + 1, batch, token, d], logits."""
    last = []
    project = getattr(getattr(model.base_model, "decoder", None), "project_out", None)
    hook = project.register_forward_pre_hook(lambda module, inputs: last.append(inputs[0])) if project else None
    with torch.no_grad():
        out = model(**case_list.arguments(case, kind), output_attentions=True, output_hidden_states=True)
    if hook:
        hook.remove()
    found = {}
    if kind == "encoder-decoder":
        for name, values in (("encoder_attentions", out.encoder_attentions), ("decoder_attentions", out.decoder_attentions),
                             ("cross_attentions", out.cross_attentions), ("encoder_hidden", out.encoder_hidden_states),
                             ("decoder_hidden", out.decoder_hidden_states)):
            is_banded = name == "encoder_attentions" and values[0].shape[-1] != case["ids"].shape[1]
            found[name] = torch.stack([from_band(map, case) for map in values] if is_banded else values)
    else:
        found["attentions"] = torch.stack(out.attentions)
        if last:  # an OPT with word_embed_proj_dim: transformers' last state has another width
            found["hidden"] = torch.stack([*out.hidden_states[:-1], last[0]])
            found["projected"] = out.hidden_states[-1]
        else:
            found["hidden"] = torch.stack(out.hidden_states)
    if getattr(out, "logits", None) is not None:
        found["logits"] = out.logits
    return {name: value.clone() for name, value in found.items()}


def from_band(weights, case):
    """LED's weights [batch, head, query, 2 · window + 1], of neighbours, as [batch, head, query, key]."""
    length, window = case["ids"].shape[1], weights.shape[-1] // 2
    whole = torch.zeros((*weights.shape[:2], length, length), dtype=weights.dtype)
    for query in range(length):
        for key in range(max(0, query - window), min(length, query + window + 1)):
            whole[:, :, query, key] = weights[:, :, query, key - query + window]
    return whole


def blank_padding(found, case, kind):
    """Zeroes the rows of padded queries, which are meaningless."""
    source = case["mask"].bool()
    target = case["target_mask"].bool() if kind == "encoder-decoder" else source
    for name, value in found.items():
        mask = source if name.startswith("encoder") else target
        if name.endswith("attentions"):
            value *= mask[None, :, None, :, None]
        elif name.endswith("hidden"):
            value *= mask[None, :, :, None]
        else:
            value *= mask[:, :, None]


def entropy_shares(weights):
    """Per layer: mean over rows with two keys or more of entropy / ln(visible keys)."""
    shares = []
    for layer in weights:
        visible = (layer > 0).sum(-1)
        entropy = -(layer * layer.clamp(min=1e-300).log()).sum(-1)
        rows = visible > 1
        shares.append((entropy[rows] / visible[rows].double().log()).mean().item())
    return shares


def differences(single, double):
    """Largest |float32 − float64|; for hidden states and logits divided by the root mean square."""
    worst = {"attentions": 0.0, "hidden": 0.0, "logits": 0.0}
    for name, value in double.items():
        kind = "attentions" if name.endswith("attentions") else "logits" if name == "logits" else "hidden"
        error = (single[name].double() - value).abs().max().item()
        if kind != "attentions":
            error /= value[value != 0].square().mean().sqrt().item()
        worst[kind] = max(worst[kind], error)
    return worst


def last_hidden(model, case, kind, found):
    """Whether the last hidden state equals the stack's output ("normed" or "raw")."""
    base = model.base_model if model.base_model is not model else model
    seen = {}
    names = ("norm", "ln", "ln_f", "norm_f", "final_norm", "final_layer_norm", "final_layernorm", "layer_norm", "LayerNorm",
             "emb_layer_norm_after")
    stacks = {"": base}
    if kind == "encoder-decoder":
        stacks = {"encoder": base.encoder if hasattr(base, "encoder") else model.encoder,
                  "decoder": base.decoder if hasattr(base, "decoder") else model.decoder}
    said = []
    for side, stack in stacks.items():
        norms = [module for path, module in stack.named_modules() if path.split(".")[-1] in names
                 and "embedding" not in path and not re.search(r"\.\d+\.", path)]
        if not norms:
            said.append("no final norm")
            continue
        hook = norms[-1].register_forward_hook(lambda m, a, o: seen.__setitem__("in", a[0]) or seen.__setitem__("out", o))
        with torch.no_grad():
            model(**case_list.arguments(case, kind))
        hook.remove()
        last = found[(side + "_" if side else "") + "hidden"][-1]
        if seen["out"].shape != last.shape:  # DeBERTa's of its distances
            said.append("no final norm")
        elif torch.allclose(last, seen["out"]):
            said.append("after the final norm")
        elif torch.allclose(last, seen["in"]):
            said.append("before the final norm")
        else:
            said.append("neither input nor output of the final norm")
    return " / ".join(dict.fromkeys(said))


def write(path, model, twin, cases, kind, note=None):
    """Writes reference.safetensors from `twin` (float64); `model` (float32) gives float32's deviation. → numbers"""
    tensors, numbers = {}, {"attentions": 0.0, "hidden": 0.0, "logits": 0.0}
    shares, largest, leaks, bound = [], 0.0, set(), 0.0
    for case_name, case in cases.items():
        with exact.double_precision():
            with exact.SingleWatch() as watch:
                double = results(twin, case, kind)
            if "last_hidden" not in numbers:
                numbers["last_hidden"] = last_hidden(twin, case, kind, double)
        leaks |= watch.found
        single = results(model, case, kind)
        blank_padding(double, case, kind)
        blank_padding(single, case, kind)
        for name, value in differences(single, double).items():
            numbers[name] = max(numbers[name], value)
        for name, value in double.items():
            assert value.dtype == torch.float64, name
            if name.endswith("attentions"):
                shares += entropy_shares(value)
                assert set(value.sum(-1).round(decimals=9).unique().tolist()) <= {0.0, 1.0}, name
            elif "hidden" in name:
                largest = max(largest, value.abs().max().item())
            elif name == "logits":
                bound = max(bound, value.abs().max().item())
            tensors[f"{case_name}.{name}"] = value.to(torch.float32).contiguous()
        for name, value in case.items():
            tensors[f"{case_name}.{name}"] = value.to(torch.int32).contiguous()
    numbers |= {"entropy": [min(shares), max(shares), sum(shares) / len(shares)], "largest_hidden": largest,
                "largest_logit": bound, "float32_operations": sorted(leaks)}
    if note:
        numbers["note"] = note
    assert all(math.isfinite(x) for x in numbers["entropy"])
    # One key alone: the order in which safetensors writes several isn't fixed.
    save_file(tensors, path, metadata={"numbers": json.dumps(numbers)})
    return numbers
