"""Attention that tests make, and what the program reads of it and makes of it."""

import json
import os

import headlight
import numpy as np

SHAPE = (1, 3, 5, 5)
TOKENS = ["the", "cat", "sat", "on", "it"]


def attention(seed=0, shape=SHAPE):
    scores = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    weights = np.exp(scores)
    return weights / weights.sum(-1, keepdims=True)


def exported(capture, folder):
    path = os.path.join(folder, "capture.safetensors")
    capture.save(path)
    return headlight.run(flags=["--capture", path])


def data_of(page):
    """What a page was made from."""
    return json.loads(page.text.split('<script id="data" type="application/json">')[1].split("</script>")[0])
