#!/usr/bin/env python3
"""Makes tests/golden/torch: files of torch.save with the weights of tests/golden/models, and what must be read of each; and
tests/golden/hostile/system.pt, which calls a program where it is unpickled by Python.

    python3 tools/make_torch_golden.py

Made with torch 2.15.0 and safetensors 0.8.0. Storages of the format before PyTorch 1.6 are named by addresses, so that a second
run writes other bytes there.
"""
import collections
import json
import os
import pathlib
import shutil
import zipfile

import torch
from safetensors.torch import load_file, save_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
FOLDER = GOLDEN / "torch"


def weights(name):
    return load_file(GOLDEN / "models" / name / "model.safetensors")


def sharded(name):
    """The two halves of a model, as transformers 4 wrote them, and the index."""
    tensors = weights(name)
    names = sorted(tensors)
    files = {f"pytorch_model-0000{part + 1}-of-00002.bin": names[part::2] for part in range(2)}
    for file, some in files.items():
        torch.save(collections.OrderedDict((one, tensors[one]) for one in some), FOLDER / file)
    index = {"metadata": {"total_size": sum(one.nbytes for one in tensors.values())},
             "weight_map": {one: file for file, some in files.items() for one in some}}
    (FOLDER / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2) + "\n")


def state_of_module(name):
    """A state_dict with torch's _metadata, whose tensors are parameters in one storage."""
    tensors = weights(name)
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors.values()])
    state, begin = collections.OrderedDict(), 0
    for one, tensor in tensors.items():
        state[one] = torch.nn.Parameter(flat[begin:begin + tensor.numel()].view(tensor.shape))
        begin += tensor.numel()
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    return state


def training(name):
    """What a training script saves: the compiled model's weights beside the optimizer's."""
    tensors = {f"_orig_mod.{one}": tensor for one, tensor in weights(name).items()}
    return {"model": tensors, "optimizer": {"state": {0: {"step": torch.tensor(3.0), "exp_avg": torch.zeros(4)}},
                                            "param_groups": [{"lr": 6e-4, "betas": (0.9, 0.95), "params": [0]}]},
            "model_args": {"n_layer": 2, "bias": True}, "iter_num": 2000, "best_val_loss": torch.tensor(1.25), "config": None}


def views():
    numbers = torch.arange(24, dtype=torch.float32).reshape(4, 6) / 3
    many = {f"type.{kind}".replace("torch.", ""): (torch.arange(-3, 4) * 37).to(kind)
            for kind in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                         torch.bool, torch.uint8)}
    return collections.OrderedDict(
        whole=numbers, transposed=numbers.t(), rows=numbers[1:3], columns=numbers[:, 2:5], steps=numbers[::2, ::3],
        permuted=numbers.view(2, 3, 4).permute(2, 0, 1), one_row=numbers[2:3].expand(1, 6), number=numbers[3, 5],
        empty=torch.zeros(0, 5), odd=numbers.view(-1)[1:8], parameter=torch.nn.Parameter(numbers[0]), **many)


class Caller:
    def __reduce__(self):
        return os.system, ("touch pickle-was-called",)


def deflate(source, target):
    with zipfile.ZipFile(source) as stored, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for member in stored.infolist():
            packed.writestr(zipfile.ZipInfo(member.filename), stored.read(member), zipfile.ZIP_DEFLATED)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    sharded("llama-bf16")
    torch.save(state_of_module("bert-base-model"), FOLDER / "bert-base-model.bin")
    torch.save(training("gpt2"), FOLDER / "gpt2.pt")
    torch.save(weights("electra"), FOLDER / "electra-legacy.bin", _use_new_zipfile_serialization=False)
    torch.save(views(), FOLDER / "views.pt")
    torch.save(views(), FOLDER / "views-legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(dict(views()), FOLDER / "views-protocol-4.pt", pickle_protocol=4)
    deflate(FOLDER / "views.pt", FOLDER / "views-deflated.pt")
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in views().items()}, FOLDER / "views.safetensors")
    (FOLDER / "views.safetensors").chmod(0o644)
    torch.save(torch.nn.Linear(2, 2), FOLDER / "module.pt")
    torch.save({"rows": torch.ones(3, 1).expand(3, 1 << 20)}, FOLDER / "expanded.pt")
    torch.save({"model": {"w": torch.ones(2)}, "ema": {"w": torch.ones(2)}}, FOLDER / "two.pt")
    torch.save([torch.ones(2)], FOLDER / "list.pt")
    torch.save({"weight": torch.ones(2), "call": Caller()}, GOLDEN / "hostile" / "system.pt")
    torch.jit.script(torch.nn.Linear(2, 2)).save(FOLDER / "script.pt")


if __name__ == "__main__":
    main()
