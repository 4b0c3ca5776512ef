#!/usr/bin/env python3
"""Makes tests/golden/minilm.safetensors: transformers' results with the weights of all-MiniLM-L6-v2.

    make_minilm_golden.py FOLDER     the folder with its config.json, model.safetensors and tokenizer.json

Needs the packages torch, transformers, tokenizers and safetensors. Everything is computed in float64 with eager attention and
rounded to float32: two lines, the shorter one padded on the right; rows of padded queries are zero.
"""

import hashlib
import pathlib
import sys

import safetensors.torch
import tokenizers
import torch
import transformers

LINES = ["A head looks back at the word it needs.", "The cat sat."]
TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/minilm.safetensors"


def main(folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    rows = [tokenizer.encode(line).ids for line in LINES]
    length = max(len(row) for row in rows)
    ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager", add_pooling_layer=False,
                                                   dtype=torch.float32).double().eval()
    with torch.no_grad():
        result = model(input_ids=ids, attention_mask=mask, output_attentions=True)
    attentions = torch.stack(result.attentions) * mask[None, :, None, :, None]
    hidden = result.last_hidden_state * mask[:, :, None]
    tensors = {"ids": ids.int(), "mask": mask.int(), "attentions": attentions.float().contiguous(),
               "last_hidden": hidden.float().contiguous()}
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    safetensors.torch.save_file(tensors, TARGET, metadata={
        "weights": f"all-MiniLM-L6-v2, model.safetensors with SHA-256 {digest}",
        "versions": f"transformers {transformers.__version__}, torch {torch.__version__}"})
    TARGET.chmod(0o644)
    print({name: tuple(tensor.shape) for name, tensor in tensors.items()}, TARGET.stat().st_size, "bytes", digest)


main(pathlib.Path(sys.argv[1]))
