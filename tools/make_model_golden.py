#!/usr/bin/env python3
"""Makes tests/golden/models: small random models as transformers saves them, and transformers' results with them.

    make_model_golden.py            everything
    make_model_golden.py gpt2 t5    these folders

Folders of networks that transformers has dropped name the release that computes them (`release` in families.py): they are
made only when it is the installed one, and when named.

Needs the packages torch, transformers, gguf and accelerate; tests/golden/models/README.md names the versions last used.
Every number follows from a folder's name, so a second run with the same versions writes the same bytes.
"""

import argparse
import pathlib
import shutil
import sys

import torch
import transformers

transformers.utils.logging.disable_progress_bar()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_models import (  # noqa: E402
    cases, families, gguf_architectures, gguf_experts, gguf_files, networks, older_config, readme, reference, tiny_text)

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/models"
STORED = {"llama-f16": torch.float16, "llama-bf16": torch.bfloat16}


def say(name, numbers):
    print(f"{name:20} entropy {numbers['entropy'][0]:.2f}..{numbers['entropy'][1]:.2f}"
          f"  |hidden| {numbers['largest_hidden']:.1f}  |logit| {numbers['largest_logit']:.1f}"
          f"  f32: {numbers['attentions']:.1e} {numbers['hidden']:.1e} {numbers['logits']:.1e}  {numbers['last_hidden']}"
          f"  {numbers['float32_operations'] or ''}", flush=True)


def make_readable():
    """safetensors makes files that only their owner may read."""
    for path in TARGET.rglob("*.safetensors"):
        path.chmod(0o644)


def fresh(name):
    folder = TARGET / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def make_family(name):
    row, folder = families.FAMILIES[name], fresh(name)
    model = networks.random_model(name, row)
    if row.get("is_internlm2"):
        networks.save_as_internlm2(model, folder)
    else:
        model.save_pretrained(folder, save_original_format=not row.get("keeps_fused"))
        if "release" not in row:
            older_config.write(folder, row)
    if row.get("text"):
        tiny_text.save(row["text"], model.config.vocab_size, folder)
    say(name, reference.write(folder / "reference.safetensors", model, networks.double_twin(model, row),
                              cases.settled(name, model, row, row.get("cases")), row["kind"]))


def make_stored(name):
    """A Llama in 16 bits; the reference belongs to the rounded weights."""
    row, folder = families.llama(), fresh(name)
    model = networks.random_model(name, row)
    networks.round_weights(model, STORED[name])
    networks.save_as(model, STORED[name], folder)
    say(name, reference.write(folder / "reference.safetensors", model, networks.double_twin(model, row),
                              cases.settled(name, model, row, cases.FORMAT_CASES), row["kind"]))


def make_sharded():
    """The model of llama/ in two files; its reference is llama/reference.safetensors."""
    model = networks.random_model("llama", families.FAMILIES["llama"])
    size = sum(tensor.numel() * 4 for tensor in model.state_dict().values())
    model.save_pretrained(fresh("llama-sharded"), max_shard_size=size * 6 // 10)
    assert len(list((TARGET / "llama-sharded").glob("*.safetensors"))) == 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="folders to make; all when none is given")
    current = [name for name, row in families.FAMILIES.items() if "release" not in row]
    names = parser.parse_args().names or [*current, *STORED, "llama-sharded", "gguf"]
    for name in names:
        if name == "gguf":
            folder = fresh("gguf")
            for file in gguf_files.FILES:
                say(f"gguf/{file}", gguf_files.make(file, folder))
            for file in gguf_experts.FILES:
                say(f"gguf/{file}", gguf_experts.make(file, folder))
            for file in gguf_files.ENCODERS:
                say(f"gguf/{file}", gguf_files.make_encoder(file, folder))
            for file in gguf_architectures.FILES:
                say(f"gguf/{file}", gguf_architectures.make(file, folder))
        elif name == "llama-sharded":
            make_sharded()
        elif name in STORED:
            make_stored(name)
        else:
            wanted = families.FAMILIES[name].get("release", transformers.__version__)
            assert transformers.__version__ == wanted, f"{name} needs transformers {wanted}"
            make_family(name)
    make_readable()
    if not any("release" in families.FAMILIES.get(name, {}) for name in names):
        readme.write(TARGET)


if __name__ == "__main__":
    main()
