#!/usr/bin/env python3
"""Writes a model of random weights as a Hugging Face folder: random_model.py SHAPE DIR.

gpt2: GPT-2 small's sizes, 124 M parameters, float32, 498 MB. llama1b: those of a Llama of 1.1 billion parameters with 32 heads
and 4 of keys and values, bfloat16, 2.05 GiB. Only numpy is needed; the numbers mean nothing, the sizes do.
"""

import json
import pathlib
import struct
import sys

import numpy

GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_head": 12, "n_layer": 12,
        "n_positions": 1024, "vocab_size": 50257, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 5632,
         "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000,
         "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
         "tie_word_embeddings": False, "dtype": "bfloat16"}


def gpt2():
    width = GPT2["n_embd"]
    yield "wte.weight", (GPT2["vocab_size"], width)
    yield "wpe.weight", (GPT2["n_positions"], width)
    for layer in range(GPT2["n_layer"]):
        for norm in ("ln_1", "ln_2"):
            yield f"h.{layer}.{norm}.weight", (width,)
            yield f"h.{layer}.{norm}.bias", (width,)
        for name, rows, columns in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                    ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            yield f"h.{layer}.{name}.weight", (rows, columns)
            yield f"h.{layer}.{name}.bias", (columns,)
    yield "ln_f.weight", (width,)
    yield "ln_f.bias", (width,)


def llama():
    width, inner = LLAMA["hidden_size"], LLAMA["intermediate_size"]
    of_keys = width // LLAMA["num_attention_heads"] * LLAMA["num_key_value_heads"]
    yield "model.embed_tokens.weight", (LLAMA["vocab_size"], width)
    for layer in range(LLAMA["num_hidden_layers"]):
        for name, rows, columns in (("self_attn.q_proj", width, width), ("self_attn.k_proj", of_keys, width),
                                    ("self_attn.v_proj", of_keys, width), ("self_attn.o_proj", width, width),
                                    ("mlp.gate_proj", inner, width), ("mlp.up_proj", inner, width),
                                    ("mlp.down_proj", width, inner)):
            yield f"model.layers.{layer}.{name}.weight", (rows, columns)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"model.layers.{layer}.{norm}.weight", (width,)
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (LLAMA["vocab_size"], width)


SHAPES = {"gpt2": (GPT2, gpt2, "F32"), "llama1b": (LLAMA, llama, "BF16")}


def main():
    config, shapes, dtype = SHAPES[sys.argv[1]]
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    header, offset = {}, 0
    for name, shape in shapes():
        size = (4 if dtype == "F32" else 2) * int(numpy.prod(shape))
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
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
            if dtype == "BF16":  # the upper half of the bits
                numbers = (numbers.view(numpy.uint32) >> 16).astype(numpy.uint16)
            file.write(numbers.tobytes())


if __name__ == "__main__":
    main()
