"""The live link: attention goes to an open window while a network trains. docs/LIVE_LINK.md describes the protocol."""

from __future__ import annotations

import collections
import contextlib
import json
import math
import os
import socket
import struct
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ._captures import Capture
from ._program import HeadlightError, bordered
from ._windows import Window, sockets

_HEAD = struct.Struct("<4sHHqQ")  # magic, version, kind, step, bytes of the payload
_MAGIC, _VERSION = b"HLNK", 1
_HELLO, _CAPTURE, _SCALARS, _WELCOME, _KEPT, _REFUSED, _BUSY = 1, 2, 3, 101, 102, 103, 104
_LARGEST_ANSWER = 1 << 16
_QUEUE = 4
_MOST_SCALARS, _LONGEST_NAME = 64, 100
_LAST_STEP = 1 << 53
_LONGEST_SCALARS = 16 << 10  # bytes of a step's numbers as JSON


def _numbers(loss: Any, scalars: Mapping[str, Any] | None) -> dict[str, float]:
    """What is logged of a step beside its attention, as the window takes it."""
    numbers = {str(name): float(value) for name, value in (scalars or {}).items()}
    if loss is not None:
        numbers["loss"] = float(loss)
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise HeadlightError(f"{name} is {value}: scalars are finite")
        if not 0 < len(name.encode()) <= _LONGEST_NAME or not name.isprintable():
            raise HeadlightError(f"{name!r} is no name of a scalar: 1 to {_LONGEST_NAME} printable bytes")
    if len(numbers) > _MOST_SCALARS:
        raise HeadlightError(f"{len(numbers)} scalars are more than {_MOST_SCALARS}")
    if len(json.dumps(numbers)) > _LONGEST_SCALARS:
        raise HeadlightError(f"the scalars have more than {_LONGEST_SCALARS >> 10} KiB of names and numbers; log fewer of them")
    return numbers


class _Connection:
    """One socket, and the messages that go over it."""

    def __init__(self, path: str, name: str, patience: float):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.settimeout(patience)
            self.socket.connect(path)
            peer = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            if struct.unpack("3i", peer)[1] != os.geteuid():
                raise OSError("the window is another user's")
            self.send(_HELLO, [name.encode()[:256].decode(errors="ignore").encode()])
            kind, _, text = self.answer()
            if kind != _WELCOME:
                raise OSError("another program is linked" if kind == _BUSY else text)
            self.terms = json.loads(text)
        except BaseException:
            self.socket.close()
            raise

    def send(self, kind: int, pieces: Sequence[bytes | memoryview], step: int = 0) -> None:
        size = sum(memoryview(piece).nbytes for piece in pieces)
        self.socket.sendall(_HEAD.pack(_MAGIC, _VERSION, kind, step, size))
        for piece in pieces:
            self.socket.sendall(piece)

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self.socket.recv(size - len(parts))
            if not part:
                raise OSError("the window was closed")
            parts += part
        return bytes(parts)

    def answer(self) -> tuple[int, int, str]:
        magic, version, kind, step, size = _HEAD.unpack(self._receive(_HEAD.size))
        if magic != _MAGIC or version != _VERSION or size > _LARGEST_ANSWER:
            raise OSError("this socket is no window's of this version")
        return kind, step, self._receive(size).decode(errors="replace")


class Link:
    """A window that takes captures. log() may be called in a training loop: it keeps what it is given in a queue and returns;
    a thread reads the arrays and sends them. Where the window can't follow, the oldest of the queue are dropped."""

    def __init__(self, connection: _Connection, window: Window | None = None, queue: int = _QUEUE):
        self._connection, self.window = connection, window
        self._queue: collections.deque[tuple[int, Capture | None, dict[str, float]]] = collections.deque()
        self._size = max(int(queue), 1)
        self._changed = threading.Condition()
        self._is_sending = False
        self._is_closing = False
        self._has_lost = False  # something that was logged, because the link ended before it was sent, or was no more
        self.sent = 0  #: captures that the window keeps
        self.dropped = 0  #: captures that were replaced by newer ones before they were sent
        self.refused = 0  #: captures that the window didn't take
        self.problem: str | None = None  #: why the last one was refused, or the link ended
        self._thread = threading.Thread(target=self._serve, name="headlight-link", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        state = "open" if self.is_open else self.problem or "closed"
        return f"<headlight.Link: {state}; {self.sent} sent, {self.dropped} dropped, {self.refused} refused>"

    @property
    def is_open(self) -> bool:
        """Does it take captures?"""
        return self._thread.is_alive() and not self._is_closing

    @bordered
    def log(
        self,
        attentions: Any = None,
        tokens: Any = None,
        *,
        step: int,
        loss: Any = None,
        scalars: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Sends attention of one step of training, as view() takes it, its loss and other numbers by name, which the window
        draws as curves. Either may be left out. Returns at once; a number that isn't finite raises HeadlightError.

        Arrays and tokens are read later, by the link's own thread: don't write into them afterwards, or give copies.
        """
        step = int(step)
        if not 0 <= step <= _LAST_STEP:
            raise HeadlightError(f"step is {step}; steps are 0 to {_LAST_STEP}")
        numbers = _numbers(loss, scalars)
        if attentions is None and not numbers:
            raise HeadlightError("there is nothing to log: give attentions, loss= or scalars=")
        capture = None if attentions is None else Capture.of(attentions, tokens, of="log", **options)
        with self._changed:
            if not self.is_open:
                self.dropped += 1
                self._has_lost = True
                return
            if len(self._queue) >= self._size:
                self._queue.popleft()
                self.dropped += 1
            self._queue.append((step, capture, numbers))
            self._changed.notify()

    def flush(self, timeout: float = 30.0) -> bool:
        """Waits until the window has answered for everything that was logged. Returns whether it has: not where the link ended
        by itself."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queue and not self._is_sending, timeout)
            return not self._queue and not self._is_sending and not self._has_lost

    def close(self, timeout: float = 30.0) -> None:
        """Sends what waits, and ends the link; the window stays."""
        if threading.current_thread() is not self._thread:
            self.flush(timeout)
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        with contextlib.suppress(OSError):  # the window may have ended it already
            self._connection.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread where the window doesn't answer
        self._thread.join(timeout)
        self._connection.socket.close()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> tuple[int, Capture | None, dict[str, float]] | None:
        with self._changed:
            self._is_sending = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._queue or self._is_closing)
            if self._is_closing:
                return None
            self._is_sending = True
            return self._queue.popleft()

    def _serve(self) -> None:
        try:
            while True:
                item = self._next()
                if item is None:
                    return
                self._send(*item)
                del item  # its arrays go before the next are waited for
        except OSError as error:
            if self._is_closing:
                return
            self.problem, self._has_lost = str(error) or "the window was closed", True
            warnings.warn(f"headlight: the live link ended: {self.problem}", stacklevel=2)
        finally:
            with self._changed:
                self._is_closing = True
                self._is_sending = False
                self._has_lost |= bool(self._queue)
                self.dropped += len(self._queue)
                self._queue.clear()
                self._changed.notify_all()

    def _send(self, step: int, capture: Capture | None, numbers: dict[str, float]) -> None:
        if numbers and not self._connection.terms.get("scalars"):
            self.problem = "the window is of an older version, which takes no scalars"
        elif numbers:
            self._connection.send(_SCALARS, [json.dumps(numbers).encode()], step)
            kind, _, text = self._connection.answer()
            if kind != _KEPT:
                self.problem = text
        if capture is None:
            return
        try:
            pieces = list(capture.pieces())
        except Exception as error:  # whatever the library of the arrays raises: training goes on, and so does the link
            self.refused += 1
            self.problem = f"step {step}: {error}"
            return
        most = int(self._connection.terms.get("most_bytes", 0))
        size = sum(memoryview(piece).nbytes for piece in pieces)
        if most and size > most:
            self.refused += 1
            self.problem = f"step {step} has {size} bytes, more than the window takes at once ({most})"
            return
        self._connection.send(_CAPTURE, pieces, step)
        kind, _, text = self._connection.answer()
        if kind == _KEPT:
            self.sent += 1
        else:
            self.refused += 1
            self.problem = text


@bordered
def connect(
    name: str | None = None, *, start: bool = True, timeout: float = 60.0, queue: int = _QUEUE, flags: Sequence[str] = ()
) -> Link:
    """A Link to the newest open window that no other program is linked to. Without one a window is opened.

    name: what the window calls this program (default: the script's name); start: False raises HeadlightError instead of
    opening a window; timeout: seconds for it to open; queue: captures that may wait; flags: of `headlight view`.
    """
    if name is None:
        name = os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] else "") or "Python"
    for path in sockets():
        try:
            return Link(_Connection(path, name, 30.0), queue=queue)
        except (OSError, ValueError):
            continue
    if not start:
        raise HeadlightError("no window is open that takes a link; open one with `headlight`")
    known, window = set(sockets()), Window(flags)
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        for path in sockets():
            if path in known:
                continue
            try:
                return Link(_Connection(path, name, 30.0), window, queue)
            except (OSError, ValueError):
                continue
        if not window.is_open:
            raise HeadlightError(window.error() or "the window was closed")
        time.sleep(0.05)
    window.close()
    raise HeadlightError(f"the window did not open within {timeout:g} s")
