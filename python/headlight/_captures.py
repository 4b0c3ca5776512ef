"""Attention as the program reads it: arrays by name, tokens and images (docs/CAPTURES.md)."""

from __future__ import annotations

import difflib
import inspect
import json
import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import TYPES, Array, as_array, as_host, as_pixels, expect_numbers, plain
from ._generated import GeneratedLayer, expect_no_beams, is_generated, layers_of
from ._pages import Page, display, expect_notebook, make_page
from ._program import HeadlightError, bordered
from ._sources import NO_ATTENTION, FromHooks, expect_some, is_of_hooks, list_of, looks_averaged, padding_mask, with_numbers
from ._windows import Window, open_window

# A class token and registers before the patches of an image.
_MOST_LEADING = 16


def _grid_of_shape(tokens: int, height: int, width: int) -> list[int] | None:
    """Rows and columns of square patches, as many as there are tokens for. None: there are no such."""
    edge = math.gcd(height, width)
    grids = ((height // size, width // size) for size in range(1, edge + 1) if edge % size == 0)
    best = max((grid for grid in grids if math.prod(grid) <= tokens), key=math.prod, default=(0, 0))
    return list(best) if tokens - math.prod(best) <= min(_MOST_LEADING, math.prod(best) - 1) else None


def _grid(patches: Sequence[int] | None, tokens: int, image: Array | None) -> list[int]:
    """Rows and columns of patches: those that are given, else square patches of the image as the model reads it, else a
    square of all tokens but a leading one or none."""
    if patches is not None:
        rows, columns = patches
        return [int(rows), int(columns)]
    if image is None:
        raise HeadlightError("patches=(rows, columns) are of an image")
    height, width = image.shape[-3:-1]
    by_shape = _grid_of_shape(tokens, height, width)
    square = next(
        ([edge, edge] for edge in (math.isqrt(tokens - 1), math.isqrt(tokens)) if edge and tokens - edge * edge in (0, 1)),
        None,
    )
    if by_shape is None and square is None:
        raise HeadlightError(
            f"{tokens} tokens are no patches of an image of {width} x {height} pixels: give patches=(rows, columns)"
        )
    if by_shape is None or by_shape == square:
        return square or []
    if square is not None and tokens - math.prod(by_shape) > 1:
        raise HeadlightError(
            f"{tokens} tokens are {by_shape[0]} x {by_shape[1]} patches and {tokens - math.prod(by_shape)} others, or "
            f"{square[0]} x {square[1]} patches of an image that was resized: give patches=(rows, columns)"
        )
    return by_shape


# The axis of an array that counts the tokens of an encoder or of the only stack, and of a decoder.
_TOKEN_AXES = {
    "": {
        "attention.0": -1, "k.0": -2, "encoder_attention.0": -1, "encoder_k.0": -2,
        "cross_attention.0": -1, "cross_k.0": -2, "decoder_attention.0": -1, "decoder_k.0": -2,
    },
    "query_": {"decoder_attention.0": -1, "decoder_k.0": -2, "cross_attention.0": -2, "cross_q.0": -2},
}  # fmt: skip


def _axes_of(name: str) -> tuple[int, ...]:
    kind = name.rpartition(".")[0].rpartition("_")[2]
    own: dict[str, tuple[int, ...]] = {"sinks": (1,), "o": (2,)}
    return own.get(kind, (3, 4))


def _of_lists(layer: Any, what: str) -> Any:
    """A layer, as an array where it is lists of numbers, as tolist() makes them."""
    first = layer
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if not isinstance(layer, (list, tuple)) or not isinstance(first, (int, float)):
        return layer
    try:
        return np.array(layer, dtype=np.float32)
    except ValueError:
        raise HeadlightError(f"{what} is lists of different lengths; give [batch, heads, queries, keys], 0 for padding") from None


def _layers(value: Any, what: str) -> tuple[list[Any], list[int] | None]:
    """The layers' arrays, and the model's numbers of these where others have none."""
    if value is None:
        return [], None
    if isinstance(value, str):
        raise HeadlightError(f"{what} is a text; give attention, or open a model: headlight.view(model={value!r}, text=...)")
    if hasattr(value, "get_seq_length"):
        raise HeadlightError(
            f"{what} is a cache of keys and values ({type(value).__name__}); give the model's output.attentions"
        )
    expect_numbers(value, what)
    if hasattr(value, "shape"):
        return list_of(value, what), None
    if not isinstance(value, Iterable):
        raise HeadlightError(f"{what} is a {type(value).__name__}; give a list with an array for each layer")
    layers = [_of_lists(layer, f"{what} of layer {number}") for number, layer in enumerate(value)]
    if not layers:
        return [], None
    for number, layer in enumerate(layers):
        expect_numbers(layer, f"{what} of layer {number}")
    expect_some(layers, what)
    kinds = [
        type(layer).__name__
        for layer in layers
        if not hasattr(layer, "shape") and not isinstance(layer, (list, tuple, type(None)))
    ]
    if not kinds and any(isinstance(layer, tuple) for layer in layers) and any(hasattr(layer, "shape") for layer in layers):
        kinds = ["tuple"]
    if kinds:
        raise HeadlightError(
            f"{what} holds a {kinds[0]}, as all that a model returned does; give its attentions alone, output.attentions, or "
            "run the model with return_dict=True"
        )
    layers, numbers = with_numbers(layers)
    return (layers_of(layers, what == "cross_attentions") if is_generated(layers) else layers), numbers


def _from_output(output: Any) -> dict[str, Any]:
    """The attentions of what a transformers model returned with output_attentions=True."""
    if hasattr(output, "beam_indices"):
        raise HeadlightError("the lines of beams change from token to token; generate with num_beams=1")
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    found = {name: getattr(output, name) for name in names if getattr(output, name, None) is not None}
    for name in ("attentions", "decoder_attentions"):
        layers = found.get(name)
        # With a filled cache a pass has fewer queries than keys, like the first one of generate().
        if layers and hasattr(layers[0], "shape") and layers[0].shape[-2] < layers[0].shape[-1]:
            found[name] = [layers]
    return found


def _ranges(mask: Any, tokens: int, is_generated: bool, what: str) -> tuple[list[int], list[int]]:
    """How many tokens of each line are real, and the first of them, of a mask that is 0 for padding. generate() goes on
    behind the mask of its prompt."""
    mask = as_host(mask) != 0
    mask = mask[None] if mask.ndim == 1 else mask
    if is_generated and mask.shape[1] < tokens:
        mask = np.pad(mask, ((0, 0), (0, tokens - mask.shape[1])), constant_values=True)
    if mask.ndim != 2 or mask.shape[1] != tokens:
        raise HeadlightError(f"{what} is {list(mask.shape)}, but the attention has {tokens} tokens")
    lengths, starts = mask.sum(-1), mask.argmax(-1)
    for line, (length, start) in enumerate(zip(lengths, starts)):
        if not mask[line, start : start + length].all():
            raise HeadlightError(f"{what} has holes in line {line + 1}; padding is before or after the tokens")
    return lengths.tolist(), starts.tolist()


def _looks_like_dropout(weights: Array) -> bool:
    """Are weights exactly 0 between others, and the others larger, so that rows don't sum to 1?"""
    rows = weights.reshape(-1, weights.shape[-1])
    sums = rows.sum(-1, dtype=np.float64)
    odd = np.abs(sums - 1) > 0.01
    if not (sums[odd] > 1).any() or (sums[odd] > 2.01).any() or (rows[odd] < 0).any():
        return False
    there = rows[odd] != 0
    first, last = there.argmax(-1), there.shape[-1] - 1 - there[:, ::-1].argmax(-1)
    return bool((there.sum(-1) < last - first + 1)[there.any(-1)].any())


def _line_json(line: Iterable[Any], read: int | None = None) -> str:
    """`read`: tokens that were read where one more was written; None: all were."""
    texts = [str(token) for token in plain(line)]
    return json.dumps(texts[:read] if read is not None and len(texts) == read + 1 else texts)


def _tokens_json(tokens: Any, read: int | None = None) -> str:
    """JSON of a list of tokens, or of a list of such lists, line by line: json.dumps() stops all other threads, and a batch
    of long lines as a whole would hold a training loop up for milliseconds. Ids are called by their digits."""
    tokens = plain(tokens)
    if tokens and not isinstance(tokens[0], str) and hasattr(tokens[0], "__iter__"):
        return "[" + ", ".join(_line_json(line, read) for line in tokens) + "]"
    return _line_json(tokens, read)


def _lines_of(tokens: Any) -> int | None:
    """How many lines of tokens there are; None: one, or none."""
    if tokens is None or isinstance(tokens, str):
        return None
    if hasattr(tokens, "shape"):
        return int(tokens.shape[0]) if len(tokens.shape) > 1 else None
    tokens = list(tokens)
    return len(tokens) if tokens and not isinstance(tokens[0], str) and hasattr(tokens[0], "__iter__") else None


def _as_one_head(layer: Any, what: str) -> Any:
    if not hasattr(layer, "shape") or len(layer.shape) != 3:
        raise HeadlightError(f"averaged {what} are [batch, queries, keys], not {[int(axis) for axis in np.shape(layer)]}")
    return layer[:, None]


class Capture:
    """Attention of all layers, and its tokens. Both are kept as they are given and read when they are saved or sent.

    image: of a vision model, whose tokens are patches of it, row by row: an array [height, width, 3] of uint8 or of floats 0
    to 1, a tensor, an image of Pillow, a path, or a batch of arrays. patches: their rows and columns, by default by the
    image's shape. first_patch: the token of the first one, by default so that the patches are the last tokens.
    attention_mask, decoder_attention_mask: what the model was given of a padded batch, [batch, tokens], 0 for padding; the
    second one of a decoder beside an encoder. cached: tokens that were in the cache before the pass, whose rows are missing.
    positions: images among words, for each line a list of {"image": 0, "patches": [rows, columns], "first": token}
    (docs/CAPTURES.md); encoder_positions, decoder_positions: among the tokens of these sides. images: those that they count, of
    any sizes, each as `image` has it.
    layers: the model's own numbers of the layers, where others have no attention; of a list with None in their places they are found.
    averaged: the arrays are [batch, queries, keys], means over heads, as nn.MultiheadAttention returns them; found by itself where
    there are as many lines of tokens as the first axis is long.
    scores: of queries and keys how scores are made: scale, softcap and window, each a number or a list with one for each layer.
    """

    @bordered
    def __init__(
        self,
        attentions: Any = None,
        tokens: Any = None,
        *,
        encoder_attentions: Any = None,
        decoder_attentions: Any = None,
        cross_attentions: Any = None,
        encoder_tokens: Any = None,
        decoder_tokens: Any = None,
        causal: bool = False,
        image: Any = None,
        patches: Sequence[int] | None = None,
        first_patch: int | None = None,
        attention_mask: Any = None,
        decoder_attention_mask: Any = None,
        cached: int = 0,
        scores: Mapping[str, Any] | None = None,
        positions: Any = None,
        encoder_positions: Any = None,
        decoder_positions: Any = None,
        images: Iterable[Any] | None = None,
        layers: Sequence[int] | None = None,
        averaged: bool = False,
    ):
        given: dict[str, Any] = {
            "attentions": attentions,
            "encoder_attentions": encoder_attentions,
            "decoder_attentions": decoder_attentions,
            "cross_attentions": cross_attentions,
        }
        is_output = attentions is not None and any(hasattr(attentions, name) for name in given)
        if is_output:
            given.update({"attentions": None}, **_from_output(attentions))
        self.tensors: dict[str, Any] = {}  #: arrays by the names of docs/CAPTURES.md, as they were given
        if not is_output and is_of_hooks(attentions):
            hooks = FromHooks(attentions)
            self.tensors.update(hooks.tensors)
            causal, layers = causal or hooks.is_causal, layers if layers is not None else hooks.layers
            given["attentions"] = None
        elif isinstance(attentions, dict) and not is_output:
            self.tensors.update(attentions)  # names as docs/CAPTURES.md has them
            for name, tensor in attentions.items():
                expect_numbers(tensor, name)
            given["attentions"] = None
        for name, of_name in given.items():
            found, numbers = _layers(of_name, name)
            if numbers is not None and name in ("attentions", "decoder_attentions") and layers is None:
                layers = numbers
            lines = {"attentions": tokens, "encoder_attentions": encoder_tokens}.get(name, decoder_tokens)
            if averaged or looks_averaged(found, _lines_of(lines)):
                averaged, found = True, [_as_one_head(layer, name) for layer in found]
            for index, layer in enumerate(found):
                self.tensors[f"{name[:-1]}.{index}"] = layer.detach() if hasattr(layer, "detach") else layer
        if not self.tensors:
            raise HeadlightError(NO_ATTENTION)
        self._is_averaged = averaged
        # generate() wrote one token more than its passes read.
        generated = [layer for layer in self.tensors.values() if isinstance(layer, GeneratedLayer)]
        self._cached = max([int(cached), *(layer.cached or 0 for layer in generated)])
        self._read_tokens = self._cached + generated[0].shape[2] if generated else None
        if generated and generated[0].shape[0] > 1 and not is_output:
            expect_no_beams(generated)
        self._scores = dict(scores or {})
        self._is_causal = bool(causal) or bool(generated)
        for name, lists in (("tokens", tokens), ("encoder_tokens", encoder_tokens), ("decoder_tokens", decoder_tokens)):
            if isinstance(lists, str):
                raise HeadlightError(f"{name} is one text; give a list with a text for each token")
        self._tokens = {"tokens": tokens, "key_tokens": encoder_tokens, "query_tokens": decoder_tokens}
        self._image = None if image is None else as_pixels(image)
        self._patches = None
        if image is not None or patches is not None:
            self._patches = _grid(patches, self._token_count("", "patches"), self._image)
        self._first_patch = first_patch
        self._layers = layers
        self._positions = {
            "positions": positions, "key_positions": encoder_positions, "query_positions": decoder_positions,
        }  # fmt: skip
        self._images = [] if images is None else [as_pixels(one) for one in images]
        if self._images and not any(self._positions.values()):
            raise HeadlightError(
                "images are those that positions count; give image= of a model whose tokens are all patches"
            )
        if self._images and image is not None:
            raise HeadlightError("give image=, or images= and positions=")
        self._masks = {"": (attention_mask, "attention_mask"), "query_": (decoder_attention_mask, "decoder_attention_mask")}

    def _token_count(self, side: str, what: str) -> int:
        for name, axis in _TOKEN_AXES[side].items():
            if name in self.tensors:
                return int(self.tensors[name].shape[axis]) + (self._cached if name.startswith("cross_") and side else 0)
        raise HeadlightError(f"{what}: there is no attention of these tokens (docs/CAPTURES.md)")

    def __repr__(self) -> str:
        shapes: dict[str, tuple[Any, int]] = {}  # of each kind its first array, and how many there are
        for name, tensor in self.tensors.items():
            kind = name.rpartition(".")[0] or name
            first, count = shapes.get(kind, (tensor, 0))
            shapes[kind] = first, count + 1
        parts = [f"{count} x {kind} {[int(axis) for axis in np.shape(first)]}" for kind, (first, count) in shapes.items()]
        return f"<headlight.Capture of {', '.join(parts)}{', means over heads' if self._is_averaged else ''}>"

    @staticmethod
    def of(attentions: Any, tokens: Any = None, *, of: str = "Capture.of", **options: Any) -> Capture:
        """`attentions` if it is a capture already, else one of it: also of a Run, and of what capturing() gives. of: the function
        that was called with these options."""
        known = inspect.signature(Capture.__init__).parameters
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                meant = f"; did you mean {near[0]}?" if near else ", nor has Capture()"
                raise HeadlightError(f"{of}() has no argument {name!r}{meant}")
        if not isinstance(attentions, Capture) and hasattr(attentions, "capture"):
            attentions = attentions.capture()
        return attentions if isinstance(attentions, Capture) else Capture(attentions, tokens, **options)

    @property
    @bordered
    def words(self) -> dict[str, str]:
        """The metadata: tokens as JSON, and the mask."""
        words = {"mask": "causal" if self._is_causal else "none"}
        for name, lists in self._tokens.items():
            if lists is not None:
                words[name] = _tokens_json(lists, None if name == "key_tokens" else self._read_tokens)
        for prefix, (mask, what) in self._masks.items():
            if mask is None:
                mask = self._found_mask(prefix)
            if mask is None:
                continue
            count = self._token_count(prefix, what)
            lengths, starts = _ranges(mask, count, self._read_tokens is not None, what)
            words[prefix + "lengths"], words[prefix + "starts"] = json.dumps(lengths), json.dumps(starts)
        words.update((name, json.dumps(lines)) for name, lines in self._positions.items() if lines is not None)
        if self._layers is not None:
            words["layers"] = json.dumps([int(layer) for layer in self._layers])
        if self._cached:
            words["cached"] = json.dumps(self._cached)
        words.update((name, numbers if name == "note" else json.dumps(numbers)) for name, numbers in self._scores.items())
        if self._patches is not None:
            words["patches"] = json.dumps(self._patches)
        if self._first_patch is not None:
            words["first_patch"] = json.dumps(int(self._first_patch))
        return words

    def _found_mask(self, prefix: str) -> list[list[int]] | None:
        """Padding that nothing says but tokens and weights."""
        name = "attention.0" if not prefix else "decoder_attention.0"
        name = "encoder_attention.0" if not prefix and name not in self.tensors else name
        lines = self._tokens["query_tokens" if prefix else "tokens" if name == "attention.0" else "key_tokens"]
        if name not in self.tensors or _lines_of(lines) is None or isinstance(self.tensors[name], GeneratedLayer):
            return None
        return padding_mask([[str(token) for token in plain(line)] for line in plain(lines)], self.tensors[name])

    @bordered
    def arrays(self) -> dict[str, Array]:
        """Arrays by name, on the host. Raises HeadlightError where one of them is no attention."""
        arrays = {name: as_array(tensor, _axes_of(name)) for name, tensor in self.tensors.items()}
        for name in ("attention.0", "encoder_attention.0", "decoder_attention.0", "cross_attention.0"):
            if name in arrays:
                self._look_at(name, arrays[name])
        if self._image is not None:
            arrays["image"] = self._image
        arrays.update((f"image.{number}", one) for number, one in enumerate(self._images))
        return arrays

    def _look_at(self, name: str, weights: Array) -> None:
        """Raises HeadlightError where self-attention isn't square, and warns of weights that dropout changed."""
        rows, keys = weights.shape[-2:]
        cached = 0 if name.startswith("encoder_") else self._cached
        if not name.startswith("cross_") and rows + cached != keys:
            hint = "save attention of windows (Longformer) with all keys, 0 outside of them"
            if rows < keys:
                hint = f"if the other {keys - rows} were in a cache, give cached={keys - rows}; logits and hidden states are no attention"
            raise HeadlightError(
                f"{name} has {rows} queries and {keys} keys, but the tokens of self-attention are both; {hint}"
            )
        if _looks_like_dropout(weights):
            warnings.warn(f"headlight: {name} looks like dropout; call model.eval() before the pass", stacklevel=2)

    @bordered
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .safetensors file that `headlight FILE` opens. Raises HeadlightError; an old file stays then."""
        path = os.fspath(path)
        if not path.endswith(".safetensors"):
            raise HeadlightError(f"{path} doesn't end in .safetensors")
        pieces = self.pieces()
        first = next(pieces)  # reads all arrays, so that nothing is written where one of them is none
        part = f"{path}.{os.getpid()}.part"
        try:
            with open(part, "wb") as file:
                file.write(first)
                for piece in pieces:
                    file.write(piece)
            os.replace(part, path)  # a full disk leaves the old file as it was
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise

    @bordered
    def view(self, *, tab: str | None = None, wait: float = 10.0, flags: Sequence[Any] = ()) -> Window:
        """Opens it in the window, as headlight.view() does."""
        folder = tempfile.mkdtemp(prefix="headlight-")
        try:
            arguments = self._saved(folder) + [str(flag) for flag in flags] + (["--tab", tab] if tab else [])
            return open_window(arguments, folder, wait)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @bordered
    def page(self, *, height: int = 640, flags: Sequence[Any] = ()) -> Page:
        """Its page, as headlight.page() makes it."""
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            return make_page(self._saved(folder) + [str(flag) for flag in flags], folder, height)

    @bordered
    def show(self, *, height: int = 640, flags: Sequence[Any] = ()) -> None:
        """Shows its page in a notebook."""
        expect_notebook()
        display(self.page(height=height, flags=flags))

    def _saved(self, folder: str) -> list[str]:
        path = os.path.join(folder, "capture.safetensors")
        self.save(path)
        return ["--capture", path]

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The bytes of a .safetensors file, piece by piece, without a copy of the arrays."""
        header: dict[str, Any] = {"__metadata__": self.words}
        arrays, offset = [], 0
        for name, array in self.arrays().items():
            header[name] = {
                "dtype": TYPES[array.dtype.name],
                "shape": list(array.shape),
                "data_offsets": [offset, offset + array.nbytes],
            }
            offset += array.nbytes
            arrays.append(array)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        yield len(text).to_bytes(8, "little") + text
        for array in arrays:
            yield array.data.cast("B") if array.size else b""
