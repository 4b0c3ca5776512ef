"""Attention of generate(), token by token, as the attention of one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import Array, as_array
from ._program import HeadlightError


def is_generated(layers: Sequence[Any]) -> bool:
    """Is this what generate() returned: for each of its passes the layers, in place of the layers of one pass?"""
    return bool(layers) and isinstance(layers[0], (list, tuple)) and bool(layers[0]) and hasattr(layers[0][0], "shape")


class GeneratedLayer:
    """The rows of one layer, pass after pass: each has the keys that there were then. Cells of later keys are 0. The arrays
    are read when an array is asked for.

    cached: tokens that were in the cache before the first pass, whose keys are there and whose rows are not; None: this layer
    doesn't tell, because its window has lost some.
    """

    def __init__(self, passes: Sequence[Any], is_cross: bool = False):
        self._passes = [part.detach() if hasattr(part, "detach") else part for part in passes]
        shapes = [tuple(part.shape) for part in self._passes]
        if any(len(shape) != 4 or shape[:2] != shapes[0][:2] for shape in shapes):
            raise HeadlightError("the passes of generate() differ in lines or heads; generate with num_beams=1")
        rows = [shape[2] for shape in shapes]
        grow = len(rows) > 1 and rows == list(range(rows[0], rows[0] + len(rows)))
        if grow and (
            is_cross or all(shape[2] == shape[3] for shape in shapes)
        ):  # without a cache the last pass has all rows
            self._passes, shapes, rows = self._passes[-1:], shapes[-1:], rows[-1:]
        self._is_cross = is_cross
        self._rows, self._keys = rows, [shape[3] for shape in shapes]
        self._heads: tuple[int, int] = shapes[0][:2]
        self.cached = 0 if is_cross else self._count_cached()

    @property
    def shape(self) -> tuple[int, int, int, int]:
        rows = sum(self._rows)
        return (*self._heads, rows, self._keys[0] if self._is_cross else (self.cached or 0) + rows)

    def first_pass(self) -> Array:
        """The first pass's rows, on the host."""
        return as_array(self._passes[0])

    def _count_cached(self) -> int | None:
        rows, keys = self._rows, self._keys
        if keys[0] < rows[0]:
            raise HeadlightError(
                f"the first pass of generate() has {rows[0]} queries and {keys[0]} keys, which is no attention to all tokens"
            )
        if keys[0] == rows[0]:
            return 0
        if len(keys) > 1 and all(after - before == row for before, after, row in zip(keys, keys[1:], rows[1:])):
            return int(keys[0] - rows[0])
        if len(set(keys)) > 1:
            return None
        # A static cache has room for keys that there aren't yet: the last query sees itself last.
        seen = np.flatnonzero(self.first_pass()[:, :, -1].any(axis=(0, 1)))
        cached = int(seen[-1]) + 1 - rows[0] if seen.size else -1
        return cached if 0 <= cached and cached + sum(rows) <= keys[0] else None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        parts = [as_array(part) for part in self._passes]
        if self._is_cross:
            whole = np.concatenate(parts, axis=2)
            return whole if dtype is None else whole.astype(dtype)
        if self.cached and np.triu(parts[0], self.cached + 1).any():
            raise HeadlightError(
                f"attention whose first pass has {self._rows[0]} queries and {self._keys[0]} keys is not causal, so it can't be of a filled cache"
            )
        whole, row, cached = np.zeros(self.shape, parts[0].dtype), 0, self.cached or 0
        for part in parts:
            rows, keys = part.shape[2:]
            end = cached + row + rows
            known = min(keys, end)  # of a static cache the first ones, of a sliding window the last ones
            if part[..., known:].any():
                raise HeadlightError(
                    f"a pass of generate() gives weight to key {known}, but {end} tokens were read until then"
                )
            whole[:, :, row : row + rows, end - known : end] = part[..., :known]
            row += rows
        return whole if dtype is None else whole.astype(dtype)


def layers_of(passes: Sequence[Sequence[Any]], is_cross: bool = False) -> list[GeneratedLayer]:
    """The layers of what generate() returned."""
    count = {len(layers) for layers in passes}
    if len(count) != 1:
        raise HeadlightError("the passes of generate() have different numbers of layers")
    layers = [GeneratedLayer([one[index] for one in passes], is_cross) for index in range(count.pop())]
    known = [layer.cached for layer in layers if layer.cached is not None]
    if not known:
        raise HeadlightError(
            "the layers don't tell how many tokens were in the cache when generate() began; generate without a filled cache"
        )
    for layer in layers:
        layer.cached = max(known)  # one that knows of fewer has a window
    return layers


def expect_no_beams(layers: Sequence[GeneratedLayer]) -> None:
    """Of the attentions alone, which don't say whether they are of beams: these begin with the same weights, line after line,
    and change places later. Raises HeadlightError where two lines do."""
    lines = layers[0].shape[0]
    same = [True] * (lines - 1)
    for layer in layers:
        if not any(same):
            return
        part = layer.first_pass()
        same = [is_same and np.allclose(part[i], part[i + 1], atol=1e-6) for i, is_same in enumerate(same)]
    if any(same):
        line = same.index(True) + 1
        raise HeadlightError(
            f"lines {line} and {line + 1} begin with the same weights, as beams do, whose lines change from token to token; "
            "give all that generate() returned instead of its attentions, and generate with num_beams=1"
        )
