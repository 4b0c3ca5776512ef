#!/usr/bin/env python3
"""Times PyTorch on the CPU for a GPT-2-shaped model as used for inspection: all layers of a new text, every layer's
attention maps kept and returned, and the last token's logits. bench_torch_gpt2.py N,N,… [ROUNDS]

Prints one JSON object per line like `headlight-bench --model … --format json`. Threads: OMP_NUM_THREADS.
"""

import json
import math
import resource
import statistics
import sys
import time

import torch

LAYERS, HEADS, WIDTH, VOCABULARY, POSITIONS = 12, 12, 768, 50257, 1024


def linear(rows, columns):
    return torch.randn(rows, columns).mul_(0.02), torch.zeros(columns)


class Model:
    def __init__(self):
        self.words = torch.randn(VOCABULARY, WIDTH).mul_(0.02)
        self.positions = torch.randn(POSITIONS, WIDTH).mul_(0.02)
        self.layers = [(linear(WIDTH, 3 * WIDTH), linear(WIDTH, WIDTH), linear(WIDTH, 4 * WIDTH), linear(4 * WIDTH, WIDTH))
                       for _ in range(LAYERS)]
        self.one, self.zero = torch.ones(WIDTH), torch.zeros(WIDTH)

    def norm(self, x):
        return torch.nn.functional.layer_norm(x, (WIDTH,), self.one, self.zero)

    def __call__(self, ids):
        n = ids.shape[0]
        hidden = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        x = self.words[ids] + self.positions[:n]
        maps = []
        for qkv, out, up, down in self.layers:
            q, k, v = (part.view(n, HEADS, -1).transpose(0, 1)
                       for part in torch.addmm(qkv[1], self.norm(x), qkv[0]).split(WIDTH, dim=1))
            scores = (q @ k.transpose(1, 2)) / math.sqrt(WIDTH / HEADS)
            weights = torch.softmax(scores.masked_fill(hidden, torch.finfo(torch.float32).min), dim=-1)
            maps.append(weights)
            x = x + torch.addmm(out[1], (weights @ v).transpose(0, 1).reshape(n, WIDTH), out[0])
            inner = torch.nn.functional.gelu(torch.addmm(up[1], self.norm(x), up[0]))
            x = x + torch.addmm(down[1], inner, down[0])
        return maps, self.norm(x[-1:]) @ self.words.T


def main():
    counts = [int(n) for n in sys.argv[1].split(",")]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    torch.manual_seed(1)
    model = Model()
    with torch.no_grad():
        for n in counts:
            times = []
            for _ in range(rounds + 1):
                ids = torch.randint(VOCABULARY, (n,))
                start = time.perf_counter()
                model(ids)
                times.append((time.perf_counter() - start) * 1e3)
            print(json.dumps({"op": "model_forward", "n": n, "wall_ms": statistics.median(times[1:]),
                              "threads": torch.get_num_threads(),
                              "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


if __name__ == "__main__":
    main()
