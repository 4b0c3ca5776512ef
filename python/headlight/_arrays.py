"""Arrays of numpy, PyTorch and JAX, and images, as numpy arrays of the types that a capture has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ._program import HeadlightError

Array = npt.NDArray[Any]


class ArraysByName(Mapping[str, Array]):
    """A read-only dictionary of arrays."""

    _arrays: dict[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


TYPES = {"float16": "F16", "float32": "F32", "float64": "F64", "uint8": "U8"}


def expect_numbers(value: Any, what: str) -> None:
    """Raises HeadlightError for a tensor without a shape or without numbers."""
    if getattr(value, "is_nested", False):
        raise HeadlightError(
            f"{what} is a nested tensor, whose lines have shapes of their own; give torch.nested.to_padded_tensor(…, 0.0) and "
            "the batch's attention_mask"
        )
    if getattr(value, "is_meta", False):
        raise HeadlightError(f"{what} has a shape and no numbers (PyTorch's device meta); run the model on a real device")


def plain(tokens: Any) -> Any:
    """Tokens as lists: of an array or a tensor, or of a list of such."""
    if hasattr(tokens, "tolist"):
        return tokens.tolist()
    return [token.tolist() if hasattr(token, "tolist") else token for token in tokens]


def as_host(value: Any) -> Array:
    """A numpy array; of a tensor of PyTorch or JAX without its gradients, of a type that numpy has."""
    if hasattr(value, "detach"):
        value = value.detach()
        if str(getattr(value, "layout", "torch.strided")) != "torch.strided":  # a sparse one
            value = value.to_dense()
        if "float16" not in str(value.dtype) or "bfloat16" in str(value.dtype):
            value = value.float() if "float64" not in str(value.dtype) else value
        value = value.cpu().numpy()
    return np.asarray(value)


def as_array(value: Any, axes: tuple[int, ...] = (3, 4)) -> Array:
    """A numpy array of a type that a capture has, with one of these numbers of axes."""
    array = as_host(value)
    if array.dtype.name not in TYPES or array.dtype == np.uint8:  # U8 is of images alone
        array = array.astype(np.float32)
    if array.ndim not in axes:
        raise HeadlightError(
            f"attention of a layer is [batch, heads, queries, keys] or [heads, queries, keys], not {list(array.shape)}"
        )
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)


def as_pixels(image: Any) -> Array:
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
