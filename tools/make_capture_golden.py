#!/usr/bin/env python3
"""Makes tests/golden/captures: small captured runs, and what PyTorch computes of them.

`self.safetensors`: weights of two layers over a batch of two lines. `queries.safetensors`: queries and keys whose weights are
computed under a causal mask; `queries.json` has torch's softmax of them in float64. `translator.npz` and `translator.json`: the
three kinds of attention of an encoder and a decoder in float64, as numpy.savez writes them; `compressed.npz` the same as
numpy.savez_compressed does. Needs the packages torch and numpy; .safetensors files are written here, without a package.
"""

import json
import math
import pathlib
import struct

import numpy
import torch

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/captures"
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}


def save_safetensors(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        tensor = tensor.contiguous()
        # numpy has no bfloat16: two bytes are two bytes.
        raw = (tensor.view(torch.int16) if tensor.element_size() == 2 else tensor).numpy().tobytes()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def random_weights(*shape):
    return torch.softmax(3 * torch.randn(*shape, dtype=torch.float64), -1)


def main():
    torch.manual_seed(7)
    GOLDEN.mkdir(exist_ok=True)
    lines = [["the", "cat", "sat", "on", "the"], ["a", "dog", "ran", "off", "[PAD]"]]
    save_safetensors(
        GOLDEN / "self.safetensors",
        {f"attention.{layer}": random_weights(2, 3, 5, 5).float() for layer in range(2)},
        {"tokens": json.dumps(lines)},
    )

    tokens = ["Life", " is", " short", ",", " eat", " dessert", " first"]
    queries, keys = torch.randn(1, 4, 7, 8), torch.randn(1, 2, 7, 8).bfloat16()
    save_safetensors(
        GOLDEN / "queries.safetensors", {"q.0": queries, "k.0": keys}, {"tokens": json.dumps(tokens), "mask": "causal"}
    )
    scores = queries.double() @ keys.double().repeat_interleave(2, dim=1).transpose(-1, -2) / math.sqrt(8)
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
    weights = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
    (GOLDEN / "queries_expected.json").write_text(
        json.dumps({"scaled": scores.flatten().tolist(), "weights": weights.flatten().tolist()}) + "\n"
    )

    arrays = {}
    for layer in range(2):
        arrays[f"encoder_attention.{layer}"] = random_weights(1, 2, 4, 4).numpy()
        arrays[f"decoder_attention.{layer}"] = random_weights(1, 2, 3, 3).numpy()
        arrays[f"cross_attention.{layer}"] = random_weights(1, 2, 3, 4).numpy()
    numpy.savez(GOLDEN / "translator.npz", **arrays)
    numpy.savez_compressed(GOLDEN / "compressed.npz", **{"attention.0": arrays["encoder_attention.0"].astype(numpy.float16)})
    words = {"key_tokens": ["ein", "Hund", "rennt", "</s>"], "query_tokens": ["<s>", "a", "dog"]}
    (GOLDEN / "translator.json").write_text(json.dumps(words) + "\n")
    expected = {name: array.flatten().tolist() for name, array in arrays.items()}
    (GOLDEN / "translator_expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
