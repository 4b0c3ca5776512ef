"""The interactive page, for notebooks."""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Sequence

from ._program import HeadlightError, bordered, call

_MOST_PICTURES = 3  # of encoder, decoder and cross-attention, or of lines of a batch


class Page:
    """One self-contained page; a notebook shows it where it is the value of a cell.

    text: the page; pictures: PNGs of all heads, which notebooks show that don't trust what others computed."""

    def __init__(self, text: str, height: int = 640, pictures: Sequence[bytes] = ()):
        self.text, self.height, self.pictures = text, int(height), list(pictures)

    @bordered
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def __repr__(self) -> str:
        return f"<headlight.Page of {len(self.text)} letters: a notebook shows it, save('page.html') writes it>"

    def _repr_html_(self) -> str:
        # A frame of its own: the page's styles and keys and the notebook's don't meet. It covers the pictures, which are what is left
        # where frames are removed: in notebooks that aren't trusted, and on sites that show them.
        frame = (
            f'<iframe srcdoc="{html.escape(self.text, quote=True)}" sandbox="allow-scripts allow-downloads" title="attention" '
            f'style="position: absolute; top: 0; left: 0; width: 100%; height: {self.height}px; border: 0"></iframe>'
        )
        tallest = self.height // max(len(self.pictures), 1)
        pictures = "".join(
            f'<img src="data:image/png;base64,{base64.b64encode(one).decode()}" alt="attention of all heads" '
            f'style="max-width: 100%; max-height: {tallest}px; display: block">'
            for one in self.pictures
        )
        return f'<div style="position: relative; height: {self.height}px; overflow: hidden">{pictures}{frame}</div>'


def make_page(arguments: Sequence[str], folder: str, height: int) -> Page:
    """The page of what these arguments name, made in `folder`."""
    out = os.path.join(folder, "out")
    try:
        call("export", *arguments, "--format", "html,png", "--views", "grid", "--dpi", "110", "--out", out)
    except HeadlightError:  # the page may be there without pictures: of very many heads they are larger than PNGs can be
        call("export", *arguments, "--format", "html", "--out", out)
    pages = sorted(name for name in os.listdir(out) if name.endswith(".html"))
    if not pages:
        raise HeadlightError("the program wrote no page")
    with open(os.path.join(out, pages[0]), encoding="utf-8") as file:
        text = file.read()
    pictures = []
    for name in sorted(name for name in os.listdir(out) if name.endswith(".png"))[:_MOST_PICTURES]:
        with open(os.path.join(out, name), "rb") as image:
            pictures.append(image.read())
    return Page(text, height, pictures)


def expect_notebook() -> None:
    """Raises HeadlightError in a script, which would print the page's name at the most."""
    try:
        from IPython import get_ipython  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        get_ipython = None
    if get_ipython is None or get_ipython() is None:
        raise HeadlightError("show() is for notebooks; headlight.page(...).save('page.html') writes the page")


def display(page: Page) -> None:
    """Shows it in the running cell."""
    from IPython.display import display as show_in_cell

    show_in_cell(page)  # type: ignore[no-untyped-call, unused-ignore]
