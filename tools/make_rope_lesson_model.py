#!/usr/bin/env python3
"""Writes assets/lessons/rope-words, the model of the lesson about rotary positions: one layer of a Llama with random weights.

Needs torch and transformers. The same seed gives the same file.
"""
import json
import pathlib
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

WORDS = "<unk> . a and bird cat dog horse house in man mat on red runs sat saw sits the tree two woman".split()


def main() -> None:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "assets/lessons/rope-words")
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    config = LlamaConfig(vocab_size=len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                         num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64, rope_theta=100.0,
                         initializer_range=0.6, bos_token_id=None, eos_token_id=None)
    LlamaForCausalLM(config).save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(WORDS)}, "unk_token": "<unk>"}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer) + "\n")


if __name__ == "__main__":
    main()
