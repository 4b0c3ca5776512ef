#!/usr/bin/env python3
"""Writes tests/golden/formats/quantised.safetensors: blocks of each type that the Python package gguf decodes, beside the numbers
that it makes of them; src/model/quantised_grids.txt, the package's tables of the IQ types; and a model in three parts.

    python3 tools/make_format_golden.py

The files in the repository were made with gguf 0.19.0 and safetensors 0.8.0. For each type there are blocks quantised by the
package where it can and blocks of random bytes with finite scales, so that every bit of a block counts.
"""
import pathlib

import gguf
import numpy as np
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden" / "formats"
# Where a block has binary16 scales: random bits there could be infinite. IQ1_M has its own in the upper bits of four places.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": [], "IQ4_NL": [0], "IQ4_XS": [0],
          "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ1_M": []}
GRIDS = ["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S"]


def random_blocks(name, count, generator):
    kind = gguf.GGMLQuantizationType[name]
    _, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = generator.integers(0, 256, (count, size), dtype=np.uint8)
    for at in SCALES[name]:
        scales = generator.uniform(-0.1, 0.1, count).astype(np.float16)
        scales[0] = 3e-7  # subnormal
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(count, 2)
    if name == "IQ1_M":
        blocks[:, 55] = blocks[:, 55] & 0xBF  # an exponent that isn't the largest
    if name == "MXFP4":
        blocks[:, 0] = [0, 1, 2, 120, 127, 128, 250, 251][:count]
    if name == "NVFP4":
        blocks[0, :4] = [0, 1, 0x7F, 0x7E]
    return blocks


def write_grids():
    """Entries as 16 bits: 2 bits a number of eight, or 3 of four, that count the levels."""
    entries = []
    for name in GRIDS:
        kind = getattr(gguf.quants, name)
        kind.init_grid()
        levels = list(kind.grid_map)
        bits = 3 if len(levels) == 8 else 2
        for entry in kind.grid.reshape(kind.grid_shape):
            entries.append(sum(levels.index(int(value)) << (bits * place) for place, value in enumerate(entry)))
    lines = [" ".join(f"{entry:04x}" for entry in entries[at:at + 24]) for at in range(0, len(entries), 24)]
    (ROOT / "src" / "model" / "quantised_grids.txt").write_text("\n".join(lines) + "\n")


def split(name, parts):
    """The file of tests/golden/models/gguf in parts, as the package writes those that are too large."""
    reader = gguf.GGUFReader(ROOT / "tests" / "golden" / "models" / "gguf" / f"{name}.gguf")
    writer = gguf.GGUFWriter(FOLDER / f"{name}.gguf", reader.fields["general.architecture"].contents(),
                             split_max_tensors=-(-len(reader.tensors) // parts))
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            writer.add_key_value(key, field.contents(), field.types[0], field.types[-1] if len(field.types) > 1 else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(29)
    tensors = {}
    for name in SCALES:
        kind = gguf.GGMLQuantizationType[name]
        blocks = random_blocks(name, 8 if name == "MXFP4" else 4, generator)
        try:
            numbers = generator.normal(0, 0.05, (2, gguf.GGML_QUANT_SIZES[kind][0])).astype(np.float32)
            blocks = np.concatenate([blocks, gguf.quants.quantize(numbers, kind)])
        except NotImplementedError:
            pass
        tensors[f"{name}.blocks"] = np.ascontiguousarray(blocks)
        tensors[f"{name}.numbers"] = gguf.quants.dequantize(blocks, kind).reshape(-1).astype(np.float32)
        assert np.isfinite(tensors[f"{name}.numbers"]).all(), name
    write_grids()
    split("llama-q4_0", 3)
    save_file(tensors, FOLDER / "quantised.safetensors", metadata={"gguf": "0.19.0"})
    (FOLDER / "quantised.safetensors").chmod(0o644)


if __name__ == "__main__":
    main()
