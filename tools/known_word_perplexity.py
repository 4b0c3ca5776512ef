#!/usr/bin/env python3
"""Perplexity of assets/models/multi30k-de-en over the words of a whole-word vocabulary: known_word_perplexity.py DIR.

The notebook's vocabulary maps a word that training has seen less than twice to <unk>, one token that costs little. Here the
tokens of such words are left out of sum and count, so that only words that both vocabularies have remain. DIR: Multi30k's text.
Needs the packages in tools/requirements.txt.
"""

import collections
import math
import re
import sys

import tokenizers
import torch
from safetensors.torch import load_file

from train_translator import DROPOUT, LENGTH, PAD, SHAPE, VOCABULARY, padded
from training import multi30k
from training.command import MODELS
from training.marian import Translator

LEAST = 2  # times that a known word is seen


def main(data):
    folder = MODELS / "multi30k-de-en"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = Translator(VOCABULARY, LENGTH, PAD, SHAPE, DROPOUT).eval()
    tensors = load_file(folder / "model.safetensors")
    model.load_state_dict({name.removeprefix("model."): tensor.float() for name, tensor in tensors.items()
                           if name != "final_logits_bias"})
    seen = collections.Counter(word for _, english in multi30k.pairs(data, "train") for word in multi30k.words(english))
    everything, known = [0.0, 0], [0.0, 0]  # nats, words
    for german, english in multi30k.pairs(data, "val"):
        source, target = tokenizer.encode(german).ids, tokenizer.encode(english)
        ids = torch.tensor([target.ids])
        with torch.inference_mode():
            logits = model(padded([source], "cpu"), ids[:, :-1], torch.ones_like(ids[:, :-1], dtype=torch.bool))
        nats = torch.nn.functional.cross_entropy(logits.double(), ids[0, 1:], reduction="none").tolist()
        ends = [end for _, end in target.offsets[1:-1]]
        for word in re.finditer(multi30k.WORD, english.lower()):
            cost = sum(one for one, end in zip(nats, ends) if word.start() < end <= word.end())
            for sums in (everything, known) if seen[word.group()] >= LEAST else (everything,):
                sums[0] += cost
                sums[1] += 1
        for sums in (everything, known):
            sums[0] += nats[-1]
            sums[1] += 1
    print(f"every word {math.exp(everything[0] / everything[1]):.3f}, {everything[1]} words and ends; "
          f"words seen {LEAST} times or more {math.exp(known[0] / known[1]):.3f}, {known[1]} words and ends")


if __name__ == "__main__":
    main(sys.argv[1])
