#!/usr/bin/env python3
"""Times PyTorch, on the CPU or with --device cuda on a GPU, for the cases that `headlight-bench --format json` prints.

Reads one JSON object per line (standard input, or --case '{"op": "forward", "n": 256, "d_model": 768, "heads": 12}'), and
prints one per line for every operation that PyTorch has an equal of. Each operation is written in the ways that PyTorch
offers; the fastest counts and is named as "variant". The BLAS is the one found in this process's memory map.

Threads: set OMP_NUM_THREADS before starting; it is what PyTorch and OpenBLAS (openmp) follow. On a GPU, where matrices are multiplied
in float32 (--tf32: in TF32, of 11 bits, as trained models are often run), a time lasts until the GPU has ended.
"""

import argparse
import json
import math
import os
import re
import statistics
import sys
import time

import torch

KEYS = ("op", "n", "d_model", "heads", "causal")
FILL = -1e9


def loaded_blas():
    """The BLAS mapped into this process, by its common name: "OpenBLAS 0.3.21 (openmp)", "reference BLAS"."""
    with open("/proc/self/maps") as maps:
        libraries = sorted({line.split()[-1] for line in maps if "blas" in line.lower() and ".so" in line})
    for library in libraries:
        found = re.search(r"openblas\w*-r([\d.]+?)\.so", os.path.realpath(library))
        if found:
            kind = re.search(r"openblas-(\w+)/", library)
            return f"OpenBLAS {found[1]}" + (f" ({kind[1]})" if kind else "")
    if any("mkl" in library for library in libraries):
        return "MKL"
    return "reference BLAS" if libraries else "unknown BLAS"


def causal_mask(n, causal):
    """[query, key], true where the key is hidden; None when nothing is."""
    return torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1) if causal else None


def masked_weights(scores, scale, hidden):
    scaled = scores * scale
    if hidden is not None:
        scaled = scaled.masked_fill(hidden, FILL)
    return torch.softmax(scaled, dim=-1)


def biased_weights(scores, scale, bias):
    """Scale and mask in one pass: bias + scale · scores."""
    return torch.softmax(torch.add(bias, scores, alpha=scale) if bias is not None else scores * scale, dim=-1)


def merge(heads):
    """[head, token, d_v] → [token, heads·d_v]"""
    return heads.transpose(0, 1).reshape(heads.shape[1], -1)


def attend(q, k, v, scale, hidden):
    return merge(torch.matmul(masked_weights(torch.matmul(q, k.transpose(1, 2)), scale, hidden), v))


def attend_fused(q, k, v, scale, bias):
    """Scale and mask inside the matrix product: bias + scale · QKᵀ."""
    if bias is None:
        return attend(q, k, v, scale, None)
    n = q.shape[1]
    scores = torch.baddbmm(bias.expand(q.shape[0], n, k.shape[1]), q, k.transpose(1, 2), alpha=scale)
    return merge(torch.bmm(torch.softmax(scores, dim=-1), v))


def attend_in_one(q, k, v, scale, causal):
    """The kernel that stores no map."""
    heads = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal, scale=scale)
    return merge(heads[0])


def fused_kernels(call):
    """The variant of PyTorch 2 and newer."""
    has_kernel = hasattr(torch.nn.functional, "scaled_dot_product_attention")
    return {"scaled_dot_product_attention": lambda: call(attend_in_one)} if has_kernel else {}


def make_variants(case):
    """name → function to time, and the arithmetic of one call in flops; None for an operation that isn't PyTorch's."""
    op, n, d, heads = case["op"], case["n"], case["d_model"], case["heads"]
    causal = case.get("causal", False)
    d_head = d // heads
    scale = 1.0 / math.sqrt(d_head)
    hidden = causal_mask(n, causal)
    bias = torch.zeros(n, n).masked_fill_(hidden, FILL) if causal else None
    pair_flops = 2.0 * heads * n * n * d_head  # one of QKᵀ and weights · V, all pairs, as PyTorch computes them

    if op == "qkv_gemm":
        x, weight, offset = torch.randn(n, d), torch.randn(3 * d, d), torch.randn(3 * d)
        return {"linear": lambda: torch.nn.functional.linear(x, weight, offset)}, 6.0 * n * d * d
    if op == "output_projection":
        x, weight, offset = torch.randn(n, d), torch.randn(d, d), torch.randn(d)
        return {"linear": lambda: torch.nn.functional.linear(x, weight, offset)}, 2.0 * n * d * d
    if op == "attention_scores":
        q, k = torch.randn(heads, n, d_head), torch.randn(heads, n, d_head)
        return {"matmul": lambda: torch.matmul(q, k.transpose(1, 2))}, pair_flops
    if op == "masked_softmax":
        scores = torch.randn(heads, n, n)
        return {
            "masked_fill": lambda: masked_weights(scores, scale, hidden),
            "bias": lambda: biased_weights(scores, scale, bias),
        }, 0.0
    if op == "attention_merge":
        weights, v = torch.softmax(torch.randn(heads, n, n), dim=-1), torch.randn(heads, n, d_head)
        return {"matmul, transpose, reshape": lambda: merge(torch.matmul(weights, v))}, pair_flops
    if op == "attention":
        q, k, v = (torch.randn(heads, n, d_head) for _ in range(3))
        return {
            "masked_fill": lambda: attend(q, k, v, scale, hidden),
            "baddbmm": lambda: attend_fused(q, k, v, scale, bias),
            **fused_kernels(lambda attention: attention(q, k, v, scale, causal)),
        }, 2 * pair_flops
    if op == "forward":
        x, w_in, b_in = torch.randn(n, d), torch.randn(3 * d, d) / math.sqrt(d), torch.randn(3 * d)
        w_out, b_out = torch.randn(d, d) / math.sqrt(d), torch.randn(d)

        def forward(attention, mask):
            qkv = torch.nn.functional.linear(x, w_in, b_in).view(n, 3, heads, d_head).permute(1, 2, 0, 3)
            merged = attention(qkv[0], qkv[1], qkv[2], scale, mask)
            return torch.nn.functional.linear(merged, w_out, b_out)

        return {
            "masked_fill": lambda: forward(attend, hidden),
            "baddbmm": lambda: forward(attend_fused, bias),
            **fused_kernels(lambda attention: forward(attention, causal)),
        }, 8.0 * n * d * d + 2 * pair_flops
    return None


def time_median(function, budget_s):
    """Median milliseconds of a call; at least three calls, one warm-up before them."""
    wait = torch.cuda.synchronize if torch.cuda.is_initialized() else lambda: None
    function()
    wait()
    times = []
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < budget_s and len(times) < 500):
        start = time.perf_counter()
        function()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def processor():
    if not torch.cuda.is_initialized():
        return {"driver": loaded_blas(), "threads": torch.get_num_threads()}
    tf32 = torch.backends.cuda.matmul.allow_tf32
    return {"driver": f"CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}", "threads": "TF32" if tf32 else "float32"}


def measure(case, budget_s):
    made = make_variants(case)
    if made is None:
        return None
    variants, flops = made
    medians = {name: time_median(function, budget_s / len(variants)) for name, function in variants.items()}
    variant = min(medians, key=medians.get)
    wall_ms = medians[variant]
    result = {key: case[key] for key in KEYS if key in case}
    result.update(
        wall_ms=wall_ms,
        gpu_ms=None,
        gflops=flops / wall_ms * 1e-6 if flops else None,
        device=f"PyTorch {torch.__version__}",
        **processor(),
        variant=variant,
    )
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", help="one case as JSON, instead of standard input")
    parser.add_argument("--budget-s", type=float, default=0.5, help="seconds for each case (default %(default)s)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default %(default)s)")
    parser.add_argument("--tf32", action="store_true", help="with cuda: matrices are multiplied in TF32")
    arguments = parser.parse_args()

    if arguments.device != "cpu":
        torch.set_default_device(arguments.device)
        torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    torch.nn.functional.linear(torch.randn(64, 256), torch.randn(256, 256))  # the thread pool starts now, not in a case

    seen = set()
    with torch.no_grad():
        for line in arguments.case or sys.stdin:
            case = json.loads(line) if line.strip().startswith("{") else None
            if case is None or any(key not in case for key in KEYS[:4]):
                continue
            identity = tuple(case.get(key) for key in KEYS)
            if identity in seen:  # our side may report several kernels for one case
                continue
            seen.add(identity)
            result = measure(case, arguments.budget_s)
            if result is not None:
                print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
