#!/usr/bin/env python3
"""Writes a model of random weights: random_model.py SHAPE DIR.

gpt2: GPT-2 small's sizes, 124 M parameters, float32, 498 MB. llama1b: those of a Llama of 1.1 billion parameters with 32 heads
and 4 of keys and values, bfloat16, 2.05 GiB. Both are folders as Hugging Face writes them. llama1b-q4 and llama8b-q4 (8 billion,
of 32 heads and 8 of keys and values) are GGUF files with the types of blocks that llama.cpp's Q4_K_M has: Q6_K for the unembedding and,
in half of the layers, for V and the last layer of the feed-forward; else Q4_K. llama1b-f32 is a GGUF file of those sizes in
float32. Only numpy is needed; the numbers mean nothing, the sizes do.
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
LLAMA_8B = LLAMA | {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_key_value_heads": 8,
                    "vocab_size": 128256, "max_position_embeddings": 8192, "rope_theta": 500000.0}


def gpt2(config):
    width = config["n_embd"]
    yield "wte.weight", (config["vocab_size"], width)
    yield "wpe.weight", (config["n_positions"], width)
    for layer in range(config["n_layer"]):
        for norm in ("ln_1", "ln_2"):
            yield f"h.{layer}.{norm}.weight", (width,)
            yield f"h.{layer}.{norm}.bias", (width,)
        for name, rows, columns in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                    ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            yield f"h.{layer}.{name}.weight", (rows, columns)
            yield f"h.{layer}.{name}.bias", (columns,)
    yield "ln_f.weight", (width,)
    yield "ln_f.bias", (width,)


def llama(config):
    width, inner = config["hidden_size"], config["intermediate_size"]
    of_keys = width // config["num_attention_heads"] * config["num_key_value_heads"]
    yield "model.embed_tokens.weight", (config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        for name, rows, columns in (("self_attn.q_proj", width, width), ("self_attn.k_proj", of_keys, width),
                                    ("self_attn.v_proj", of_keys, width), ("self_attn.o_proj", width, width),
                                    ("mlp.gate_proj", inner, width), ("mlp.up_proj", inner, width),
                                    ("mlp.down_proj", width, inner)):
            yield f"model.layers.{layer}.{name}.weight", (rows, columns)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"model.layers.{layer}.{norm}.weight", (width,)
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (config["vocab_size"], width)


GGUF_NAMES = {"embed_tokens": "token_embd", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
              "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
              "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "lm_head": "output"}
F32, Q4_K, Q6_K = 0, 12, 14  # ggml's numbers


def gguf_name(name):
    if name == "model.norm.weight":
        return "output_norm.weight"
    for ours, theirs in GGUF_NAMES.items():
        name = name.replace(ours, theirs)
    return name.replace("model.layers.", "blk.").replace("model.", "")


def q4_k_m(name, shape, layers):
    """The type that a tensor has in such a file."""
    if len(shape) == 1:
        return F32
    layer = int(name.split(".")[1]) if name.startswith("blk.") else 0
    is_better = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
    return Q6_K if name == "output.weight" or (is_better and ("attn_v" in name or "ffn_down" in name)) else Q4_K


def random_blocks(random, kind, count):
    """So many blocks of 256 numbers with a deviation of about 0.02."""
    blocks = random.integers(0, 256, (count, 144 if kind == Q4_K else 210), dtype=numpy.uint8)
    halves = blocks.view(numpy.uint8)
    if kind == Q4_K:  # scale, least number; then 8 scales and 8 least numbers of 6 bits; then 256 numbers of 4 bits
        halves[:, 0:4] = numpy.array([1.2e-4, 9e-4], dtype=numpy.float16).view(numpy.uint8)
    else:  # … signed scales of 16 numbers each, and one scale
        halves[:, 208:210] = numpy.array([1.5e-5], dtype=numpy.float16).view(numpy.uint8)
    return blocks


def write_gguf(path, config, tensors, types):
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    sizes = {"llama.context_length": config["max_position_embeddings"], "llama.embedding_length": config["hidden_size"],
             "llama.block_count": config["num_hidden_layers"], "llama.feed_forward_length": config["intermediate_size"],
             "llama.attention.head_count": config["num_attention_heads"],
             "llama.attention.head_count_kv": config["num_key_value_heads"], "llama.vocab_size": config["vocab_size"]}
    numbers = {"llama.attention.layer_norm_rms_epsilon": config["rms_norm_eps"], "llama.rope.freq_base": config["rope_theta"]}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 1 + len(sizes) + len(numbers))
    head += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in sizes.items():
        head += text(key) + struct.pack("<II", 4, value)
    for key, value in numbers.items():
        head += text(key) + struct.pack("<If", 6, value)
    offset = 0
    for (name, shape), kind in zip(tensors, types):
        count = int(numpy.prod(shape))
        size = {F32: count * 4, Q4_K: count // 256 * 144, Q6_K: count // 256 * 210}[kind]
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, offset)
        offset += size + -size % 32
    random = numpy.random.default_rng(1)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32))
        for (name, shape), kind in zip(tensors, types):
            count = int(numpy.prod(shape))
            if kind == F32:
                values = random.standard_normal(count, dtype=numpy.float32) * numpy.float32(0.02) + (len(shape) == 1)
            else:
                values = random_blocks(random, kind, count // 256)
            file.write(values.tobytes())
            file.write(b"\0" * (-values.nbytes % 32))


def write_folder(folder, config, tensors, dtype):
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    header, offset = {}, 0
    for name, shape in tensors:
        size = (4 if dtype == "F32" else 2) * int(numpy.prod(shape))
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = numpy.random.default_rng(1)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in tensors:
            numbers = random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
            if name.endswith(".weight") and len(shape) == 1:
                numbers += 1
            if dtype == "BF16":  # the upper half of the bits
                numbers = (numbers.view(numpy.uint32) >> 16).astype(numpy.uint16)
            file.write(numbers.tobytes())


def main():
    shape, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if shape in ("gpt2", "llama1b"):
        config, tensors, dtype = (GPT2, gpt2, "F32") if shape == "gpt2" else (LLAMA, llama, "BF16")
        return write_folder(folder, config, list(tensors(config)), dtype)
    config = {"llama1b-f32": LLAMA, "llama1b-q4": LLAMA, "llama8b-q4": LLAMA_8B}[shape]
    tensors = [(gguf_name(name), sizes) for name, sizes in llama(config)]
    types = [F32 if shape.endswith("f32") else q4_k_m(name, sizes, config["num_hidden_layers"]) for name, sizes in tensors]
    write_gguf(folder / "model.gguf", config, tensors, types)


if __name__ == "__main__":
    main()
