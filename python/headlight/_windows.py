"""The window, opened on a capture or on a model."""

import atexit
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import time

from ._captures import Capture
from ._program import HeadlightError, program, reason


def folder():
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


def sockets():
    """Sockets of windows, the newest first."""
    try:
        entries = [entry for entry in os.scandir(folder()) if entry.name.startswith("viewer-") and entry.name.endswith(".sock")]
    except FileNotFoundError:
        return []
    found = []
    for entry in entries:
        try:
            found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
        except FileNotFoundError:
            continue
    return [path for _, path in sorted(found, reverse=True)]


class Window:
    """A window of the program, which stays open when Python ends."""

    def __init__(self, arguments, folder=None):
        self.arguments = list(arguments)
        self._folder = folder
        self._is_closed = False  # by close()
        self._said = None  # what it wrote to standard error, once it has ended
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

    def _clean_up(self):
        self.process.wait()
        self._clean_up_ended()

    def _clean_up_ended(self):
        if self._folder and self.process.poll() is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _sockets():
        try:
            return set(sockets())
        except HeadlightError:
            return set()

    @property
    def is_open(self):
        return self.process.poll() is None

    def error(self):
        """The program's line of why the window ended; None while it is open and where it was closed as usual."""
        status = self.process.poll()
        if not status or self._is_closed:
            return None
        if self._said is None:
            with self._errors:
                self._errors.seek(0)
                self._said = self._errors.read()
        return reason(self._said, status)

    def wait_until_open(self, timeout):
        """Until it takes a link, which it does once it is on the screen. Raises HeadlightError with the program's line where
        it can't open."""
        end = time.monotonic() + timeout
        while self.is_open and time.monotonic() < end and not self._sockets() - self._others:
            time.sleep(0.02)
        if self.error():
            raise HeadlightError(self.error())

    def wait(self, timeout=None):
        """Until the window is closed. Raises HeadlightError with the program's line where it failed."""
        self.process.wait(timeout)
        if self.error():
            raise HeadlightError(self.error())

    def close(self):
        self._is_closed = True
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:  # a driver that hangs
            self.process.kill()
            self.process.wait()
        self._errors.close()


def input_flags(model=None, text=None, target=None, mask=None, folder=None, flags=()):
    """Flags of what is computed. A mask that is an array goes through a file in `folder`."""
    found = []
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


def view(attentions=None, tokens=None, *, model=None, text=None, target=None, mask=None, tab=None, wait=10.0, flags=(), **options):
    """Opens the window on attention: a list with an array for each layer, what a transformers model returned, or a
    Capture. Or on a `model` and a `text`, which the program computes live.

    tab: the view to begin with, such as "head", "model", "lines", "heads" or "neuron"; wait: seconds at most until it is open,
    in which HeadlightError is raised with the program's line where it can't open (0: none); flags: further flags of `headlight
    view`; options: those of Capture, such as image and patches of a vision model.
    """
    folder = tempfile.mkdtemp(prefix="headlight-")
    try:
        arguments = input_flags(model, text, target, mask, folder, flags)
        if attentions is not None:
            path = os.path.join(folder, "capture.safetensors")
            Capture.of(attentions, tokens, **options).save(path)
            arguments = ["--capture", path, *arguments]
        if tab:
            arguments += ["--tab", tab]
        window = Window(arguments, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if "--link" not in window.arguments:  # it says so where it is open
        window.wait_until_open(wait)
    return window
