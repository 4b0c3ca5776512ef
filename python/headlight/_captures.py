"""Attention as the program reads it: arrays by name, tokens and images (docs/CAPTURES.md)."""

import json
import math
import os

import numpy as np

from ._generated import GeneratedLayer, is_generated, layers_of
from ._program import HeadlightError

_TYPES = {"float16": "F16", "float32": "F32", "float64": "F64", "uint8": "U8"}


def as_array(value):
    """A numpy array of a type that a capture has; of a tensor of PyTorch or JAX without its gradients."""
    if hasattr(value, "detach"):
        value = value.detach()
        if "float16" not in str(value.dtype) or "bfloat16" in str(value.dtype):
            value = value.float() if "float64" not in str(value.dtype) else value
        value = value.cpu().numpy()
    array = np.asarray(value)
    if array.dtype.name not in _TYPES or array.dtype == np.uint8:  # U8 is of images alone
        array = array.astype(np.float32)
    if array.ndim not in (3, 4):
        raise HeadlightError(
            f"attention of a layer is [batch, heads, queries, keys] or [heads, queries, keys], not {list(array.shape)}"
        )
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)


def as_pixels(image):
    """An image [height, width, 3], or a batch of such, of uint8 or of floats 0 to 1: of an array, a tensor (also
    [3, height, width]), an image of Pillow, or a path that Pillow opens."""
    if isinstance(image, (str, os.PathLike)):
        try:
            from PIL import Image
        except ImportError:
            raise HeadlightError(f"{os.fspath(image)}: install Pillow, or give the image as an array") from None
        with Image.open(image) as opened:
            image = opened.convert("RGB")
    elif hasattr(image, "convert"):
        image = image.convert("RGB")
    if hasattr(image, "detach"):
        image = image.detach().float().cpu().numpy() if "uint8" not in str(image.dtype) else image.detach().cpu().numpy()
    array = np.asarray(image)
    if array.ndim not in (3, 4) or 3 not in (array.shape[-1], array.shape[-3]):
        raise HeadlightError(
            f"an image is [height, width, 3] or [3, height, width], or a batch of such, not {list(array.shape)}; "
            "several images of different sizes are files (docs/CAPTURES.md)"
        )
    if array.shape[-1] != 3:
        array = np.moveaxis(array, -3, -1)
    if array.dtype != np.uint8:
        array = array.astype(np.float32)
    return np.ascontiguousarray(array)


def _grid(patches, tokens):
    """Rows and columns of patches: those that are given, or a square of all tokens but a leading one or none."""
    if patches is not None:
        rows, columns = patches
        return [int(rows), int(columns)]
    for count in (tokens - 1, tokens):
        edge = math.isqrt(count)
        if count > 0 and edge * edge == count:
            return [edge, edge]
    raise HeadlightError(f"{tokens} tokens are no square of patches: give patches=(rows, columns)")


_NO_ATTENTION = "there is no attention; load the model with attn_implementation='eager' and run it with output_attentions=True"


def _layers(value, what):
    if value is None:
        return []
    if hasattr(value, "shape"):
        raise HeadlightError(f"{what} is one array; give a list with an array for each layer")
    layers = list(value)
    if any(layer is None for layer in layers):
        raise HeadlightError(_NO_ATTENTION)
    return layers_of(layers, what == "cross_attentions") if is_generated(layers) else layers


def _from_output(output):
    """The attentions of what a transformers model returned with output_attentions=True."""
    if getattr(output, "beam_indices", None) is not None:
        raise HeadlightError("the lines of beams change from token to token; generate with num_beams=1")
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    return {name: getattr(output, name) for name in names if getattr(output, name, None) is not None}


def _line_json(line, read=None):
    """`read`: tokens that were read where one more was written; None: all were."""
    texts = [str(token) for token in line]
    return json.dumps(texts[:read] if read is not None and len(texts) == read + 1 else texts)


def _tokens_json(tokens, read=None):
    """JSON of a list of tokens, or of a list of such lists, line by line: json.dumps() stops all other threads, and a batch
    of long lines as a whole would hold a training loop up for milliseconds. Ids are called by their digits."""
    tokens = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
    if tokens and not isinstance(tokens[0], str) and hasattr(tokens[0], "__iter__"):
        return "[" + ", ".join(_line_json(line, read) for line in tokens) + "]"
    return _line_json(tokens, read)


class Capture:
    """Attention of all layers, and its tokens. Both are kept as they are given and read when they are saved or sent.

    image: of a vision model, whose tokens are patches of it, row by row: an array [height, width, 3] of uint8 or of floats 0
    to 1, a tensor, an image of Pillow, a path, or a batch of arrays. patches: their rows and columns, by default those of a
    square. first_patch: the token of the first one, by default so that the patches are the last tokens.
    """

    def __init__(
        self,
        attentions=None,
        tokens=None,
        *,
        encoder_attentions=None,
        decoder_attentions=None,
        cross_attentions=None,
        encoder_tokens=None,
        decoder_tokens=None,
        causal=False,
        image=None,
        patches=None,
        first_patch=None,
    ):
        given = {
            "attentions": attentions,
            "encoder_attentions": encoder_attentions,
            "decoder_attentions": decoder_attentions,
            "cross_attentions": cross_attentions,
        }
        is_output = attentions is not None and any(hasattr(attentions, name) for name in given)
        if is_output:
            given.update({"attentions": None}, **_from_output(attentions))
        self.tensors = {}
        if isinstance(attentions, dict) and not is_output:
            self.tensors.update(attentions)  # names as docs/CAPTURES.md has them
            given["attentions"] = None
        for name, layers in given.items():
            prefix = {"attentions": "attention"}.get(name, name[:-1])
            for index, layer in enumerate(_layers(layers, name)):
                self.tensors[f"{prefix}.{index}"] = layer.detach() if hasattr(layer, "detach") else layer
        if not self.tensors:
            raise HeadlightError(_NO_ATTENTION)
        # generate() wrote one token more than its passes read.
        generated = [layer for layer in self.tensors.values() if isinstance(layer, GeneratedLayer)]
        self._read_tokens = generated[0].shape[2] if generated else None
        self._is_causal = bool(causal) or bool(generated)
        self._tokens = {"tokens": tokens, "key_tokens": encoder_tokens, "query_tokens": decoder_tokens}
        self._image = None if image is None else as_pixels(image)
        self._patches = None
        if image is not None or patches is not None:
            self._patches = _grid(patches, self._source_tokens())
        self._first_patch = first_patch

    def _source_tokens(self):
        """Tokens of an encoder or of the only stack: those that patches can be."""
        for prefix in ("", "encoder_", "cross_"):
            for name in ("attention.0", "k.0"):
                if prefix + name in self.tensors:
                    shape = self.tensors[prefix + name].shape
                    return int(shape[-1] if name == "attention.0" else shape[-2])
        raise HeadlightError("patches are the tokens of an encoder, or of a single stack called attention.0, …")

    @staticmethod
    def of(attentions, tokens=None, **options):
        """`attentions` if it is a capture already, else one of it."""
        return attentions if isinstance(attentions, Capture) else Capture(attentions, tokens, **options)

    @property
    def words(self):
        """The metadata: tokens as JSON, and the mask."""
        words = {"mask": "causal" if self._is_causal else "none"}
        for name, lists in self._tokens.items():
            if lists is not None:
                words[name] = _tokens_json(lists, None if name == "key_tokens" else self._read_tokens)
        if self._patches is not None:
            words["patches"] = json.dumps(self._patches)
        if self._first_patch is not None:
            words["first_patch"] = json.dumps(int(self._first_patch))
        return words

    def arrays(self):
        """Arrays by name, on the host."""
        arrays = {name: as_array(tensor) for name, tensor in self.tensors.items()}
        if self._image is not None:
            arrays["image"] = self._image
        return arrays

    def save(self, path):
        """Writes a .safetensors file that `headlight FILE` opens."""
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

    def pieces(self):
        """The bytes of a .safetensors file, piece by piece, without a copy of the arrays."""
        header, arrays, offset = {"__metadata__": self.words}, [], 0
        for name, array in self.arrays().items():
            header[name] = {
                "dtype": _TYPES[array.dtype.name],
                "shape": list(array.shape),
                "data_offsets": [offset, offset + array.nbytes],
            }
            offset += array.nbytes
            arrays.append(array)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        yield len(text).to_bytes(8, "little") + text
        for array in arrays:
            yield memoryview(array).cast("B") if array.size else b""

    def view(self, **options):
        from ._windows import view

        return view(self, **options)

    def show(self, **options):
        from ._pages import show

        return show(self, **options)
