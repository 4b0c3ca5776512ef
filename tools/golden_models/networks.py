"""From a row of the table to a model, and from models to files in other formats than float32."""

import copy
import importlib

import torch
import transformers

from . import exact, weights


def class_of(row):
    """Also classes that transformers keeps within a model's module: stacks of an encoder–decoder."""
    if hasattr(transformers, row["class"]):
        return getattr(transformers, row["class"])
    return getattr(importlib.import_module("transformers.models.bart.modeling_bart"), row["class"])


def build(row):
    """The model of a table's row, with whatever weights it starts with."""
    cls = class_of(row)
    config = cls.config_class(**copy.deepcopy(row["config"]))
    config._attn_implementation = "eager"
    model = cls(config).eval()
    if "untied" in row:
        layer = model.get_submodule(row["untied"][0])
        layer.weight = torch.nn.Parameter(layer.weight.detach().clone())
    return model


def random_model(name, row):
    model = build(row)
    weights.randomise(model, name, row)
    return model


def double_twin(model, row):
    """The same network in float64."""
    return exact.double_model(lambda: build(row), model.state_dict(), set(model._keys_to_ignore_on_save or ()))


def round_weights(model, dtype):
    """Rounds every weight to `dtype`'s precision; the model stays float32."""
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.copy_(tensor.to(dtype).to(tensor.dtype))


def save_as(model, dtype, folder):
    """save_pretrained in another type."""
    copy.deepcopy(model).to(dtype).save_pretrained(folder)
