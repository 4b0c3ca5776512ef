"""Calls of attention in several passes (a filled cache, a prompt in chunks, token by token) as those of one."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._program import HeadlightError


class Pass:
    """What one forward pass read, and the calls of its layers. past: tokens that were in its cache; None: it didn't say.
    of_encoder: of an encoder alone, as generate() runs it."""

    def __init__(self, inputs: Mapping[str, Any] | None = None, of_encoder: bool = False):
        self.inputs = inputs or {}
        self.of_encoder = of_encoder
        # Called past_key_values, cache or otherwise, by the version.
        cache = next((value for value in self.inputs.values() if hasattr(value, "get_seq_length")), None)
        self.past = _cached_tokens(cache)
        self.has_room = bool(getattr(cache, "is_compileable", False))  # a static cache, which writes into the keys of calls
        self.calls: list[Any] = []

    @property
    def ids(self) -> Any:
        """[lines, tokens] of the decoder or of the only stack; None: it was given vectors."""
        ids = self.inputs.get("decoder_input_ids")
        return self.inputs.get("input_ids") if ids is None else ids


def inputs_of(module: Any, args: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """A pass's inputs by the names that the model has for them."""
    try:
        return dict(inspect.signature(module.forward).bind_partial(*args, **options).arguments, **options)
    except TypeError:  # the pass will say so itself
        return dict(options)


def _cached_tokens(cache: Any) -> int | None:
    if cache is None:
        return 0
    try:
        return int(cache.get_seq_length())
    except Exception:  # a cache of a kind of its own: the keys say it
        return None


class Joined:
    """The rows of one layer's calls, pass after pass: what a call has, of all tokens that were read. cached: tokens before
    the first row, whose keys are there and whose rows are not."""

    def __init__(self, module: Any, name: str):
        self.module, self._name = module, name
        self.cached = 0
        self._pieces: list[
            tuple[int, Any, int, int]
        ] = []  # (first row, call, first key of the call's keys, how many of them are real)
        self.key: Any = None
        self.value: Any = None

    def add(self, call: Any, past: int, is_cross: bool, follows: bool) -> None:
        """`past`: tokens before the call's first; `follows`: earlier rows stay, and are made one with these."""
        rows, keys = call.query.shape[2], call.key.shape[2]
        if self.key is None or not follows or not past:
            self._pieces, self.key, self.cached = [], None, past
        self._pieces = [piece for piece in self._pieces if piece[0] < past]  # a cache that was cut is read on from there
        if is_cross or not follows:
            self._pieces.append((past, call, 0, keys))
            self.key, self.value = call.key, call.value
            return
        keys = min(keys, past + rows)  # a static cache has room for keys that there aren't yet
        first = past + rows - keys  # a window's cache has lost the first ones
        if first > past:
            raise HeadlightError(f"{self._name} has {rows} queries and {keys} keys: its queries are not its last keys")
        key, value = (part[:, :, :keys] for part in (call.key, call.value))
        if self.key is None:
            self.key, self.value = (_after_zeros(part, first) for part in (key, value))
        else:
            self._expect_same_keys(key, first, past)
            self.key, self.value = (
                _cat([old[:, :, :past], new[:, :, past - first :]]) for old, new in ((self.key, key), (self.value, value))
            )
        self._pieces.append((past, call, first, keys))

    def _expect_same_keys(self, key: Any, first: int, past: int) -> None:
        import torch

        have = self.key.shape[2]
        if key.shape[:2] != self.key.shape[:2]:
            raise HeadlightError(f"{self._name}: a pass has {key.shape[0]} lines, the one before {self.key.shape[0]}")
        if past > have:
            raise HeadlightError(
                f"{self._name}: a pass goes on at token {past}, but {have} were read; keep all passes of a text inside of "
                "capturing()"
            )
        if not torch.equal(self.key[:, :, first:past], key[:, :, : past - first]):
            raise HeadlightError(
                f"{self._name}: keys of tokens that were read before changed from pass to pass, as those of beams do "
                "(generate with num_beams=1), or of a cache that rounds them"
            )

    def call(self) -> Any:
        """All of it as one call, which is what there was where there was one pass without a cache."""
        names = ("module", "query", "key", "value", "scale", "softcap", "sinks", "is_causal", "bias", "is_visible", "cached")
        return types.SimpleNamespace(**{name: getattr(self, name) for name in names})

    @property
    def query(self) -> Any:
        return _cat([call.query[:, :, : self._rows(index)] for index, (_, call, _, _) in enumerate(self._pieces)])

    def _rows(self, index: int) -> int:
        """Rows of a piece that no later one replaced."""
        first, call = self._pieces[index][:2]
        end = self._pieces[index + 1][0] if index + 1 < len(self._pieces) else first + call.query.shape[2]
        return min(int(call.query.shape[2]), end - first)

    def _first(self, name: str) -> Any:
        return getattr(self._pieces[0][1], name)

    scale = property(lambda self: self._first("scale"))
    softcap = property(lambda self: self._first("softcap"))
    sinks = property(lambda self: self._first("sinks"))
    is_causal = property(lambda self: len(self._pieces) == 1 and not self.cached and self._first("is_causal"))

    @property
    def bias(self) -> Any:
        """[lines or 1, heads or 1, queries, keys]; None: none of the pieces has one."""
        if all(call.bias is None for _, call, _, _ in self._pieces):
            return None
        return self._whole(lambda call, rows: call.bias[..., :rows, :] if call.bias is not None else None, 0.0)

    @property
    def is_visible(self) -> Any:
        if self._is_plain():
            return self._pieces[0][1].is_visible
        return self._whole(_visible, False)

    def _is_plain(self) -> bool:
        first, call, _, keys = self._pieces[0]
        return len(self._pieces) == 1 and not first and keys == call.key.shape[2]

    def _whole(self, part_of: Callable[[Any, int], Any], otherwise: float) -> Any:
        """Cells of all pieces; `otherwise` where a piece has no key."""
        import torch

        parts, total = [], self.key.shape[2]
        for index, (_, call, first, keys) in enumerate(self._pieces):
            rows, keys = self._rows(index), min(keys, total - first)
            part = part_of(call, rows)
            if part is None:
                part = call.query.new_zeros((1, 1, rows, keys))
            part = part[..., :keys].expand(*part.shape[:2], rows, keys)
            whole = part.new_full((*part.shape[:2], rows, total), otherwise)
            whole[..., first : first + keys] = part
            parts.append(whole)
        lines, heads = (max(part.shape[axis] for part in parts) for axis in (0, 1))
        return torch.cat([part.expand(lines, heads, *part.shape[2:]) for part in parts], dim=2)


def _visible(call: Any, rows: int) -> Any:
    import torch

    if call.is_visible is not None:
        return call.is_visible[..., :rows, :]
    visible = torch.ones((1, 1, rows, call.key.shape[2]), dtype=torch.bool, device=call.query.device)
    return visible.tril() if call.is_causal else visible


def _after_zeros(part: Any, count: int) -> Any:
    if not count:
        return part
    return _cat([part.new_zeros((*part.shape[:2], count, part.shape[3])), part])


def _cat(parts: Sequence[Any]) -> Any:
    import torch

    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=2)
