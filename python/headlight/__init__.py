"""Attention of your own networks in Headlight's window, in notebooks and as arrays.

The program `headlight` does the work: it is that of the environment variable HEADLIGHT, else the wheel's, else the one in PATH.
docs/PYTHON.md of the project describes the functions, docs/LIVE_LINK.md the protocol of the live link.
"""

from ._captures import Capture
from ._exercises import Checked, Exercise, Inputs, exercise, exercises
from ._link import Link, connect
from ._models import Capturing, capture, capturing
from ._pages import Page
from ._program import HeadlightError, program
from ._runs import Run, run
from ._surveys import Survey, survey
from ._views import page, show, view
from ._windows import Window

__all__ = [
    "Capture",
    "Capturing",
    "Checked",
    "Exercise",
    "HeadlightError",
    "Inputs",
    "Link",
    "Page",
    "Run",
    "Survey",
    "Window",
    "capture",
    "capturing",
    "connect",
    "exercise",
    "exercises",
    "page",
    "program",
    "run",
    "show",
    "survey",
    "view",
]
__version__ = "0.1.0"
