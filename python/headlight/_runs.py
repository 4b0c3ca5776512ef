"""Arrays that the program computes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import Array, ArraysByName
from ._captures import Capture
from ._program import HeadlightError, bordered, call
from ._windows import input_flags


class Run(ArraysByName):
    """Arrays by name: "weights" [layer, batch, head, query, key], or "encoder_weights", "cross_weights", … of an
    encoder-decoder; "logits", "hidden" and so on, as `headlight export --help` lists them."""

    @bordered
    def __init__(self, folder: str):
        """Reads what `headlight export --format npy` wrote into `folder`."""
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            self.info: dict[str, Any] = json.load(file)  #: masks, settings and device, as run.json has them
        self._arrays: dict[str, Array] = {}
        for stage in self.info["stages"]:
            name, extension = os.path.splitext(os.path.basename(stage["file"]))
            if extension == ".npy":
                self._arrays[name] = np.load(os.path.join(folder, stage["file"]), allow_pickle=False)

    @staticmethod
    def _without_padding(tokens: Mapping[str, Any]) -> list[list[str]]:
        lines = []
        for texts, length, start in zip(
            tokens["texts"], tokens["lengths"], tokens.get("starts", [0] * len(tokens["lengths"]))
        ):
            lines.append(texts[start : start + length])
        return lines

    @property
    def tokens(self) -> list[list[str]]:
        """The tokens of each line, without padding."""
        return self._without_padding(self.info["tokens"])

    @property
    def target_tokens(self) -> list[list[str]] | None:
        """Likewise of a decoder's side; None without one."""
        tokens = self.info.get("target_tokens")
        return self._without_padding(tokens) if tokens else None

    def capture(self) -> Capture:
        """Its weights, and its tokens, as a Capture. Raises HeadlightError where it has none."""
        given = {kind: self._arrays.get(f"{kind}weights") for kind in ("", "encoder_", "decoder_", "cross_")}
        if all(weights is None for weights in given.values()):
            raise HeadlightError("the run has no weights; run(stages=('weights', ...)) computes them")
        options: dict[str, Any] = {f"{kind}attentions": weights for kind, weights in given.items()}
        rules = self.info.get("masks", {})
        options["causal"] = rules.get("decoder" if "decoder" in rules else "encoder", {}).get("rule") == "causal"
        target = self.info.get("target_tokens")
        for name, mask, tokens in (
            ("encoder_tokens" if target else "tokens", "attention_mask", self.info["tokens"]),
            ("decoder_tokens", "decoder_attention_mask", target),
        ):
            if tokens:
                options[name] = tokens["texts"]
                starts = tokens.get("starts", [0] * len(tokens["lengths"]))
                options[mask] = [
                    [int(start <= at < start + length) for at in range(len(texts))]
                    for texts, length, start in zip(tokens["texts"], tokens["lengths"], starts)
                ]
        return Capture(**options)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self._arrays.items())
        return f"<headlight.Run {shapes}>"


def _list(chosen: int | str | Iterable[int]) -> str:
    """What --layer and --head read: one number, a LIST, or numbers as a LIST."""
    return str(chosen) if isinstance(chosen, (int, str)) or not isinstance(chosen, Iterable) else ",".join(map(str, chosen))


@bordered
def run(
    text: str | Sequence[str] | None = None,
    *,
    model: Any = None,
    target: str | Sequence[str] | None = None,
    mask: Any = None,
    stages: str | Sequence[str] = ("weights",),
    layer: int | str | Iterable[int] | None = None,
    head: int | str | Iterable[int] | None = None,
    device: str | int | None = None,
    flags: Sequence[Any] = (),
) -> Run:
    """Computes a text with the program and returns its arrays, a Run.

    text: a text, or a list of texts, the lines of a batch; model: a folder, a .gguf file or a name (default: "captions-gpt2",
    a bundled model; flags=["--preset", "playground"] computes with random weights); mask: "causal", "none", … or a boolean array,
    True where a query sees a key; stages: any of x, q, k, v, scores, scaled, masked, weights, heads, merged, output, residual,
    attended, ffn_hidden and others of the feed-forward, router and gates of experts, hidden, logits; layer, head: only these, a
    number, a list of some, or a text as "0-3,7"; flags: further flags of `headlight export`, as ["--preset", "notebook-004"].
    """
    stages = [stages] if isinstance(stages, str) else list(stages)
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        arguments = input_flags(model, text, target, mask, folder, flags)
        for name, value in (("--layer", layer), ("--head", head), ("--device", device)):
            if value is not None:
                arguments += [name, _list(value)]
        out = os.path.join(folder, "out")
        call("export", *arguments, "--stages", ",".join(stages), "--format", "npy", "--out", out)
        return Run(out)
