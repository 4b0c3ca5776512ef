#!/usr/bin/env python3
"""Trains assets/models/multi30k-de-en, the translator of "Attention Is All You Need" at notebook size.

    scripts/train translator --data DIR

3 + 3 layers, 8 heads, d_model 256, d_ff 512, learned positions, token vectors × √256, post-LayerNorm, ReLU; laid out as
Marian's (transformers), whose table of sinusoids is replaced by a learned one. Interrupted, the same command goes on.
Without the script: the packages in tools/requirements.txt.
"""

import math
import random

import torch
from torch import nn

from training import byte_level_bpe, folder, loop, multi30k
from training.command import parse, run
from training.marian import Shape, Translator

NAME = "multi30k-de-en"
PAD, SOS, EOS = range(3)
SPECIAL = ["<pad>", "<sos>", "<eos>"]
VOCABULARY, LENGTH, DROPOUT = 8000, 100, 0.3
SHAPE = Shape(layers=3, heads=8, d_model=256, d_ff=512)
SENTENCES = 256  # of a batch


def make_tokenizer(pairs):
    texts = [line for pair in pairs for line in pair]
    tokenizer = byte_level_bpe.train(texts, VOCABULARY, SPECIAL, lower_case=True, begins_with_space=True)
    byte_level_bpe.frame(tokenizer, before=["<sos>"], after=["<eos>"])
    return tokenizer


def encode(tokenizer, pairs):
    """[(source ids, target ids)], both with <sos> and <eos>; tokens beyond the positions are cut off."""
    encoded = (tokenizer.encode_batch([pair[side] for pair in pairs]) for side in range(2))
    return [(source.ids[:LENGTH], target.ids[:LENGTH]) for source, target in zip(*encoded)]


def padded(rows, device):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], device=device)


def batches_of(examples, device, shuffle=None):
    """Sentences of similar length together, so that little is padded."""
    order = sorted(range(len(examples)), key=lambda i: (
        len(examples[i][1]) + (shuffle.random() * 3 if shuffle else 0), len(examples[i][0])))
    groups = [order[begin:begin + SENTENCES] for begin in range(0, len(order), SENTENCES)]
    if shuffle:
        shuffle.shuffle(groups)
    return [tuple(padded([examples[i][side] for i in group], device) for side in range(2)) for group in groups]


def loss_of(model, batch):
    """Mean negative log-likelihood of a target's token, <eos> included (nats), and their number."""
    source, target = batch
    wanted = target[:, 1:]
    is_text = wanted != PAD
    logits = model(source, target[:, :-1], is_text)
    return nn.functional.cross_entropy(logits.float(), wanted[is_text]), int(is_text.sum())


def main():
    arguments = parse(__doc__, NAME, epochs=36)
    train, val = multi30k.pairs(arguments.data, "train"), multi30k.pairs(arguments.data, "val")
    tokenizer = make_tokenizer(train)
    examples = encode(tokenizer, train)
    checks = batches_of(encode(tokenizer, val), arguments.device)
    # Words and punctuation marks, as the perplexity of a word counts them, and the end of each sentence.
    words = sum(len(multi30k.words(english)) + 1 for _, english in val)
    model = Translator(VOCABULARY, LENGTH, PAD, SHAPE, DROPOUT).to(arguments.device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(examples):,} pairs", flush=True)

    def validate(model):
        total = sum(mean.item() * count for mean, count in (loss_of(model, batch) for batch in checks))
        return {"perplexity per word": math.exp(total / words)}

    settings = loop.Settings(epochs=arguments.epochs, learning_rate=1e-3, warmup_steps=600, weight_decay=0.0,
                             seed=arguments.seed, precision=arguments.precision)
    loop.train(model, settings, arguments.work, arguments.device,
               lambda epoch: batches_of(examples, arguments.device, random.Random(arguments.seed * 1000 + epoch)), loss_of,
               validate)
    folder.write(arguments.output, model.tensors(), model.config(SOS, EOS), tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": LENGTH, "pad_token": "<pad>",
        "bos_token": "<sos>", "eos_token": "<eos>"})


if __name__ == "__main__":
    run(main)
