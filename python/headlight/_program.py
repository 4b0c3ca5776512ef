"""Finds the program and runs its commands."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

# What a platform wheel carries (tools/make_wheel): bin, lib and share of an installed program.
_CARRIED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_installed")


class HeadlightError(RuntimeError):
    """What the program, or this package, refuses: one line."""


_P = ParamSpec("_P")
_R = TypeVar("_R")


def bordered(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function of the package that raises nothing but HeadlightError: what numpy, the arrays' library, the model or the
    system raise is its cause."""

    @functools.wraps(function)
    def called(*args: _P.args, **options: _P.kwargs) -> _R:
        try:
            return function(*args, **options)
        except HeadlightError:
            raise
        except Exception as error:
            name = function.__qualname__.replace(".__init__", "")
            said = str(error).replace(".__init__()", "()").strip().splitlines() or [type(error).__name__]
            raise HeadlightError(said[0] if said[0].startswith(f"{name}()") else f"{name}(): {said[0]}") from error

    return called


def program() -> str:
    """The path of the program: the environment variable HEADLIGHT, else the one of this package's wheel, else `headlight` in
    PATH. Raises HeadlightError where there is none."""
    chosen = os.environ.get("HEADLIGHT")
    if chosen:
        found = shutil.which(os.path.expanduser(chosen))
        if found:
            return found
        raise HeadlightError(f"HEADLIGHT is {chosen!r}, which is no program; set it to the path of headlight")
    carried = os.path.join(_CARRIED, "bin", "headlight")
    found = carried if os.access(carried, os.X_OK) else shutil.which("headlight")
    if found:
        return found
    raise HeadlightError("the program headlight is not in PATH; install it, or set HEADLIGHT to its path")


def main() -> NoReturn:
    """The command `headlight` that a platform wheel installs: the program in place of this process."""
    try:
        path = program()
        os.execv(path, [path, *sys.argv[1:]])
    except (HeadlightError, OSError) as error:
        sys.exit(f"headlight: {error}")


# By the name in /etc/os-release: what has the Vulkan loader, and a driver for machines without a GPU.
_VULKAN = {
    "debian": "apt install libvulkan1 mesa-vulkan-drivers",
    "fedora": "dnf install vulkan-loader mesa-vulkan-drivers",
    "rhel": "dnf install vulkan-loader mesa-vulkan-drivers",
    "arch": "pacman -S vulkan-icd-loader vulkan-swrast",
    "suse": "zypper install libvulkan1 libvulkan_lvp",
}


def _install_vulkan() -> str:
    names: list[str] = []
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            for line in file:
                key, _, value = line.strip().partition("=")
                if key in ("ID", "ID_LIKE"):
                    names += value.strip("\"'").split()
    except OSError:
        pass
    return next(
        (command for name in names for key, command in _VULKAN.items() if key in name),
        "install a Vulkan loader and a driver",
    )


def reason(stderr: str, status: int) -> str:
    """The program's own line of what went wrong."""
    lines = [line for line in stderr.splitlines() if line.startswith("headlight: ")]
    wrong = [line for line in lines if not line.startswith(("headlight: note:", "headlight: warning:"))]
    if wrong:
        return wrong[-1][len("headlight: ") :]
    missing = re.search(
        r"error while loading shared libraries: (\S+?):", stderr
    )  # the system's linker, before the program began
    if missing:
        what = "the Vulkan loader" if missing[1].startswith("libvulkan") else missing[1]
        return f"{what} is missing on this system" + (f": {_install_vulkan()}" if what != missing[1] else "")
    return f"headlight ended with status {status}"


# 3: done, but weights of the model, or numbers computed from them, aren't finite.
DONE = (0, 3)


def call(*arguments: str, text: str | None = None, also: tuple[int, ...] = ()) -> str:
    """Runs a command to its end and returns what it printed. Raises HeadlightError with the program's line; not where the
    status is one of `also` and something was printed."""
    done = subprocess.run(
        [program(), *arguments],
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode not in DONE and not (done.returncode in also and done.stdout):
        raise HeadlightError(reason(done.stderr, done.returncode))
    notes = [line for line in done.stderr.splitlines(True) if line.startswith("headlight: note: computing on ")]
    sys.stderr.writelines(notes)
    return done.stdout
