#!/usr/bin/env python3
"""Trains assets/models/captions-gpt2, a GPT-2 of four layers that writes image captions.

    scripts/train captions --data DIR

Its text is Multi30k's 145,000 English captions. A share of the rows repeats random spans, in which only a head that looks up
what followed a token's last occurrence can know what comes next: so induction heads form (Olsson et al. 2022). Interrupted,
the same command goes on. Without the script: the packages in tools/requirements.txt.
"""

import collections
import itertools
import math
import random

import torch
from torch import nn

from training import byte_level_bpe, folder, loop, multi30k
from training.command import parse, run
from training.gpt2 import CaptionWriter, Shape

NAME = "captions-gpt2"
END = "<|endoftext|>"
VOCABULARY, LENGTH, DROPOUT = 4000, 256, 0.1
SHAPE = Shape(layers=4, heads=8, d_model=256, d_ff=768)
TOKENS = 4096  # of a batch
PARTS = 3  # an epoch reads every third image: checkpoints come more often
ROW_LENGTHS = (64, 64, 64, LENGTH)  # alternating: captions are short, and all positions have to be learned
REPEATING = 0.5  # share of rows with a repeated span
RANDOM = 0.7  # of those, with random tokens instead of text


def make_tokenizer(images):
    return byte_level_bpe.train((line for image in images for line in image), VOCABULARY, [END])


def stream(images, end, shuffle, groups):
    """All captions in a random order, each followed by the end token; with `groups`, an image's five side by side."""
    images = [shuffle.sample(image, len(image)) for image in images]
    texts = images if groups else [[caption] for image in images for caption in image]
    shuffle.shuffle(texts)
    for text in texts:
        for caption in text:
            yield [*caption, end]


def text_row(captions, length, end, shuffle):
    """Whole captions from the stream until the row is full; every second row begins with the end token.

    None when the stream is used up.
    """
    row = [end] if shuffle.random() < 0.5 else []
    while len(row) < length + 1:
        caption = next(captions, None)
        if caption is None:
            return None
        row += caption
    return row[:length + 1]


class RandomTokens:
    """Draws tokens, each in proportion to the square root of its count in the text: rare ones occur, but not too often."""

    def __init__(self, images):
        counts = collections.Counter(token for image in images for caption in image for token in caption)
        self.tokens, weights = list(counts), [count ** 0.5 for count in counts.values()]
        self.sums = list(itertools.accumulate(weights))

    def draw(self, count, shuffle):
        return shuffle.choices(self.tokens, cum_weights=self.sums, k=count)


def repeat_span(row, random_tokens, shuffle):
    """Repeats a span in the row, from a random position to its end: random tokens, or the text at that position.

    Returns which tokens can't be known: a random span's first time.
    """
    length = len(row)
    begin = shuffle.randrange(0, length // 4)
    size = shuffle.randrange(6, (length - begin) // 2 + 1)
    is_random = shuffle.random() < RANDOM
    span = random_tokens.draw(size, shuffle) if is_random else row[begin:begin + size]
    for place in range(begin, length):
        row[place] = span[(place - begin) % size]
    return range(begin, begin + size) if is_random else range(0)


def batches_of(images, random_tokens, end, seed, epoch, device):
    """[(ids [row, length + 1], which of ids[:, 1:] count)]"""
    shuffle = random.Random(seed * 1000 + epoch)
    captions = stream(images[epoch % PARTS::PARTS], end, shuffle, groups=epoch % 2 == 0)
    batches = []
    while True:
        length = ROW_LENGTHS[len(batches) % len(ROW_LENGTHS)]
        rows, counts = [], []
        for _ in range(TOKENS // length):
            row = text_row(captions, length, end, shuffle)
            if row is None:
                return batches
            unknown = repeat_span(row, random_tokens, shuffle) if shuffle.random() < REPEATING else range(0)
            rows.append(row)
            counts.append([place not in unknown for place in range(1, length + 1)])
        batches.append((torch.tensor(rows, device=device), torch.tensor(counts, device=device)))


def loss_of(model, batch):
    """Mean negative log-likelihood of the scored tokens (nats), and their number."""
    ids, counts = batch
    logits = model(ids[:, :-1], counts)
    return nn.functional.cross_entropy(logits.float(), ids[:, 1:][counts]), int(counts.sum())


def alone(texts, end, device):
    """Each caption separately between two end tokens, batched, with padding that isn't scored."""
    batches = []
    texts = sorted(texts, key=len)
    for begin in range(0, len(texts), 128):
        group = texts[begin:begin + 128]
        width = max(map(len, group)) + 2
        rows = [[end, *text, end] + [end] * (width - len(text) - 2) for text in group]
        counts = [[place <= len(text) for place in range(width - 1)] for text in group]
        batches.append((torch.tensor(rows, device=device), torch.tensor(counts, device=device)))
    return batches


def stripes(model, device, span=48):
    """The best head's mean weight on the token before, and on the one that followed last time, in random tokens repeated
    once (TransformerLens' stripe scores)."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, VOCABULARY, (16, span), generator=generator).repeat(1, 2).to(device)
    weights = torch.stack(model.weights(ids)).mean(1)  # [layer, head, query, key]
    best = {}
    for name, distance in (("previous", 1), ("duplicate", span), ("induction", span - 1)):
        scores = weights.diagonal(-distance, -2, -1).mean(-1)
        place = int(scores.argmax())
        best[f"{name} (L{place // SHAPE.heads}H{place % SHAPE.heads})"] = scores.max().item()
    return best


def main():
    arguments = parse(__doc__, NAME, epochs=15)
    images = multi30k.captions(arguments.data)
    tokenizer = make_tokenizer(images)
    end = tokenizer.token_to_id(END)
    ids = [[row.ids for row in tokenizer.encode_batch(list(image))] for image in images]
    random_tokens = RandomTokens(ids)
    val = [english for _, english in multi30k.pairs(arguments.data, "val")]
    checks = alone([row.ids for row in tokenizer.encode_batch(val)], end, arguments.device)
    words = sum(len(multi30k.words(text)) + 1 for text in val)
    model = CaptionWriter(VOCABULARY, LENGTH, end, SHAPE, DROPOUT).to(arguments.device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {sum(map(len, ids)):,} captions, "
          f"{sum(len(row) + 1 for image in ids for row in image):,} tokens", flush=True)

    def validate(model):
        total = sum(mean.item() * count for mean, count in (loss_of(model, batch) for batch in checks))
        return {"perplexity per word": math.exp(total / words), **stripes(model, arguments.device)}

    settings = loop.Settings(epochs=arguments.epochs, learning_rate=1e-3, warmup_steps=200, weight_decay=0.1,
                             seed=arguments.seed, precision=arguments.precision)
    loop.train(model, settings, arguments.work, arguments.device,
               lambda epoch: batches_of(ids, random_tokens, end, arguments.seed, epoch, arguments.device), loss_of, validate)
    folder.write(arguments.output, model.tensors(), model.config(), tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": LENGTH, "bos_token": END, "eos_token": END,
        "pad_token": END})


if __name__ == "__main__":
    run(main)
