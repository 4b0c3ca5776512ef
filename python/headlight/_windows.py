"""Windows of the program, and what they are opened on."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from ._program import HeadlightError, program, reason


def folder() -> str:
    """Where windows have their sockets. Raises HeadlightError where others have access to it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    path = os.path.join(runtime, "headlight") if runtime.startswith("/") else f"/tmp/headlight-{os.geteuid()}"
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return path
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise HeadlightError(f"{path} has to belong to you and be closed to other users (chmod 700)")
    return path


def sockets() -> list[str]:
    """Sockets of windows, the newest first."""
    try:
        entries = [
            entry for entry in os.scandir(folder()) if entry.name.startswith("viewer-") and entry.name.endswith(".sock")
        ]
    except FileNotFoundError:
        return []
    found: list[tuple[float, str]] = []
    for entry in entries:
        try:
            found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
        except FileNotFoundError:
            continue
    return [path for _, path in sorted(found, reverse=True)]


class Window:
    """A window of the program, which stays open when Python ends."""

    def __init__(self, arguments: Iterable[str], folder: str | None = None):
        """Starts `headlight view` with these arguments; `folder` is removed once it has ended."""
        self.arguments = list(arguments)
        self._folder = folder
        self._is_closed = False  # by close()
        self._said: str | None = None  # what it wrote to standard error, once it has ended
        self._others = self._sockets()
        self._errors = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [program(), "view", *self.arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )
        if folder:
            # The file goes with the window; a window that outlives Python keeps it.
            threading.Thread(target=self._clean_up, daemon=True).start()
            atexit.register(self._clean_up_ended)

    def __repr__(self) -> str:
        state = "open" if self.is_open else self.error() or "closed"
        return f"<headlight.Window, process {self.process.pid}: {state}>"

    def _clean_up(self) -> None:
        self.process.wait()
        self._clean_up_ended()

    def _clean_up_ended(self) -> None:
        if self._folder and self.process.poll() is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _sockets() -> set[str]:
        try:
            return set(sockets())
        except HeadlightError:
            return set()

    @property
    def is_open(self) -> bool:
        """Is its process there?"""
        return self.process.poll() is None

    def error(self) -> str | None:
        """The program's line of why the window ended; None while it is open and where it was closed as usual."""
        status = self.process.poll()
        if not status or self._is_closed:
            return None
        if self._said is None:
            with self._errors:
                self._errors.seek(0)
                self._said = self._errors.read()
        line = reason(self._said, status)
        if "there is no display" in line:
            line += "; headlight.show(...) shows the page in a notebook, headlight.page(...).save('page.html') writes it"
        return line

    def wait_until_open(self, timeout: float) -> None:
        """Until it takes a link, which it does once it is on the screen. Raises HeadlightError with the program's line where
        it can't open."""
        end = time.monotonic() + timeout
        while self.is_open and time.monotonic() < end and not self._sockets() - self._others:
            time.sleep(0.02)
        self._expect_no_error()

    def wait(self, timeout: float | None = None) -> None:
        """Until the window is closed. Raises HeadlightError with the program's line where it failed, and
        subprocess.TimeoutExpired after `timeout` seconds."""
        self.process.wait(timeout)
        self._expect_no_error()

    def _expect_no_error(self) -> None:
        error = self.error()
        if error:
            raise HeadlightError(error)

    def close(self) -> None:
        """Ends it, and waits until it has ended."""
        self._is_closed = True
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:  # a driver that hangs
            self.process.kill()
            self.process.wait()
        self._errors.close()


def input_flags(
    model: Any = None, text: Any = None, target: Any = None, mask: Any = None, folder: str = "", flags: Sequence[Any] = ()
) -> list[str]:
    """Flags of what is computed. A mask that is an array goes through a file in `folder`."""
    found: list[str] = []
    for name, value in (("--model", model), ("--text", text), ("--target", target)):
        values = value if isinstance(value, (list, tuple)) else [value]
        for item in values:
            if item is not None:
                found += [name, os.fspath(item) if name == "--model" else str(item)]
    if isinstance(mask, str):
        found += ["--mask", mask]
    elif mask is not None:
        import numpy as np

        path = os.path.join(folder, "mask.npy")
        np.save(path, np.asarray(mask, dtype=bool))
        found += ["--mask-file", path]
    return found + [str(flag) for flag in flags]


def open_window(arguments: Sequence[str], folder: str, wait: float) -> Window:
    """A window of a capture or a model in `folder`, which goes with it, once it is on the screen."""
    window = Window(arguments, folder)
    if "--link" not in window.arguments:  # it says so where it is open
        window.wait_until_open(wait)
    return window
