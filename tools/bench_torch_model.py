#!/usr/bin/env python3
"""Times PyTorch on the CPU for a model of random weights as used for inspection: all layers of a new text, every layer's
attention maps kept and returned, and the last token's logits. bench_torch_model.py SHAPE N,N,… [DTYPE] [ROUNDS] [cpu|cuda]

SHAPE is one of tools/random_model.py. Of llama1b a token is appended, too, to a text whose keys and values are kept. Prints one
JSON object per line like `headlight-bench --model … --format json`. Threads: OMP_NUM_THREADS. On a GPU (cuda) the maps stay
there, and a time lasts until the GPU has ended.
"""

import json
import math
import resource
import statistics
import sys
import time

import torch
from torch.nn.functional import gelu, layer_norm, linear, silu

import random_model

ROUNDS = 3


def weights(shape, dtype):
    tensors = random_model.gpt2(random_model.GPT2) if shape == "gpt2" else random_model.llama(random_model.LLAMA)
    return {name: (torch.ones(size) if len(size) == 1 and name.endswith(".weight") else torch.randn(size).mul_(0.02)).to(dtype)
            for name, size in tensors}


def softmax(scores, past):
    """Weights of queries that follow `past` others."""
    n, keys = scores.shape[-2:]
    hidden = torch.triu(torch.ones(n, keys, dtype=torch.bool), diagonal=past + 1)
    return torch.softmax(scores.masked_fill(hidden, torch.finfo(scores.dtype).min), dim=-1)


class Gpt2:
    def __init__(self, shape, dtype):
        self.w, self.config = weights(shape, dtype), random_model.GPT2

    def norm(self, name, x):
        return layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"])

    def dense(self, name, x):
        return torch.addmm(self.w[name + ".bias"], x, self.w[name + ".weight"])

    def __call__(self, ids, kept=None):
        n, width, heads = ids.shape[0], self.config["n_embd"], self.config["n_head"]
        x = self.w["wte.weight"][ids] + self.w["wpe.weight"][:n]
        maps = []
        for layer in range(self.config["n_layer"]):
            of = f"h.{layer}."
            q, k, v = (part.view(n, heads, -1).transpose(0, 1)
                       for part in self.dense(of + "attn.c_attn", self.norm(of + "ln_1", x)).split(width, dim=1))
            maps.append(softmax((q @ k.transpose(1, 2)) / math.sqrt(width / heads), 0))
            x = x + self.dense(of + "attn.c_proj", (maps[-1] @ v).transpose(0, 1).reshape(n, width))
            x = x + self.dense(of + "mlp.c_proj", gelu(self.dense(of + "mlp.c_fc", self.norm(of + "ln_2", x))))
        return maps, self.norm("ln_f", x[-1:]) @ self.w["wte.weight"].T


class Llama:
    def __init__(self, shape, dtype):
        self.w, self.config = weights(shape, dtype), random_model.LLAMA
        self.size = self.config["hidden_size"] // self.config["num_attention_heads"]
        positions = torch.arange(self.config["max_position_embeddings"], dtype=torch.float32)
        angles = positions[:, None] * 10000.0 ** (-torch.arange(0, self.size, 2) / self.size)
        self.cos, self.sin = angles.cos().repeat(1, 2).to(dtype), angles.sin().repeat(1, 2).to(dtype)

    def norm(self, name, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.w[name + ".weight"]

    def dense(self, name, x):
        return linear(x, self.w[name + ".weight"])

    def rotate(self, x, past):
        n, half = x.shape[1], self.size // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * self.cos[past:past + n] + turned * self.sin[past:past + n]

    def __call__(self, ids, kept=None):
        """`kept`: of each layer the keys and values of the tokens before, to which those of `ids` are added."""
        n, past = ids.shape[0], 0 if not kept else kept[0][0].shape[1]
        groups = self.config["num_attention_heads"] // self.config["num_key_value_heads"]
        x = self.w["model.embed_tokens.weight"][ids]
        maps = []
        for layer in range(self.config["num_hidden_layers"]):
            of = f"model.layers.{layer}."
            normed = self.norm(of + "input_layernorm", x)
            q, k, v = (self.dense(f"{of}self_attn.{name}_proj", normed).view(n, -1, self.size).transpose(0, 1)
                       for name in "qkv")
            q, k = self.rotate(q, past), self.rotate(k, past)
            if kept is not None:
                if past:
                    k, v = torch.cat((kept[layer][0], k), dim=1), torch.cat((kept[layer][1], v), dim=1)
                    kept[layer] = (k, v)
                else:
                    kept.append((k, v))
            keys, values = k.repeat_interleave(groups, 0), v.repeat_interleave(groups, 0)
            maps.append(softmax((q @ keys.transpose(1, 2)) / math.sqrt(self.size), past))
            x = x + self.dense(of + "self_attn.o_proj", (maps[-1] @ values).transpose(0, 1).reshape(n, -1))
            normed = self.norm(of + "post_attention_layernorm", x)
            inner = silu(self.dense(of + "mlp.gate_proj", normed)) * self.dense(of + "mlp.up_proj", normed)
            x = x + self.dense(of + "mlp.down_proj", inner)
        return maps, self.dense("lm_head", self.norm("model.norm", x[-1:]))


def wait():
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def timed(rounds, prepare, run):
    times = []
    for _ in range(rounds + 1):
        prepared = prepare()
        wait()
        start = time.perf_counter()
        run(*prepared)
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[1:])


def main():
    shape, counts = sys.argv[1], [int(n) for n in sys.argv[2].split(",")]
    dtype = getattr(torch, sys.argv[3] if len(sys.argv) > 3 else "float32")
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else ROUNDS
    if len(sys.argv) > 5:
        torch.set_default_device(sys.argv[5])
    torch.manual_seed(1)
    with torch.no_grad():
        model = (Gpt2 if shape == "gpt2" else Llama)(shape, dtype)
        vocabulary = model.config["vocab_size"]

        def tell(op, n, wall_ms):
            print(json.dumps({"op": op, "n": n, "wall_ms": wall_ms, "threads": torch.get_num_threads(),
                              "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)

        def before_last(n):
            kept = []
            model(torch.randint(vocabulary, (n - 1,)), kept)
            return torch.randint(vocabulary, (1,)), kept

        for n in counts:
            tell("model_forward", n, timed(rounds, lambda: (torch.randint(vocabulary, (n,)),), model))
            if shape != "gpt2" and n > 1:
                tell("model_append", n, timed(rounds, lambda: before_last(n), model))


if __name__ == "__main__":
    main()
