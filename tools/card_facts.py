#!/usr/bin/env python3
"""Prints what the bundled models' cards say beyond `headlight evaluate`: card_facts.py DIR, Multi30k's text.

How many of the most frequent words are one token of the translator, and what is left of the caption writer's induction when its
previous-token head L0H5 is knocked out before W_O. Needs the packages in tools/requirements.txt.
"""

import collections
import sys

import tokenizers
import torch
from safetensors.torch import load_file

from train_captions import DROPOUT, LENGTH, SHAPE, VOCABULARY, stripes
from training import multi30k
from training.command import MODELS
from training.gpt2 import CaptionWriter


def whole_words(data):
    tokenizer = tokenizers.Tokenizer.from_file(str(MODELS / "multi30k-de-en/tokenizer.json"))
    counts = collections.Counter(word for pair in multi30k.pairs(data, "train") for text in pair
                                 for word in multi30k.words(text) if word.isalpha())
    whole = {word for word in counts if len(tokenizer.encode(word, add_special_tokens=False).ids) == 1}
    common = [word for word, _ in counts.most_common(2000)]
    share = sum(count for word, count in counts.items() if word in whole) / sum(counts.values())
    print(f"one token each: {sum(word in whole for word in common)} of the 2,000 most frequent words, {share:.1%} of all words")


def knocked_out(layer=0, head=5):
    model = CaptionWriter(VOCABULARY, LENGTH, 0, SHAPE, DROPOUT).eval()
    tensors = load_file(MODELS / "captions-gpt2/model.safetensors")
    model.load_state_dict({name.removeprefix("transformer."): tensor.float() for name, tensor in tensors.items()})
    size = SHAPE.d_model // SHAPE.heads
    with torch.inference_mode():
        print("stripe scores:", stripes(model, "cpu"))
        model.h[layer].attn.c_proj.weight[head * size:(head + 1) * size] = 0
        print(f"without L{layer}H{head}:", stripes(model, "cpu"))


if __name__ == "__main__":
    whole_words(sys.argv[1])
    knocked_out()
