#!/usr/bin/env python3
"""Writes a GPT-2-small-shaped model of random weights (124 M parameters, 498 MB) as a Hugging Face folder: random_gpt2.py DIR.

Only numpy is needed; the numbers mean nothing, the sizes do.
"""

import json
import pathlib
import struct
import sys

import numpy

CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_head": 12, "n_layer": 12,
          "n_positions": 1024, "vocab_size": 50257, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}


def shapes():
    width = CONFIG["n_embd"]
    yield "wte.weight", (CONFIG["vocab_size"], width)
    yield "wpe.weight", (CONFIG["n_positions"], width)
    for layer in range(CONFIG["n_layer"]):
        for norm in ("ln_1", "ln_2"):
            yield f"h.{layer}.{norm}.weight", (width,)
            yield f"h.{layer}.{norm}.bias", (width,)
        for name, rows, columns in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                    ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            yield f"h.{layer}.{name}.weight", (rows, columns)
            yield f"h.{layer}.{name}.bias", (columns,)
    yield "ln_f.weight", (width,)
    yield "ln_f.bias", (width,)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    header, offset = {}, 0
    for name, shape in shapes():
        size = 4 * int(numpy.prod(shape))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = numpy.random.default_rng(1)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes():
            numbers = random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
            if name.endswith(".weight") and len(shape) == 1:
                numbers += 1
            file.write(numbers.tobytes())


if __name__ == "__main__":
    main()
