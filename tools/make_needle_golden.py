#!/usr/bin/env python3
"""Makes tests/golden/needle.json: which heads of models/gpt2, llama and smollm look at a needle's token that comes next.

Texts are tokens at random, with a needle of distinct ones that comes again at the end; attention and logits are
transformers' (eager, float64). Of each text, layer and head: the most attended position of every answer's row (NumPy's
argmax), so that hits are counted from whole matrices. Rows whose two largest weights differ by less than 1e-6 of the larger,
and logits likewise, are drawn again. Needs numpy, torch and transformers.
"""

import json
import pathlib

import numpy as np
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"
MODELS = ("gpt2", "llama", "smollm")
LENGTH, NEEDLE, TEXTS = 22, 5, 12


def text_of(random, vocabulary):
    needle = random.choice(np.arange(3, vocabulary), NEEDLE, replace=False)
    straw = random.integers(3, vocabulary, LENGTH - 2 * NEEDLE + 1)
    at = int(random.integers(0, len(straw) + 1))
    return [*straw[:at].tolist(), *needle.tolist(), *straw[at:].tolist(), *needle[:-1].tolist()], at


def is_clear(rows):
    two = np.sort(rows, axis=-1)[..., -2:]
    return bool(((two[..., 1] - two[..., 0]) > 1e-6 * np.abs(two[..., 1])).all())


def main():
    found = {}
    for name in MODELS:
        model = transformers.AutoModelForCausalLM.from_pretrained(GOLDEN / "models" / name, attn_implementation="eager").double().eval()
        random = np.random.default_rng(7)
        found[name] = []
        while len(found[name]) < TEXTS:
            ids, needle = text_of(random, model.config.vocab_size)
            with torch.no_grad():
                result = model(torch.tensor([ids]), output_attentions=True)
            question = len(ids) - NEEDLE + 1
            rows = np.stack([attention[0, :, question:].numpy() for attention in result.attentions])  # [layer, head, answer, key]
            logits = result.logits[0, question:].numpy()
            if not is_clear(rows) or not is_clear(logits):
                continue
            answers = np.array(ids[needle + 1 : needle + NEEDLE])
            predicted = logits.argmax(axis=-1) == answers
            attended = rows.argmax(axis=-1) == np.arange(needle + 1, needle + NEEDLE)
            found[name].append({"ids": ids, "needle": needle, "question": question, "predicted": predicted.tolist(),
                                "attended": attended.sum(axis=-1).reshape(-1).tolist(),
                                "copied": (attended & predicted).sum(axis=-1).reshape(-1).tolist(),
                                "largest": rows.max(axis=-1).sum(axis=-1).reshape(-1).tolist()})
    (GOLDEN / "needle.json").write_text(json.dumps(found) + "\n")


main()
