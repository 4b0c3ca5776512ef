"""Runs a transformers model in float64 from end to end.

`model.double()` alone isn't enough: norms, rotary angles and softmaxes ask for torch.float32 by name and round there.
"""

import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode


@contextlib.contextmanager
def double_precision():
    """A context in which requests for float32 give float64; also for buffers computed when a model is built."""
    saved = torch.float32, torch.float, torch.Tensor.float, torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = saved[:3]
        torch.set_default_dtype(saved[3])


SINGLE = torch.float32


class SingleWatch(TorchDispatchMode):
    """Collects the operations that still made a float32 tensor."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for item in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(item, torch.Tensor) and item.dtype == SINGLE:
                self.found.add(str(function))
        return result


def double_model(build, state, computed=()):
    """The result of `build()` in float64 with the weights of `state`; `computed` names tensors that the model computes."""
    with double_precision():
        model = build()
        given = {name: value.to(torch.float64) for name, value in state.items() if name not in computed}
        left = model.load_state_dict(given, strict=False)
        assert not left.unexpected_keys and set(left.missing_keys) <= set(computed), left
    return model
