#!/usr/bin/env python3
"""Writes tests/golden/expressions.json: attention under ALiBi, a sliding window and a soft cap, computed by PyTorch as their papers do.

    python3 tools/make_expressions_golden.py tests/golden/expressions.json
"""
import json
import sys

import torch

HEADS, TOKENS, WIDTH = 4, 12, 6
WINDOW, CAP = 4, 1.5


def nested(tensor):
    """Lists of nine significant digits, as JSON."""
    if tensor.dim() == 0:
        return float(f"{tensor.item():.9g}")
    return [nested(part) for part in tensor]


def weights_and_output(scores, v):
    weights = torch.softmax(scores, dim=-1)
    return {"weights": nested(weights), "output": nested(weights @ v)}


def main():
    generator = torch.Generator().manual_seed(13)
    q, k, v = (torch.randn(1, HEADS, TOKENS, WIDTH, generator=generator) for _ in range(3))
    scores = q @ k.transpose(-1, -2) / WIDTH**0.5
    position = torch.arange(TOKENS)
    distance = position[:, None] - position[None, :]
    hidden = torch.full((TOKENS, TOKENS), float("-inf"))
    causal = torch.where(distance >= 0, torch.zeros(()), hidden)
    # Press et al. 2022, section 3: slopes 2^(-8/n), 2^(-16/n), …
    slopes = torch.tensor([2.0 ** (-8.0 * (head + 1) / HEADS) for head in range(HEADS)])
    cases = {
        "alibi": weights_and_output(scores - slopes[:, None, None] * distance + causal, v),
        "window": weights_and_output(scores + torch.where(distance < WINDOW, causal, hidden), v),
        "softcap": weights_and_output(CAP * torch.tanh(scores / CAP) + causal, v),
    }
    golden = {"torch": torch.__version__, "q": nested(q), "k": nested(k), "v": nested(v), **cases}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
