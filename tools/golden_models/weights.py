"""Random weights under which every term of a network matters.

Fresh models have zero biases, unit norms and attention that is almost uniform: a mistake in any of them would stay unseen.
"""

import re
import zlib

import torch
from transformers.pytorch_utils import Conv1D


def generator(name):
    """The same numbers for the same folder in every run."""
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def spread(name, parameter, conv1d, family):
    """(mean, standard deviation) of a parameter."""
    for pattern, value in family.get("spread", {}).items():
        if re.search(pattern, name):
            return value
    if parameter.dim() == 1 or name.endswith("final_logits_bias"):
        if name.endswith("bias"):
            return 0.0, 0.2
        return (0.0 if family.get("norm_offset") else 1.0), 0.2
    if re.search(r"embed|wte|wpe|shared|embd", name) and not re.search("project|mapping|shared_expert", name):
        return 0.0, family.get("embedding", 0.7)
    inputs = parameter.shape[0] if conv1d else parameter.shape[-1]
    attends = re.search(r"(^|[._])(q|k|query|key|q_proj|k_proj|q_lin|k_lin|c_attn|query_key_value|qkv_proj|Wqkv)\.weight", name)
    gain = family.get("attention", 1.25) if attends else 1.0
    return 0.0, gain / inputs**0.5


def randomise(model, name, family):
    """Draws every parameter again, except those that the model computes (sinusoidal positions)."""
    numbers = generator(name)
    transposed = {f"{path}.weight" for path, module in model.named_modules() if isinstance(module, Conv1D)}
    computed = set(model._keys_to_ignore_on_save or ())
    tensors = list(model.named_parameters())
    tensors += [(path, buffer) for path, buffer in model.named_buffers() if path == "final_logits_bias"]
    with torch.no_grad():
        for path, parameter in tensors:
            if path in computed:
                continue
            mean, deviation = spread(path, parameter, path in transposed, family)
            parameter.copy_(mean + deviation * torch.randn(parameter.shape, generator=numbers))
