#!/usr/bin/env python3
"""Makes tests/golden/models: small random models as transformers saves them, and what transformers computes with them.

    make_model_golden.py            everything
    make_model_golden.py gpt2 t5    these folders

Every number follows from a folder's name, so a second run with the same versions writes the same bytes.
"""

import argparse
import copy
import pathlib
import shutil
import sys

import torch
import transformers

transformers.utils.logging.disable_progress_bar()

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_models import cases, exact, families, older_config, reference, tiny_text, weights  # noqa: E402

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/models"


def build(row):
    """The model of a table's row, with whatever weights it starts with."""
    cls = getattr(transformers, row["class"])
    config = cls.config_class(**copy.deepcopy(row["config"]))
    config._attn_implementation = "eager"
    model = cls(config).eval()
    if "untied" in row:
        layer = model.get_submodule(row["untied"][0])
        layer.weight = torch.nn.Parameter(layer.weight.detach().clone())
    return model


def make(name):
    row = families.FAMILIES[name]
    folder = TARGET / name
    shutil.rmtree(folder, ignore_errors=True)
    model = build(row)
    weights.randomise(model, name, row)
    model.save_pretrained(folder)
    computed = set(model._keys_to_ignore_on_save or ())
    twin = exact.double_model(lambda: build(row), model.state_dict(), computed)
    given = cases.make(name, model.config, row)
    older_config.write(folder, row)
    if row.get("text"):
        tiny_text.save(row["text"], model.config.vocab_size, folder)
    numbers = reference.write(folder / "reference.safetensors", model, twin, given, row["kind"])
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{name:20} {size / 1000:4.0f} kB  entropy {numbers['entropy'][0]:.2f}..{numbers['entropy'][1]:.2f}"
          f"  |hidden| {numbers['largest_hidden']:.1f}  |logit| {numbers['largest_logit']:.1f}"
          f"  f32: {numbers['attentions']:.1e} {numbers['hidden']:.1e} {numbers['logits']:.1e}  {numbers['last_hidden']}"
          f"  {numbers['float32_operations'] or ''}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="folders to make; all when none is given")
    for name in parser.parse_args().names or families.FAMILIES:
        make(name)


if __name__ == "__main__":
    main()
