"""The window and the page, of attention or of a model that the program computes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from typing import Any

from ._captures import Capture
from ._pages import Page, display, expect_notebook, make_page
from ._program import bordered
from ._windows import Window, input_flags, open_window


@bordered
def view(
    attentions: Any = None,
    tokens: Any = None,
    *,
    model: Any = None,
    text: str | Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    mask: Any = None,
    tab: str | None = None,
    wait: float = 10.0,
    flags: Sequence[Any] = (),
    **options: Any,
) -> Window:
    """Opens the window on attention: a list with an array for each layer, one array [layers, batch, heads, queries, keys], what a
    transformers model returned, a cache of TransformerLens, a Run, or a Capture. Or on a `model` and a `text`, which the program
    computes live.

    tab: the view to begin with, such as "head", "model", "lines", "heads" or "neuron"; wait: seconds at most until it is open,
    in which HeadlightError is raised with the program's line where it can't open (0: none); flags: further flags of `headlight
    view`; options: those of Capture, such as image and patches of a vision model.
    """
    if attentions is not None:
        capture = Capture.of(attentions, tokens, of="view", **options)
        return capture.view(tab=tab, wait=wait, flags=[*input_flags(model, text, target, None), *flags])
    folder = tempfile.mkdtemp(prefix="headlight-")
    try:
        arguments = input_flags(model, text, target, mask, folder, flags) + (["--tab", tab] if tab else [])
        return open_window(arguments, folder, wait)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@bordered
def page(
    attentions: Any = None,
    tokens: Any = None,
    *,
    model: Any = None,
    text: str | Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    mask: Any = None,
    height: int = 640,
    flags: Sequence[Any] = (),
    **options: Any,
) -> Page:
    """The page of attention, or of a `model` and a `text` that the program computes, as view() takes them. height: of the frame
    in a notebook, in pixels; flags: further flags of `headlight export`."""
    if attentions is not None:
        return Capture.of(attentions, tokens, of="page", **options).page(height=height, flags=flags)
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        return make_page(input_flags(model, text, target, mask, folder, flags), folder, height)


@bordered
def show(attentions: Any = None, tokens: Any = None, **options: Any) -> None:
    """Shows the page of page() in a notebook."""
    expect_notebook()
    display(page(attentions, tokens, **options))
