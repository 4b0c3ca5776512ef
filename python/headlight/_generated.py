"""Attention of generate(), token by token, as the attention of one pass."""

import numpy as np

from ._program import HeadlightError


def is_generated(layers):
    """Is this what generate() returned: for each of its passes the layers, in place of the layers of one pass?"""
    return bool(layers) and isinstance(layers[0], (list, tuple)) and bool(layers[0]) and hasattr(layers[0][0], "shape")


class GeneratedLayer:
    """The rows of one layer, pass after pass: each has the keys that there were then. Cells of later keys are 0. The arrays
    are read when an array is asked for."""

    def __init__(self, passes, is_cross=False):
        self._passes = [part.detach() if hasattr(part, "detach") else part for part in passes]
        shapes = [tuple(part.shape) for part in self._passes]
        rows = sum(shape[-2] for shape in shapes)
        if any(len(shape) != 4 or shape[:2] != shapes[0][:2] for shape in shapes):
            raise HeadlightError("the passes of generate() differ in lines or heads; generate with num_beams=1")
        self._is_cross = is_cross
        self.shape = (*shapes[0][:2], rows, shapes[0][-1] if is_cross else rows)

    def __array__(self, dtype=None, copy=None):
        from ._captures import as_array

        parts = [as_array(part) for part in self._passes]
        if self._is_cross:
            whole = np.concatenate(parts, axis=2)
            return whole if dtype is None else whole.astype(dtype)
        whole, row = np.zeros(self.shape, parts[0].dtype), 0
        for part in parts:
            rows, keys = part.shape[2:]
            # A static cache has room for keys that there aren't yet, a sliding window has the last ones only.
            known = min(keys, row + rows)
            whole[:, :, row : row + rows, row + rows - known : row + rows] = part[..., :known]
            row += rows
        return whole if dtype is None else whole.astype(dtype)


def layers_of(passes, is_cross=False):
    """The layers of what generate() returned."""
    count = {len(layers) for layers in passes}
    if len(count) != 1:
        raise HeadlightError("the passes of generate() have different numbers of layers")
    return [GeneratedLayer([layers[index] for layers in passes], is_cross) for index in range(count.pop())]
