"""Finds the program and runs its commands."""

import os
import shutil
import subprocess
import sys


class HeadlightError(RuntimeError):
    """What the program, or this package, refuses: one line."""


def program():
    """The path of the program: the environment variable HEADLIGHT, else `headlight` in PATH."""
    chosen = os.environ.get("HEADLIGHT")
    if chosen:
        found = shutil.which(os.path.expanduser(chosen))
        if found:
            return found
        raise HeadlightError(f"HEADLIGHT is {chosen!r}, which is no program; set it to the path of headlight")
    found = shutil.which("headlight")
    if found:
        return found
    raise HeadlightError("the program headlight is not in PATH; install it, or set HEADLIGHT to its path")


def reason(stderr, status):
    """The program's own line of what went wrong."""
    lines = [line for line in stderr.splitlines() if line.startswith("headlight: ")]
    wrong = [line for line in lines if not line.startswith(("headlight: note:", "headlight: warning:"))]
    return wrong[-1][len("headlight: ") :] if wrong else f"headlight ended with status {status}"


# 3: done, but weights of the model, or numbers computed from them, aren't finite.
_DONE = (0, 3)


def call(*arguments, text=None):
    """Runs a command to its end and returns what it printed. Raises HeadlightError with the program's line."""
    done = subprocess.run(
        [program(), *arguments],
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode not in _DONE:
        raise HeadlightError(reason(done.stderr, done.returncode))
    notes = [line for line in done.stderr.splitlines(True) if line.startswith("headlight: note: computing on ")]
    sys.stderr.writelines(notes)
    return done.stdout
