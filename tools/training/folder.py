"""Writes a model as an ordinary Hugging Face folder; weights as float16."""

import json
import os

import torch
from safetensors.torch import save_file


def write(folder, tensors, config, tokenizer, tokenizer_config):
    """tensors: {name: tensor}, as transformers names them; config and tokenizer_config: the contents of
    config.json and tokenizer_config.json. The model card is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / "model.safetensors.part"
    save_file({name: tensor.detach().cpu().to(torch.float16).contiguous() for name, tensor in tensors.items()}, unfinished,
              metadata={"format": "pt"})
    os.chmod(unfinished, 0o644)
    os.replace(unfinished, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in (("config.json", config), ("tokenizer_config.json", tokenizer_config)):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n")
