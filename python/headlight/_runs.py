"""Arrays that the program computes."""

import collections.abc
import json
import os
import tempfile

import numpy as np

from ._program import call
from ._windows import input_flags


class Run(collections.abc.Mapping):
    """Arrays by name: "weights" [layer, batch, head, query, key], or "encoder_weights", "cross_weights", … of an
    encoder-decoder; "logits", "hidden" and so on, as `headlight export --help` lists them."""

    def __init__(self, folder):
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            self.info = json.load(file)  #: masks, settings and device, as run.json has them
        self._arrays = {}
        for stage in self.info["stages"]:
            name, extension = os.path.splitext(os.path.basename(stage["file"]))
            if extension == ".npy":
                self._arrays[name] = np.load(os.path.join(folder, stage["file"]), allow_pickle=False)

    def __getitem__(self, name):
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    @staticmethod
    def _without_padding(tokens):
        lines = []
        for texts, length, start in zip(
            tokens["texts"], tokens["lengths"], tokens.get("starts", [0] * len(tokens["lengths"]))
        ):
            lines.append(texts[start : start + length])
        return lines

    @property
    def tokens(self):
        """The tokens of each line, without padding."""
        return self._without_padding(self.info["tokens"])

    @property
    def target_tokens(self):
        """Likewise of a decoder's side; None without one."""
        tokens = self.info.get("target_tokens")
        return self._without_padding(tokens) if tokens else None

    def __repr__(self):
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self._arrays.items())
        return f"<headlight.Run {shapes}>"


def run(text=None, *, model=None, target=None, mask=None, stages=("weights",), layer=None, head=None, device=None, flags=()):
    """Computes a text with the program and returns its arrays, a Run.

    text: a text, or a list of texts, the lines of a batch; model: a folder, a .gguf file or a name (default: "captions-gpt2",
    a bundled model; flags=["--preset", "playground"] computes with random weights); mask: "causal", "none", … or a boolean array, True where a query sees a key;
    stages: any of x, q, k, v, scores, scaled, masked, weights, heads, merged, output, residual, attended,
        ffn_hidden and others of the feed-forward, router and gates of experts, hidden, logits; layer, head: only
    these; flags: further flags of `headlight export`, as ["--preset", "notebook-004"].
    """
    stages = [stages] if isinstance(stages, str) else list(stages)
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        arguments = input_flags(model, text, target, mask, folder, flags)
        for name, value in (("--layer", layer), ("--head", head), ("--device", device)):
            if value is not None:
                arguments += [name, str(value)]
        out = os.path.join(folder, "out")
        call("export", *arguments, "--stages", ",".join(stages), "--format", "npy", "--out", out)
        return Run(out)
