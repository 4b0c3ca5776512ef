"""The parts of a transformer in plain PyTorch (Vaswani et al. 2017). Shapes: x [batch, token, d_model]."""

import torch
from torch import nn

# Dropped elements are chosen by random bytes: nn.Dropout draws a number for each element, which takes a fifth of the time
# on a CPU.
BYTES = 256


def drop(x, share, training):
    """nn.functional.dropout with its probability rounded to 1/256."""
    dropped = round(share * BYTES)
    if not training or dropped == 0:
        return x
    eights = -(-x.numel() // 8)
    numbers = torch.randint(-2 ** 63, 2 ** 63 - 1, (eights,), device=x.device).view(torch.uint8)[:x.numel()].view(x.shape)
    return x * (numbers >= dropped).to(x.dtype).mul_(BYTES / (BYTES - dropped))


def split(x, heads):
    """[batch, token, d_model] → [batch, head, token, d_model / heads]"""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(x):
    """[batch, head, token, d_v] → [batch, token, head · d_v]"""
    return x.transpose(1, 2).flatten(-2)


def attend(q, k, v, bias):
    """softmax(QKᵀ/√d_k + bias)·V; `bias` [batch or 1, 1, query or 1, key] is −∞ where a key is masked, else 0.

    Written out: at a sentence's length PyTorch's fused attention takes ten times as long backwards on a processor.
    """
    with torch.autocast(q.device.type, enabled=False):
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
        return torch.softmax(scores + bias.to(scores.dtype), dim=-1) @ v


def bias_where(hidden):
    """−∞ where `hidden` (bool), else 0."""
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill(hidden, float("-inf"))
