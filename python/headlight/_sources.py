"""What other libraries give as attention, as the arrays of a capture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import as_array
from ._program import HeadlightError

_NO_EAGER = (
    "load the model with attn_implementation='eager' and run it with output_attentions=True, or run it inside of "
    "headlight.capturing(model, tokenizer), which keeps queries and keys of any implementation"
)
NO_ATTENTION = f"there is no attention; {_NO_EAGER}"


def list_of(array: Any, what: str) -> list[Any]:
    """The layers of one array [layers, batch, heads, queries, keys], as headlight.run() and torch.stack() give it."""
    axes = [int(axis) for axis in array.shape]
    if len(axes) != 5:
        raise HeadlightError(
            f"{what} is one array {axes}; give a list with an array for each layer, or one array [layers, batch, heads, queries, keys]"
        )
    return [array[layer] for layer in range(axes[0])]


def expect_some(layers: Sequence[Any], what: str) -> None:
    """Raises HeadlightError where all layers, or all passes of generate(), are empty: sdpa and others give no weights."""
    passes = [one for one in layers if one is not None]
    if not passes:
        raise HeadlightError(NO_ATTENTION)
    if all(isinstance(one, (list, tuple)) and all(layer is None for layer in one) for one in passes):
        raise HeadlightError(f"{what} of generate() is empty, as of attention that isn't computed eagerly; {_NO_EAGER}")


def with_numbers(layers: Sequence[Any]) -> tuple[list[Any], list[int] | None]:
    """Of a hybrid those layers, or of generate() those of each pass, that have attention, and their numbers; None: all have."""
    is_generated = isinstance(next(one for one in layers if one is not None), (list, tuple))
    first = next(one for one in layers if one is not None) if is_generated else layers
    numbers = [number for number, layer in enumerate(first) if layer is not None]
    if len(numbers) == len(first):
        return list(layers), None
    if is_generated:
        return [[one[number] for number in numbers] for one in layers], numbers
    return [layers[number] for number in numbers], numbers


_HOOK = re.compile(r"(?:(encoder|decoder)\.|blocks\.)(\d+)\.(?:self_)?(attn|cross_attn)\.hook_(pattern|v)")


class FromHooks:
    """A cache of TransformerLens (model.run_with_cache()), or a dictionary with its names: patterns of the layers, beside them values
    and W_O where the cache has them and all layers have. Without a batch axis where it was removed."""

    def __init__(self, cache: Any):
        self.tensors: dict[str, Any] = {}
        found: dict[str, dict[int, dict[str, Any]]] = {}  # by kind and layer: pattern and v
        for name in cache.keys():
            match = _HOOK.fullmatch(str(name))
            if match:
                side, number, block, what = match.groups()
                kind = "cross_" if block == "cross_attn" else f"{side}_" if side else ""
                found.setdefault(kind, {}).setdefault(int(number), {})[what] = cache[name]
        model = getattr(cache, "model", None)
        self.layers: list[int] | None = None
        for kind, layers in found.items():
            numbers = sorted(number for number, one in layers.items() if "pattern" in one)
            if kind in ("", "decoder_") and numbers != list(range(len(numbers))):
                self.layers = numbers
            for at, number in enumerate(numbers):
                self.tensors[f"{kind}attention.{at}"] = layers[number]["pattern"]
            if numbers and all("v" in layers[number] for number in numbers):
                for at, number in enumerate(numbers):
                    self._add_values(kind, at, layers[number], None if kind else _output_of(model, number))
        if not self.tensors:
            raise HeadlightError(
                "the cache has no hook_pattern of a layer; run_with_cache() without names_filter, or with one that keeps them"
            )
        direction = getattr(getattr(model, "cfg", None), "attention_dir", "causal")
        self.is_causal = direction == "causal" and set(found) == {""} or "decoder_" in found

    def _add_values(self, kind: str, at: int, layer: Mapping[str, Any], output: Any) -> None:
        values = layer["v"]
        heads, keys = layer["pattern"].shape[-3], layer["pattern"].shape[-1]
        if values.shape[-3] != keys or heads % values.shape[-2]:
            return  # not [batch, token, head, d_v]
        self.tensors[f"{kind}v.{at}"] = values.swapaxes(-3, -2)
        if output is not None and output.ndim == 3 and tuple(output.shape[:2]) == (heads, values.shape[-1]):
            self.tensors[f"{kind}o.{at}"] = output.reshape(-1, output.shape[-1]).T


def _output_of(model: Any, layer: int) -> Any:
    try:
        return model.blocks[layer].attn.W_O.detach()
    except (AttributeError, IndexError, TypeError):
        return None


def is_of_hooks(value: Any) -> bool:
    return hasattr(value, "keys") and any(_HOOK.fullmatch(str(name)) for name in value.keys())


def looks_averaged(layers: Sequence[Any], lines: int | None) -> bool:
    """Are these arrays [batch, queries, keys], as nn.MultiheadAttention returns means over its heads? Their first axis is as long as
    there are lines of tokens, of which weights of several heads have one."""
    shapes = [tuple(layer.shape) for layer in layers]
    return lines is not None and lines > 1 and all(len(shape) == 3 and shape[0] == lines for shape in shapes)


def _ends(line: Sequence[str]) -> list[slice]:
    """Runs of one special token before and after a line."""
    found = []
    for is_end in (False, True):
        texts = list(reversed(line)) if is_end else list(line)
        count = next((at for at, text in enumerate(texts) if text != texts[0]), len(texts))
        special = len(texts[0]) > 2 and texts[0][0] in "<[" and texts[0][-1] in ">]"
        if special and count < len(line) and (not is_end or "pad" in texts[0].lower()):
            found.append(slice(len(line) - count, len(line)) if is_end else slice(0, count))
    return found


def padding_mask(lines: Sequence[Sequence[str]], weights: Any) -> list[list[int]] | None:
    """A mask [lines, tokens], 0 for padding, of a batch whose mask wasn't given: a run of one special token, before a line or
    (of a token that is called pad) after it, that no other token of the line gives any weight to. None: there is no such."""
    if len(lines) < 2 or not any(_ends(line) for line in lines if line):
        return None
    array = as_array(weights)
    if array.ndim != 4 or array.shape[0] != len(lines) or any(len(line) != array.shape[3] for line in lines):
        return None
    mask = np.ones((len(lines), array.shape[3]), dtype=int)
    for index, line in enumerate(lines):
        for run in _ends(line):
            others = np.ones(array.shape[3], dtype=bool)
            others[run] = False
            if array.shape[2] == array.shape[3] and not array[index][:, others][:, :, run].any():
                mask[index, run] = 0
    is_some = bool((mask == 0).any()) and bool(mask.any(axis=1).all())
    return mask.tolist() if is_some else None
