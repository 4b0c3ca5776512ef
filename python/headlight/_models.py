"""Captures of transformers models."""

from __future__ import annotations

import collections
import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import as_pixels
from ._captures import Capture
from ._positions import of_images, pictures_of
from ._passes import Pass
from ._program import HeadlightError, bordered
from ._recorded import Recorded, recording
from ._windows import Window

_KINDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")


_UNKNOWN = "\u2026"  # a token that was in a cache before


def _model_of(model: Any) -> Any:
    """The model inside of what is wrapped around it (DataParallel, DistributedDataParallel, DeepSpeed, torch.compile). Raises
    HeadlightError where that is no model of transformers."""
    while True:
        inner = model.__dict__.get("_modules", {}) if hasattr(model, "__dict__") else {}
        within = inner.get("_orig_mod") or (None if hasattr(model, "config") else inner.get("module"))
        if within is None:
            break
        model = within
    if isinstance(model, (str, os.PathLike)):
        raise HeadlightError(
            f"{os.fspath(model)!r} is a name; give the loaded model, or let the program open it: "
            f"headlight.view(model={os.fspath(model)!r}, text=...)"
        )
    if not callable(model) or not hasattr(model, "modules") or not hasattr(model, "config"):
        raise HeadlightError(
            f"a {type(model).__name__} is no model of transformers; give headlight.view() or Capture() the weights that its "
            "layers return"
        )
    return model


def _expect_tokenizer(tokenizer: Any) -> None:
    if not callable(tokenizer):
        what = "there is no tokenizer" if tokenizer is None else f"{tokenizer!r:.80} is no tokenizer"
        raise HeadlightError(f"{what}; give the model's, or ids in place of a text: {{'input_ids': ids}}")


def _as_inputs(text: Any) -> Any:
    """A text, or what the model reads: ids (a tensor, an array, or a list of numbers) under their name."""
    import torch

    is_list = isinstance(text, (list, tuple)) and bool(text)
    first = text[0] if is_list else None
    first = first[0] if isinstance(first, (list, tuple)) and first else first
    is_ids = hasattr(text, "shape") or isinstance(first, int)
    if is_list and hasattr(first, "shape"):
        text, is_ids = [one.tolist() for one in text], True
    if not is_ids:
        return text
    try:
        ids = torch.as_tensor(text)
    except (TypeError, ValueError, RuntimeError) as error:
        raise HeadlightError(f"ids of several texts have one length, padded by an attention_mask: {error}") from error
    if ids.is_floating_point() or ids.ndim not in (1, 2) or not ids.numel():
        raise HeadlightError(
            f"ids are whole numbers, [tokens] or [lines, tokens], not {ids.dtype} {list(ids.shape)}; give other inputs by name, as "
            "{'pixel_values': ...}"
        )
    return {"input_ids": ids if ids.ndim == 2 else ids[None]}


def _texts_of(tokenizer: Any, ids: Any) -> list[str]:
    if not hasattr(tokenizer, "convert_ids_to_tokens"):
        return [str(int(token)) for token in ids]
    texts = tokenizer.convert_ids_to_tokens(ids.tolist())
    return [str(int(token)) if text is None else text for text, token in zip(texts, ids)]  # None: beyond the vocabulary


@contextlib.contextmanager
def _eager(model: Any) -> Iterator[None]:
    """The model with attention that it can return; afterwards as it was."""
    before = getattr(model.config, "_attn_implementation", None)
    is_switched = hasattr(model, "set_attn_implementation") and before not in (None, "eager")
    try:
        if is_switched:
            model.set_attn_implementation("eager")
        yield
    finally:
        if is_switched:
            model.set_attn_implementation(before)


@contextlib.contextmanager
def _without_dropout(model: Any) -> Iterator[None]:
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _attentions(model: Any, inputs: Mapping[str, Any]) -> dict[str, list[Any]]:
    """By kind a list of tensors [line, heads, queries, keys], one for each layer."""
    import torch

    refusal = f"{type(model).__name__} returned no attention"
    try:
        with torch.no_grad():
            output = model(**inputs, output_attentions=True, return_dict=True)
    except TypeError as error:
        if "output_attentions" not in str(error):
            raise
        raise HeadlightError(f"{refusal}: it takes no output_attentions") from error
    all_kinds = {kind: list(getattr(output, kind, None) or ()) for kind in _KINDS}
    found = {kind: layers for kind, layers in all_kinds.items() if any(layer is not None for layer in layers)}
    if not found:
        implementation = getattr(model.config, "_attn_implementation", None)
        why = "its layers have none, or do not return it"
        if implementation not in (None, "eager"):
            why = f"it computes attention by {implementation}; load it with attn_implementation='eager'"
        raise HeadlightError(f"{refusal}: {why}")
    for kind, layers in found.items():
        for layer in layers:
            shape = list(getattr(layer, "shape", ()))
            is_map = len(shape) == 4 and (kind == "cross_attentions" or shape[2] == shape[3])
            if not is_map:
                raise HeadlightError(
                    f"{type(model).__name__} returned {kind} of a layer that are {shape}, not [batch, heads, queries, keys] with "
                    "all keys; write those of a window (Longformer) into such an array, 0 outside, and give that to view()"
                )
    return found


def _target_ids(model: Any, tokenizer: Any, target: str | None) -> Any:
    """What the decoder reads: its start token and the target without its end, as in training and as `--target`."""
    import torch

    configs = (model.config, getattr(model, "generation_config", None))
    starts = [getattr(config, "decoder_start_token_id", None) for config in configs]
    starts += [getattr(tokenizer, name, None) for name in ("bos_token_id", "pad_token_id")]
    start = next((int(token) for token in starts if isinstance(token, int)), None)
    if start is None:
        raise HeadlightError(
            f"{type(model).__name__} doesn't say which token starts its decoder: set decoder_start_token_id"
        )
    ids = [] if target is None else tokenizer(text_target=[target], return_tensors="pt")["input_ids"][0].tolist()
    if ids and ids[-1] == getattr(tokenizer, "eos_token_id", None):
        ids.pop()
    if ids and ids[0] == start:
        ids.pop(0)
    return torch.tensor([[start, *ids]])


def _inputs(
    model: Any, tokenizer: Any, texts: Sequence[str], target: Any, images: Sequence[Any] | None = None
) -> list[dict[str, Any]]:
    """What the model reads of each line, tensors [1, tokens] by name."""
    is_pair = bool(getattr(model.config, "is_encoder_decoder", False))
    if target is not None and not is_pair:
        raise HeadlightError(f"{type(model).__name__} has no decoder beside an encoder: it takes no target")
    targets = [target] * len(texts) if target is None or isinstance(target, str) else list(target)
    if len(targets) != len(texts):
        raise HeadlightError(f"there are {len(targets)} targets of {len(texts)} texts; give one, or one for each")
    if images is not None and len(images) != len(texts):
        raise HeadlightError(f"there are images of {len(images)} texts, but {len(texts)} texts; give a list for each")
    lines = []
    for index, (text, its_target) in enumerate(zip(texts, targets)):
        if images is None:
            inputs = dict(tokenizer([text], return_tensors="pt"))
        else:
            inputs = dict(tokenizer(text=[text], images=list(images[index]), return_tensors="pt"))
        own = set(inputs["input_ids"].flatten().tolist()) - set(getattr(tokenizer, "all_special_ids", None) or ())
        if not own and not str(text).strip():
            raise HeadlightError(f"{text!r} has no token of its own")
        if is_pair:
            inputs["decoder_input_ids"] = _target_ids(model, tokenizer, its_target)
        lines.append(inputs)
    return lines


def _batches(model: Any, lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Lines of the same sizes, which are run together: their numbers, and what the model reads."""
    import torch

    together = collections.defaultdict(list)
    for line, inputs in enumerate(lines):
        together[tuple((name, tuple(value.shape)) for name, value in inputs.items())].append(line)
    device = getattr(model, "device", None)
    for members in together.values():
        inputs = {name: torch.cat([lines[line][name] for line in members]) for name in lines[members[0]]}
        yield members, inputs if device is None else {name: value.to(device) for name, value in inputs.items()}


def _record(model: Any, lines: Sequence[Mapping[str, Any]]) -> Recorded | None:
    """Queries, keys and values of all layers, whose weights then are nowhere n x n; None: the layers, or one stack's, don't give them."""
    import torch

    recorded = Recorded(model)
    for members, inputs in _batches(model, lines):
        with recording(model) as passes, torch.no_grad():
            if passes is None:
                return None
            model(**inputs, return_dict=True)
            if not any(one.calls for one in passes):
                return None
            recorded.add(passes, members)
    return recorded if recorded.is_whole else None


def _run(model: Any, lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """By kind the layers' tensors [line, heads, queries, keys], with zeros for padding."""
    found: dict[tuple[str, int], dict[int, Any]] = collections.defaultdict(dict)  # by kind and layer: by line
    with _eager(model):
        for members, inputs in _batches(model, lines):
            for kind, layers in _attentions(model, inputs).items():
                for index, layer in enumerate(layers):
                    found[kind, index].update(zip(members, layer))
    kinds = collections.defaultdict(list)
    for (kind, _), weights in sorted(found.items()):
        rows, keys = (max(part.shape[axis] for part in weights.values()) for axis in (1, 2))
        first = weights[0]
        whole = first.new_zeros((len(lines), first.shape[0], rows, keys))
        for line, part in weights.items():
            whole[line, :, : part.shape[1], : part.shape[2]] = part
        kinds[kind].append(whole)
    return kinds


def _words(tokenizer: Any, ids: Sequence[Any], tokens: str = "tokens", mask: str = "attention_mask") -> dict[str, Any]:
    """Options of Capture: the lines' tokens and, where they have different lengths, which of them are padding."""
    lines = [_texts_of(tokenizer, line) for line in ids]
    most = max(map(len, lines))
    padding = getattr(tokenizer, "pad_token", None) or "<pad>"
    words = {tokens: [line + [padding] * (most - len(line)) for line in lines]}
    if any(len(line) != most for line in lines):
        words[mask] = [[1] * len(line) + [0] * (most - len(line)) for line in lines]
    return words


def _ids_of(passes: Sequence[Pass]) -> tuple[Any, int]:
    """Ids [lines, tokens] of what the passes read one after another, and how many tokens were in the cache before; None: they
    were given vectors."""
    import torch

    whole, before = None, 0
    for one in passes:
        if one.of_encoder or not one.calls or not one.inputs:
            continue
        if one.ids is None:
            return None, 0
        past = one.past if one.past is not None else (0 if whole is None else before + whole.shape[1])
        if not past or whole is None:
            whole, before = one.ids, past
        else:
            whole = torch.cat([whole[:, : past - before], one.ids], dim=1)
    return whole, before


def _padding(mask: Any, total: int) -> Any:
    """A mask [lines, tokens] of which some are 0, of all tokens; None: none are, or others between them aren't."""
    import torch

    if mask is None or getattr(mask, "ndim", 0) != 2 or mask.shape[1] > total or bool((mask != 0).all()):
        return None
    real = torch.nn.functional.pad(mask != 0, (0, total - mask.shape[1]), value=True)
    is_run = (real.int().diff(dim=1) > 0).sum(1) + real[:, :1].sum(1) <= 1
    return real if bool(is_run.all()) else None  # else the layers' masks say it


def _images_of(
    model: Any, processor: Any, lines: Sequence[Mapping[str, Any]], images: Sequence[Any] | None
) -> dict[str, Any]:
    """Options of Capture of all lines: their images' positions, and the images one after another."""
    found = [
        of_images(model, processor, [line["input_ids"][0].tolist()], line, None if images is None else images[index])
        for index, line in enumerate(lines)
    ]
    if not any("positions" in one for one in found):
        return {}
    positions: list[Any] = []
    pictures: list[Any] = []
    for one in found:
        spans = one.get("positions", [[]])[0]
        positions.append([dict(span, image=span["image"] + len(pictures)) for span in spans])
        pictures += one.get("images") or [None] * len({span["image"] for span in spans})
    options: dict[str, Any] = {"positions": positions}
    if all(picture is not None for picture in pictures):
        options["images"] = pictures
    return options


_BY_THEMSELVES = (
    "its layers compute attention by themselves and don't look their attention function up (transformers' AttentionInterface), "
    "so that capturing() gets no queries and keys; capture(model, tokenizer, text) keeps the weights that it returns"
)


class Capturing:
    """What capturing() gives: the passes that a model made meanwhile."""

    def __init__(self, model: Any, tokenizer: Any, passes: list[Pass], images: Sequence[Any] | None = None):
        self._model, self._tokenizer, self._passes, self._images = model, tokenizer, passes, images

    def __repr__(self) -> str:
        return f"<headlight.Capturing of {type(self._model).__name__}, {sum(1 for one in self._passes if one.calls)} passes>"

    @bordered
    def capture(self) -> Capture:
        """The Capture of the last text that was read, of all passes as one."""
        passes = [one for one in self._passes if one.calls]
        if not passes:
            name = type(self._model).__name__
            if not self._passes:
                raise HeadlightError(f"{name} made no pass inside of capturing()")
            raise HeadlightError(f"{name}: {_BY_THEMSELVES}")
        recorded = Recorded(self._model)
        ids, before = _ids_of(passes)
        inputs = {name: value for one in reversed(passes) for name, value in one.inputs.items() if value is not None}
        masks = passes[-1].inputs
        lines = passes[-1].calls[-1].query.shape[0]
        total = 0 if ids is None else ids.shape[1] + before
        is_pair = bool(getattr(self._model.config, "is_encoder_decoder", False))
        own = masks.get("decoder_attention_mask" if is_pair else "attention_mask")
        source = inputs.get("input_ids") if is_pair else None
        real = _padding(own, total) if ids is not None else None
        real_source = _padding(masks.get("attention_mask"), source.shape[1]) if source is not None else None
        recorded.add(passes, range(lines), real, real_source)
        if not recorded.is_whole:
            raise HeadlightError(f"{type(self._model).__name__} gave no queries and keys of one of its stacks")
        options: dict[str, Any] = {}
        side = "decoder_" if is_pair or recorded.has_cross else ""
        if ids is not None and ids.shape[0] == lines:
            ids = ids.cpu()
            options[side + "tokens"] = [[_UNKNOWN] * before + self._texts(line) for line in ids]
            if not is_pair and not recorded.has_cross:
                with_cache = [[None] * before + line.tolist() for line in ids]
                options.update(of_images(self._model, self._tokenizer, with_cache, inputs, self._images))
        if source is not None:
            options["encoder_tokens"] = [self._texts(line) for line in source.cpu()]
        if real is not None:
            options[("decoder_" if is_pair else "") + "attention_mask"] = real
        if real_source is not None:
            options["attention_mask"] = real_source
        pictures = pictures_of(self._tokenizer, inputs, lines) if ids is None and not is_pair else None
        made: dict[str, Any] = {
            "scores": recorded.scores(),
            "causal": recorded.is_causal,
            "cached": recorded.cached,
            "layers": recorded.layers,
        }
        if pictures is not None:  # all tokens are patches
            try:
                return Capture(recorded.tensors(), image=np.stack(pictures), **made, **options)
            except HeadlightError as error:
                warnings.warn(f"headlight: {type(self._model).__name__}: the image isn't shown: {error}", stacklevel=2)
        return Capture(recorded.tensors(), **made, **options)

    def view(self, **options: Any) -> Window:
        """Opens it in the window; options are those of view()."""
        return self.capture().view(**options)

    def _texts(self, ids: Any) -> list[str]:
        return _texts_of(getattr(self._tokenizer, "tokenizer", self._tokenizer), ids)


@contextlib.contextmanager
def capturing(model: Any, tokenizer: Any, *, images: Sequence[Any] | None = None) -> Iterator[Capturing]:
    """While it lasts, keeps queries, keys and values of each pass that the model makes, by itself or in generate(): a prompt in
    chunks, a filled cache and token after token become one capture, whose rows are the tokens that were read meanwhile.

    Gives a Capturing with capture() and view(). Dropout is off, and nothing is kept for gradients. images: of a model that sees
    those of its text, where what it reads are patches already."""
    import torch

    model = _model_of(model)
    with _without_dropout(model), torch.no_grad(), recording(model) as passes:
        if passes is None:
            raise HeadlightError(f"{type(model).__name__}: {_BY_THEMSELVES}")
        yield Capturing(model, tokenizer, passes, images)


def _capture_of_inputs(model: Any, tokenizer: Any, inputs: Mapping[str, Any], images: Sequence[Any] | None) -> Capture:
    import torch

    device = getattr(model, "device", None)
    on_device = {
        name: value.to(device) if hasattr(value, "to") and device is not None else value for name, value in inputs.items()
    }
    problem = None
    with _without_dropout(model), torch.no_grad(), recording(model) as passes:
        if passes is not None:
            model(**dict(on_device, return_dict=True))
    if passes is not None:
        try:
            return Capturing(model, tokenizer, passes, images).capture()
        except HeadlightError as error:
            problem = error
    if any(hasattr(value, "get_seq_length") for value in inputs.values()):  # a cache, which the pass has filled
        raise problem or HeadlightError(f"{type(model).__name__}: {_BY_THEMSELVES}")
    try:
        return _capture_of_weights(model, tokenizer, on_device)
    except HeadlightError as error:
        raise (problem if problem is not None and any(one.calls for one in passes or ()) else error) from error


def _capture_of_weights(model: Any, tokenizer: Any, inputs: Mapping[str, Any]) -> Capture:
    """Of the weights that the model returns of what it reads."""
    with _without_dropout(model), _eager(model):
        layers = _attentions(model, inputs)
    options: dict[str, Any] = {}
    is_pair = "attentions" not in layers
    for side, kinds in (("decoder_", ("decoder_", "cross_")), ("", ("encoder_", "cross_"))) if is_pair else (("", ("",)),):
        kind = next((kind for kind in kinds if f"{kind}attentions" in layers), None)
        ids, mask = inputs.get(f"{side}input_ids"), inputs.get(f"{side}attention_mask")
        if kind is None:
            continue
        axis = -2 if kind == "cross_" and side else -1
        count = layers[f"{kind}attentions"][0].shape[axis]
        if getattr(ids, "ndim", 0) == 2 and ids.shape[1] == count:
            name = f"{side or 'encoder_'}tokens" if is_pair else "tokens"
            options[name] = [_texts_of(getattr(tokenizer, "tokenizer", tokenizer), line) for line in ids.cpu()]
        if getattr(mask, "ndim", 0) == 2 and mask.shape[1] == count and not bool((mask != 0).all()):
            options[f"{side}attention_mask"] = mask
    first = layers["decoder_attentions" if is_pair and "decoder_attentions" in layers else next(iter(layers))][0]
    options["causal"] = bool((first.triu(1) == 0).all()) and first.shape[-1] > 1
    pictures = pictures_of(tokenizer, inputs, first.shape[0]) if "tokens" not in options and not is_pair else None
    if pictures is not None:
        try:
            return Capture(**layers, image=np.stack(pictures), **options)
        except HeadlightError as error:
            warnings.warn(f"headlight: {type(model).__name__}: the image isn't shown: {error}", stacklevel=2)
    return Capture(**layers, **options)


def _list_of_lists(images: Any) -> list[list[Any]]:
    """Images of each text, of those of one text or of several; of files what is in them."""
    images = list(images) if isinstance(images, (list, tuple)) else [images]
    lists = [list(one) for one in images] if images and isinstance(images[0], (list, tuple)) else [images]
    return [
        [as_pixels(one) if isinstance(one, (str, os.PathLike)) and os.path.exists(one) else one for one in line]
        for line in lists
    ]


def _of_pictures(processor: Any, images: Sequence[Any]) -> dict[str, Any]:
    """What a model that sees and doesn't read is given."""
    inputs = dict(processor(images=list(images), return_tensors="pt"))
    if "pixel_values" not in inputs:
        raise HeadlightError(f"{type(processor).__name__} made no pixel_values of the images")
    return inputs


@bordered
def capture(
    model: Any,
    tokenizer: Any,
    text: str | Sequence[str] | Mapping[str, Any] | None = None,
    target: str | Sequence[str] | None = None,
    *,
    images: Any = None,
    opens: bool = True,
    **options: Any,
) -> Capture:
    """Runs a transformers model on a text, a list of texts, or what the model reads itself (a dictionary with input_ids,
    attention_mask, past_key_values and so on), and opens its attention in the window.

    Of a model that looks its attention function up (AttentionInterface) queries, keys and values are kept, and the window
    computes their weights; of others the weights that it returns with output_attentions=True.
    Each line has the attention that it has alone: lines of different lengths are run one after another, and the tokenizer
    needs no padding. Dropout is off; afterwards the model is in training again if it was.
    images: of a vision-language model those of the text, or a list of such for each text; tokenizer is its processor then.
    Image positions are shown as patches among the words. Without a text the model sees images alone (ViT, DINOv2), and tokenizer is
    its image processor. An image is what the processor takes, or a path.
    target: the decoder's text of an encoder-decoder, or one for each line; without one it reads the start token alone. opens:
    False returns the Capture without opening it. options: those of view(), such as tab="model".
    """
    model = _model_of(model)
    if text is None and images is not None:
        _expect_tokenizer(tokenizer)
        text, images = _of_pictures(tokenizer, sum(_list_of_lists(images), [])), None
    text = _as_inputs(text)
    if isinstance(text, Mapping):
        made = _capture_of_inputs(model, tokenizer, text, None if images is None else sum(_list_of_lists(images), []))
        if opens:
            made.view(**options)
        return made
    texts = [text] if isinstance(text, str) else list(text or ())
    if not texts:
        raise HeadlightError("there is no text; give one, or a list of some")
    _expect_tokenizer(tokenizer)
    pictures = None if images is None else _list_of_lists(images)
    lines = _inputs(model, tokenizer, texts, target, pictures)
    with _without_dropout(model):
        recorded, problem = None, None
        try:
            recorded = _record(model, lines)
        except HeadlightError as error:
            problem = error
        try:
            layers: dict[str, Any] = _run(model, lines) if recorded is None else {}
        except HeadlightError as error:
            raise (problem or error) from error
    source = [inputs["input_ids"][0] for inputs in lines]
    reader, tokenizer = tokenizer, getattr(tokenizer, "tokenizer", tokenizer)
    if "decoder_input_ids" in lines[0]:
        words = _words(tokenizer, source, "encoder_tokens")
        read = [inputs["decoder_input_ids"][0] for inputs in lines]
        words.update(_words(tokenizer, read, "decoder_tokens", "decoder_attention_mask"), causal=True)
    elif recorded is not None and recorded.has_cross:
        words = _words(tokenizer, source, "decoder_tokens", "decoder_attention_mask")
    else:
        words = _words(tokenizer, source)
        words.update(_images_of(model, reader, lines, pictures))
    if recorded is not None:
        words["causal"] = recorded.is_causal
        made = Capture(recorded.tensors(), scores=recorded.scores(), layers=recorded.layers, **words)
    else:
        if "causal" not in words:
            first = layers["attentions"][0]
            words["causal"] = bool((first.triu(1) == 0).all()) and first.shape[-1] > 1
        made = Capture(**layers, **words)
    if opens:
        made.view(**options)
    return made
