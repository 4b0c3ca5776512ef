#!/usr/bin/env python3
"""Writes tests/golden/formats/quantised.safetensors: blocks of each of ggml's types that Headlight decodes, beside the
numbers that the Python package gguf makes of them.

    python3 tools/make_format_golden.py

The file in the repository was made with gguf 0.19.0 and safetensors 0.8.0. For each type there are blocks quantised by
the package where it can (Q8_0, Q4_0) and blocks of random bytes with finite scales, so that every bit of a block counts.
"""
import pathlib

import gguf
import numpy as np
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "formats"
# Where a block has binary16 scales: random bits there could be infinite.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_K": [0, 2], "Q6_K": [208]}


def random_blocks(name, count, generator):
    kind = gguf.GGMLQuantizationType[name]
    _, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = generator.integers(0, 256, (count, size), dtype=np.uint8)
    for at in SCALES[name]:
        scales = generator.uniform(-0.1, 0.1, count).astype(np.float16)
        scales[0] = 3e-7  # subnormal
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(count, 2)
    return blocks


def main():
    generator = np.random.default_rng(29)
    tensors = {}
    for name in SCALES:
        kind = gguf.GGMLQuantizationType[name]
        blocks = random_blocks(name, 4, generator)
        if name in ("Q8_0", "Q4_0"):
            numbers = generator.normal(0, 0.05, (4, 32)).astype(np.float32)
            blocks = np.concatenate([blocks, gguf.quants.quantize(numbers, kind)])
        tensors[f"{name}.blocks"] = np.ascontiguousarray(blocks)
        tensors[f"{name}.numbers"] = gguf.quants.dequantize(blocks, kind).reshape(-1).astype(np.float32)
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_file(tensors, FOLDER / "quantised.safetensors", metadata={"gguf": "0.19.0"})


if __name__ == "__main__":
    main()
