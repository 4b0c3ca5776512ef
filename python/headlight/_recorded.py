"""Queries, keys and values of a transformers model, as its layers give them to their attention function."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._passes import Joined, Pass, inputs_of
from ._program import HeadlightError

_NAME = "headlight"  # of the attention function, while a model runs
_ROWS = 256  # queries whose weights are there at once, where sdpa can't compute them
_MOST_MASKED = 4096  # tokens of a text whose mask [tokens, tokens] is made
_CROSS = ("cross", "encoder_attn", "encdec", "encoder_attention")


def _registered() -> bool:
    """Makes the attention function known; False where this transformers has none to register (before 4.48)."""
    try:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface
    except ImportError:
        return False
    AttentionInterface.register(_NAME, _attention)
    AttentionMaskInterface.register(_NAME, _mask)
    return True


def _mask(*args: Any, **options: Any) -> Any:
    """sdpa's mask. It is left out where the layer can tell by itself whether it looks back alone, which some layers tell
    wrongly (Splinter, NLLB-MoE): of texts that aren't long it is never left out."""
    from transformers.masking_utils import sdpa_mask

    if options.get("q_length", 0) <= _MOST_MASKED:
        options.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
    return sdpa_mask(*args, **options)


_passes: list[Pass] | None = None  # of the model that is running: a list of Pass, whose calls are of _Call


class _Call:
    """One layer's attention. is_visible: which keys queries see, or None, where is_causal says it. given: query and key
    as the layer has them. is_halved: the values are those of two calls, side by side."""

    def __init__(self, module: Any, query: Any, key: Any, value: Any, mask: Any, options: Mapping[str, Any]):
        self.module = module
        self.query, self.key, self.value = query, key, value
        self.given, self.is_halved = (query, key), False
        scaling = options.get("scaling")
        self.scale = float(scaling if scaling is not None else query.shape[-1] ** -0.5)
        self.softcap = float(options.get("softcap") or 0.0)
        self.sinks = options.get("s_aux")
        is_causal = options.get("is_causal")
        if is_causal is None:
            is_causal = bool(getattr(module, "is_causal", True))
        self.is_causal = is_causal and mask is None and query.shape[2] > 1
        self.bias, self.is_visible = _parts(mask, options.get("position_bias"))


def _parts(mask: Any, position_bias: Any) -> tuple[Any, Any]:
    """What is added to scores, and which cells are seen; each may be None."""
    if mask is None:
        return position_bias, None
    if not mask.is_floating_point():
        return position_bias, mask.bool()
    is_visible = mask > -1e4  # masks of old models hide by -1e4 or by the least number of their type
    added = mask.where(is_visible, mask.new_zeros(()))
    if not bool(added.any()):
        return position_bias, is_visible
    return (added if position_bias is None else added + position_bias), is_visible


def _attention(module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, **options: Any) -> tuple[Any, Any]:
    """Takes part in transformers' AttentionInterface: keeps what it is given, and computes what the model expects."""
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    call = _Call(module, query, key, value, attention_mask, options)
    assert _passes is not None  # the function is a model's inside of recording() only
    if not _passes:
        _passes.append(Pass())  # of an encoder that generate() runs by itself
    calls = _passes[-1].calls
    if calls and calls[-1].given[0] is query and calls[-1].given[1] is key:  # one map over halves of the values (DiffLlama)
        calls[-1].value = torch.cat([calls[-1].value, value], dim=-1)
        calls[-1].is_halved = True
    else:
        calls.append(call)
    if _passes[-1].has_room:
        call.key, call.value = key.clone(), value.clone()
    if not call.softcap and call.sinks is None:
        output: tuple[Any, Any] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **dict(options, dropout=0.0)
        )
        return output
    return _by_rows(call).transpose(1, 2).contiguous(), None


def _by_rows(call: _Call) -> Any:
    """Outputs of heads with a soft cap or sinks, which sdpa has not, some rows at a time."""
    import torch

    group = call.query.shape[1] // call.key.shape[1]
    keys, values = (part.repeat_interleave(group, dim=1) for part in (call.key, call.value))
    outputs = []
    for first in range(0, call.query.shape[2], _ROWS):
        rows = slice(first, first + _ROWS)
        scores = call.query[:, :, rows] @ keys.transpose(2, 3) * call.scale
        if call.softcap:
            scores = call.softcap * torch.tanh(scores / call.softcap)
        if call.bias is not None:
            scores = scores + call.bias[..., rows, :]
        is_visible = _visible_rows(call, rows)
        if is_visible is not None:
            scores = scores.masked_fill(~is_visible, torch.finfo(scores.dtype).min)
        if call.sinks is not None:
            sinks = call.sinks.reshape(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], 1)
            scores = torch.cat([scores, sinks.to(scores.dtype)], dim=-1)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
        outputs.append(weights[..., : keys.shape[2]] @ values)
    return torch.cat(outputs, dim=2)


def _visible_rows(call: Any, rows: slice) -> Any:
    import torch

    if call.is_visible is not None:
        return call.is_visible[..., rows, :]
    if not call.is_causal:
        return None
    query = torch.arange(call.query.shape[2], device=call.query.device)[rows]
    return torch.arange(call.key.shape[2], device=call.query.device)[None] <= query[:, None]


def _hooks(model: Any, passes: list[Pass]) -> list[Any]:
    """Begin a pass whenever the model, or its encoder alone, does."""
    running: list[Any] = []

    def begin(module: Any, args: Any, options: Any) -> None:
        if module is model or not running:
            passes.append(Pass(inputs_of(module, args, options), of_encoder=module is not model))
        if module is model:
            running.append(module)

    def end(*_: Any) -> None:
        running.clear()

    hooks = [
        model.register_forward_pre_hook(begin, with_kwargs=True),
        model.register_forward_hook(end, always_call=True),
    ]
    encoder = (
        model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) and hasattr(model, "get_encoder") else None
    )
    if encoder is not None and encoder is not model:
        hooks.append(encoder.register_forward_pre_hook(begin, with_kwargs=True))
    return hooks


@contextlib.contextmanager
def recording(model: Any) -> Iterator[list[Pass] | None]:
    """While it lasts the model's layers compute attention here: gives the list of its passes, or None where the model's layers
    don't look their attention function up. Configurations are as before afterwards."""
    global _passes
    configs = {id(part.config): part.config for part in model.modules() if hasattr(part, "config")}
    before = {key: getattr(config, "_attn_implementation_internal", None) for key, config in configs.items()}
    if not hasattr(model, "set_attn_implementation") or not _registered():
        yield None
        return
    if _passes is not None:
        raise HeadlightError("another model's attention is being captured: leave its capturing() first")
    passes: list[Pass] = []
    is_looked_up = True
    hooks = _hooks(model, passes)
    try:
        try:
            model.set_attn_implementation(_NAME)
            _passes = passes
        except (ValueError, KeyError, ImportError):
            is_looked_up = False
        yield passes if is_looked_up else None
    finally:
        _passes = None
        for hook in hooks:
            hook.remove()
        for key, config in configs.items():
            if before[key] is not None:
                config._attn_implementation_internal = before[key]


class _Pattern:
    """Which keys queries see: is_causal (None: one query, which doesn't tell), a window or None, and `hidden`, where this isn't
    all: cells [lines or 1, 1, queries, keys]. real_rows, real_keys: [lines, tokens] those that are no padding, which the words
    `lengths` and `starts` say; None: all."""

    def __init__(self, call: Any, real_rows: Any = None, real_keys: Any = None):
        import torch

        queries, keys = call.query.shape[2], call.key.shape[2]
        self.window = self.hidden = None
        self.is_causal = call.is_causal if queries > 1 else None
        if call.is_visible is None:
            return
        device = call.is_visible.device
        is_visible = call.is_visible.expand(*call.is_visible.shape[:2], queries, keys)
        counted = torch.ones((1, 1, 1, 1), dtype=torch.bool, device=device)  # cells of real rows and keys
        if real_rows is not None:
            counted = counted & real_rows.to(device)[:, None, :, None]
        seen = is_visible & counted
        if real_keys is not None:
            is_real = real_keys.to(device)[:, None, None]
            if bool((seen & ~is_real).any()):  # padding that is seen
                self.is_causal, self.hidden = False, ~is_visible
                return
            counted = counted & is_real
        if bool((seen == counted).all()):
            return
        distance = torch.arange(queries, device=device)[:, None] + call.cached - torch.arange(keys, device=device)
        is_square = queries + call.cached == keys
        self.is_causal = is_square and not bool(seen[..., distance < 0].any())
        side = distance >= 0 if self.is_causal else torch.ones_like(distance, dtype=torch.bool)
        if is_square and bool((seen == (side & counted)).all()):
            return
        far = distance.expand(seen.shape)[seen].abs().max() if bool(seen.any()) else distance.max()
        if is_square and bool((seen == (side & (distance.abs() <= far) & counted)).all()):
            self.window = int(far) + 1
            return
        self.is_causal = False
        self.hidden = ~is_visible


def _prefix(name: str, module: Any, is_pair: bool, has_cross: bool) -> str:
    """How docs/CAPTURES.md begins the names of the arrays of a layer of this name."""
    if not is_pair and not has_cross:
        return ""
    lower = name.lower()
    if is_pair and "decoder" not in lower.split("."):
        return "encoder_"
    own = lower.rsplit("decoder", 1)[1] if is_pair else lower.rsplit(".", 1)[-1]
    is_cross = any(part in own for part in _CROSS) or getattr(module, "is_cross_attention", False)
    return "cross_" if is_cross else "decoder_"


_MOST_OUTPUT_BYTES = 64 << 20  # of W_O of all layers, which a capture has to carry beside its text
_OUTPUTS = ("o_proj", "out_proj", "c_proj", "dense", "wo", "o", "output.dense", "proj")


def _output_of(parts: Mapping[str, Any], name: str, width: int) -> Any:
    """W_O of the attention module of this name, or of the module around it (BERT); None: neither has one of this width."""
    for owner in (name, name.rpartition(".")[0]):
        for own in _OUTPUTS:
            part = parts.get(f"{owner}.{own}" if owner else own)
            weight: Any = getattr(part, "weight", None)
            if getattr(weight, "ndim", 0) != 2 or not weight.is_floating_point():
                continue
            weight = weight.T if type(part).__name__ == "Conv1D" else weight
            if weight.shape[1] == width:
                return weight
    return None


_OTHER_TOWERS = ("vis", "image", "audio", "speech")


def _text_part(model: Any) -> str | None:
    """How names of the modules begin that read text, of a model that also sees or hears; None: all do."""
    config = model.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    if text is config or getattr(config, "is_encoder_decoder", False) or not hasattr(model, "get_decoder"):
        return None
    decoder = model.get_decoder()
    return next((name for name, part in model.named_modules() if part is decoder and name), None)


def _joined(parts: Mapping[int, Any], lines: int) -> Any:
    """By line [heads, rows, columns] as one tensor [lines, …] with zeros for padding."""
    first = next(iter(parts.values()))
    sizes = [max(part.shape[axis] for part in parts.values()) for axis in range(3)]
    whole = first.new_zeros((lines, *sizes))
    for line, part in parts.items():
        whole[tuple([line, *map(slice, part.shape)])] = part
    return whole


_LARGEST = {"float16": 0.006, "bfloat16": 0.03}  # differences of weights, over the types of python/tests/every_type.py


def _notes_of(call: Any) -> Iterator[str]:
    """What isn't seen in the numbers of a call."""
    dtype = str(call.query.dtype).rpartition(".")[2]
    if dtype in _LARGEST:
        yield (
            f"Scores are computed in float32 from {dtype} queries and keys: weights differ from the model's own by up to "
            f"{_LARGEST[dtype]}."
        )
    if call.is_halved:
        yield (
            "Maps of the first half of the heads and of the second make pairs: what acts is their difference, the second "
            "times a learned factor."
        )


class Recorded:
    """Arrays by name and how scores are made of them, of calls of several runs: each of some lines of the batch."""

    def __init__(self, model: Any):
        self._parts = dict(model.named_modules())
        self._names = {id(part): name for name, part in self._parts.items()}
        self._is_pair = bool(getattr(model.config, "is_encoder_decoder", False))
        self._type = type(model).__name__
        self._text_part = _text_part(model)
        self._layers: dict[
            tuple[str, int], list[Any]
        ] = {}  # by prefix and layer: a list of (lines of the batch, call, pattern)
        self._lines = 0
        self.cached = 0  # tokens whose rows are missing
        self._notes: dict[str, None] = {}  # sentences about the numbers, each once
        self.has_cross = False  # does a stack without an encoder attend to other vectors, as of an image?

    def _outputs(self, tensors: dict[str, Any]) -> None:
        """W_O of layers that have one, [vectors, heads * values], of small models: it isn't the text's."""
        found = {}
        for (prefix, layer), runs in self._layers.items():
            call = runs[0][1]
            width = call.query.shape[1] * call.value.shape[3]
            output = _output_of(self._parts, self._names.get(id(call.module), ""), width)
            if output is not None:
                found[f"{prefix}o.{layer}"] = output.detach()
        if 4 * sum(output.numel() for output in found.values()) <= _MOST_OUTPUT_BYTES:
            tensors.update(found)

    def _of_text(self, calls: list[Any]) -> list[Any]:
        """Those that are of words, not of an image alone."""
        names = [self._names.get(id(call.module), "") for call in calls]
        if self._text_part is not None:
            chosen = [call for call, name in zip(calls, names) if name.startswith(self._text_part + ".")]
        else:
            chosen = [
                call
                for call, name in zip(calls, names)
                if not any(part.startswith(_OTHER_TOWERS) for part in name.lower().split("."))
            ]
        return chosen or calls

    def _join(self, passes: Iterable[Pass]) -> list[tuple[str, Any]]:
        """Of each layer its calls as one, in their order."""
        joined: dict[tuple[int, int], tuple[str, Joined]] = {}
        self.has_cross = not self._is_pair and any(
            _prefix(self._names.get(id(call.module), ""), call.module, False, True) == "cross_"
            for one in passes
            for call in self._of_text(one.calls)
        )
        for one in passes:
            counts: dict[int, int] = {}
            for call in self._of_text(one.calls):
                name = self._names.get(id(call.module), "")
                nth = counts[id(call.module)] = counts.get(id(call.module), -1) + 1
                prefix = _prefix(name, call.module, self._is_pair, self.has_cross)
                layer = joined.setdefault((id(call.module), nth), (prefix, Joined(call.module, f"{self._type}: {name}")))[1]
                past = one.past
                if past is None:
                    past = max(0, call.key.shape[2] - call.query.shape[2]) if prefix != "cross_" else 0
                rows, keys = call.query.shape[2], call.key.shape[2]
                if one.past == 0 and not one.has_room and prefix != "cross_" and keys > rows:
                    raise HeadlightError(
                        f"{self._type}: {name} has {rows} queries and {keys} keys, of which {keys - rows} are no tokens that were "
                        "read before, as of self- and cross-attention in one (T5Gemma 2); capture() can't show it"
                    )
                layer.add(call, past, prefix == "cross_", prefix != "encoder_")
        return [(prefix, layer.call()) for prefix, layer in joined.values()]

    def add(self, passes: Iterable[Pass], members: Iterable[int], real: Any = None, real_source: Any = None) -> None:
        """`members`: the lines that these passes were of. real, real_source: [lines, tokens] those that are no padding, of the
        decoder or the only stack and of an encoder; None: all."""
        passes = list(passes)
        self._notes.update((note, None) for one in passes for call in one.calls for note in _notes_of(call))
        counts: dict[str, int] = {}
        sizes: dict[str, tuple[int, int]] = {}
        self._lines = max(self._lines, *(line + 1 for line in members))
        for prefix, call in self._join(passes):
            layer = counts[prefix] = counts.get(prefix, -1) + 1
            if call.query.shape[0] != len(list(members)):
                name = self._names.get(id(call.module), type(call.module).__name__)
                raise HeadlightError(
                    f"{self._type}: {name} has {call.query.shape[0]} lines of {len(list(members))} that the model read, as of "
                    "windows, of which other layers have other numbers: give Capture() the attentions of layers with as many"
                )
            size = call.query.shape[2], call.key.shape[2]
            known = sizes.setdefault(prefix, size)
            if known != size or (prefix != "cross_" and size[0] + call.cached != size[1]):
                name = self._names.get(id(call.module), type(call.module).__name__)
                raise HeadlightError(
                    f"{self._type}: {name} has {size[0]} queries and {size[1]} keys, the first of its kind {known[0]} and "
                    f"{known[1]}; a capture is of one text whose layers have the same tokens: give Capture() the attentions of "
                    "the part that you look at"
                )
            self.cached = max(self.cached, call.cached)
            rows = real_source if prefix == "encoder_" else real
            keys = real_source if prefix in ("encoder_", "cross_") else real
            rows = rows[:, call.cached :] if rows is not None else None
            self._layers.setdefault((prefix, layer), []).append((members, call, _Pattern(call, rows, keys)))

    @property
    def is_causal(self) -> bool:
        """Of the decoder's, or of the only stack's, layers: do all look back alone?"""
        side = "decoder_" if self._is_pair or self.has_cross else ""
        known = [pattern.is_causal for (prefix, _), runs in self._layers.items() if prefix == side for *_, pattern in runs]
        told = [is_causal for is_causal in known if is_causal is not None]
        return bool(told) and all(told)

    @property
    def is_whole(self) -> bool:
        """Of an encoder-decoder: did both stacks give theirs? BigBird-Pegasus' encoder computes its own attention."""
        return not self._is_pair or {"encoder_", "decoder_"} <= {prefix for prefix, _ in self._layers}

    @property
    def layers(self) -> list[int] | None:
        """The model's own numbers of the only stack's, or the decoder's, layers, where some have no attention; None: 0, 1, …"""
        side = "decoder_" if self._is_pair or self.has_cross else ""
        names = [self._names.get(id(runs[0][1].module), "") for (prefix, _), runs in self._layers.items() if prefix == side]
        found = [next((int(part) for part in name.split(".") if part.isdigit()), None) for name in names]
        numbers = [number for number in found if number is not None]
        is_list = bool(numbers) and len(numbers) == len(found) and all(a < b for a, b in zip(numbers, numbers[1:]))
        return numbers if is_list and numbers != list(range(len(numbers))) else None

    def tensors(self) -> dict[str, Any]:
        tensors = {}
        for (prefix, layer), runs in self._layers.items():
            for name, what in (("q", "query"), ("k", "key"), ("v", "value")):
                parts = {line: getattr(call, what)[at] for members, call, _ in runs for at, line in enumerate(members)}
                tensors[f"{prefix}{name}.{layer}"] = _joined(parts, self._lines)
            sinks = runs[0][1].sinks
            if sinks is not None:
                tensors[f"{prefix}sinks.{layer}"] = sinks.detach().reshape(-1)
            bias = {line: part for run in runs for line, part in self._biases(prefix, *run)}
            if bias:
                if len(bias) < self._lines:  # other lines have none
                    heads = next(iter(bias.values())).shape[0]
                    for members, call, _ in runs:
                        for line in members:
                            bias.setdefault(line, call.query.new_zeros((heads, call.query.shape[2], call.key.shape[2])))
                tensors[f"{prefix}bias.{layer}"] = _joined(bias, self._lines)
        self._outputs(tensors)
        return tensors

    def _biases(self, prefix: str, members: Iterable[int], call: Any, pattern: _Pattern) -> Iterator[tuple[int, Any]]:
        """Of each line what no word says: numbers that are added to scores, and -inf for keys that are hidden."""
        hidden = pattern.hidden
        if hidden is None and pattern.is_causal and not (self.is_causal and prefix in ("", "decoder_")):
            hidden = ~_visible_rows(call, slice(None)).expand(1, 1, call.query.shape[2], call.key.shape[2])
        if hidden is None and (call.bias is None or not bool(call.bias.any())):
            return
        whole = call.query.new_zeros((1, 1, call.query.shape[2], call.key.shape[2])).float()
        if call.bias is not None:
            whole = whole + call.bias
        if hidden is not None:
            whole = whole.masked_fill(hidden, -math.inf)
        for at, line in enumerate(members):
            yield line, whole[at if whole.shape[0] > 1 else 0].detach()

    def scores(self) -> dict[str, Any]:
        """The words of docs/CAPTURES.md that say how scores are made: by name a number of each layer; and a note."""
        words: dict[str, Any] = {"note": " ".join(self._notes)} if self._notes else {}
        for prefix in {prefix for prefix, _ in self._layers}:
            layers = [self._layers[key] for key in sorted(key for key in self._layers if key[0] == prefix)]
            numbers = {
                "scale": [runs[0][1].scale for runs in layers],
                "softcap": [runs[0][1].softcap for runs in layers],
                "window": [max(pattern.window or 0 for *_, pattern in runs) for runs in layers],
            }
            usual = [runs[0][1].query.shape[-1] ** -0.5 for runs in layers]
            if all(math.isclose(*pair, rel_tol=1e-9) for pair in zip(numbers["scale"], usual)):
                del numbers["scale"]
            words.update({prefix + name: values for name, values in numbers.items() if any(values)})
        return words
