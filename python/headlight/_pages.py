"""The interactive page, for notebooks."""

import html
import os
import tempfile

from ._captures import Capture
from ._program import HeadlightError, call
from ._windows import input_flags


class Page:
    """One self-contained page; a notebook shows it where it is the value of a cell."""

    def __init__(self, text, height=640):
        self.text, self.height = text, height

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def __repr__(self):
        return f"<headlight.Page of {len(self.text)} letters: a notebook shows it, save('page.html') writes it>"

    def _repr_html_(self):
        # A frame of its own: the page's styles and keys and the notebook's don't meet.
        return (
            f'<iframe srcdoc="{html.escape(self.text, quote=True)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {int(self.height)}px; border: 0"></iframe>'
        )


def page(attentions=None, tokens=None, *, model=None, text=None, target=None, mask=None, height=640, flags=(), **options):
    """The page of attention, or of a `model` and a `text` that the program computes, as view() takes them."""
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        arguments = input_flags(model, text, target, mask, folder, flags)
        if attentions is not None:
            path = os.path.join(folder, "capture.safetensors")
            Capture.of(attentions, tokens, **options).save(path)
            arguments = ["--capture", path, *arguments]
        out = os.path.join(folder, "out")
        call("export", *arguments, "--format", "html", "--out", out)
        pages = sorted(name for name in os.listdir(out) if name.endswith(".html"))
        if not pages:
            raise HeadlightError("the program wrote no page")
        with open(os.path.join(out, pages[0]), encoding="utf-8") as file:
            return Page(file.read(), height)


def show(attentions=None, tokens=None, **options):
    """Shows the page of page() in a notebook."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        get_ipython = None
    if get_ipython is None or get_ipython() is None:  # a script would print the page's name at the most
        raise HeadlightError("show() is for notebooks; headlight.page(...).save('page.html') writes the page")
    display(page(attentions, tokens, **options))
