"""Attention as the program reads it: arrays by name, and tokens (docs/CAPTURES.md)."""

import json
import os

import numpy as np

from ._program import HeadlightError

_TYPES = {"float16": "F16", "float32": "F32", "float64": "F64"}


def as_array(value):
    """A numpy array of a type that a capture has; of a tensor of PyTorch or JAX without its gradients."""
    if hasattr(value, "detach"):
        value = value.detach()
        if "float16" not in str(value.dtype) or "bfloat16" in str(value.dtype):
            value = value.float() if "float64" not in str(value.dtype) else value
        value = value.cpu().numpy()
    array = np.asarray(value)
    if array.dtype.name not in _TYPES:
        array = array.astype(np.float32)
    if array.ndim not in (3, 4):
        raise HeadlightError(
            f"attention of a layer is [batch, heads, queries, keys] or [heads, queries, keys], not {list(array.shape)}"
        )
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)


def _layers(value, what):
    if value is None:
        return []
    if hasattr(value, "shape"):
        raise HeadlightError(f"{what} is one array; give a list with an array for each layer")
    return list(value)


def _from_output(output):
    """The attentions of what a transformers model returned with output_attentions=True."""
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    return {name: getattr(output, name) for name in names if getattr(output, name, None) is not None}


def _line_json(line):
    return json.dumps([str(token) for token in line])


def _tokens_json(tokens):
    """JSON of a list of tokens, or of a list of such lists, line by line: json.dumps() stops all other threads, and a batch
    of long lines as a whole would hold a training loop up for milliseconds."""
    tokens = list(tokens)
    if tokens and not isinstance(tokens[0], str):
        return "[" + ", ".join(_line_json(line) for line in tokens) + "]"
    return _line_json(tokens)


class Capture:
    """Attention of all layers, and its tokens. Both are kept as they are given and read when they are saved or sent."""

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
            raise HeadlightError("there is no attention; load the model with attn_implementation='eager' and run it with "
                                 "output_attentions=True")
        self._is_causal = bool(causal)
        self._tokens = {"tokens": tokens, "key_tokens": encoder_tokens, "query_tokens": decoder_tokens}

    @staticmethod
    def of(attentions, tokens=None, **options):
        """`attentions` if it is a capture already, else one of it."""
        return attentions if isinstance(attentions, Capture) else Capture(attentions, tokens, **options)

    @property
    def words(self):
        """The metadata: tokens as JSON, and the mask."""
        words = {"mask": "causal" if self._is_causal else "none"}
        words.update({name: _tokens_json(lists) for name, lists in self._tokens.items() if lists is not None})
        return words

    def arrays(self):
        """Arrays by name, on the host."""
        return {name: as_array(tensor) for name, tensor in self.tensors.items()}

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
