#!/usr/bin/env python3
"""Trains assets/models/copy-training: a GPT-2 of two layers without MLPs that learns to copy, with the steps on its way.

    scripts/train copy             about a minute of one thread; needs no data
    scripts/train copy --check     trains anew in a folder of its own and compares the bytes

A row is a start token and words that repeat with a period of 4 to 16, drawn for each row: with one period for all, a single
layer solves the task by counting positions. The words of a period differ. Only words that the row determines are learned: those
that follow a word for the second time. Written as Hugging Face's Trainer writes a training: checkpoint-N, each with the
trainer_state.json so far. Without the script: the packages in tools/requirements.txt.
"""

import argparse
import filecmp
import json
import os
import pathlib
import sys
import tempfile

# The same sums in the same order whatever instructions the processor has; read when torch is imported.
os.environ.update(MKL_CBWR="COMPATIBLE", ATEN_CPU_CAPABILITY="default")

import tokenizers
import torch
from tokenizers import models, pre_tokenizers, processors
from torch import nn

from training import folder
from training.command import MODELS
from training.gpt2 import CaptionWriter, Shape
from training.loop import decayed

NAME = "copy-training"
START, UNKNOWN = "<start>", "<unk>"
WORDS = ("apple arm ball bell bird boat book bread bridge candle cat chair cloud coat cow dog door drum egg farm fish flag fox "
         "glass hat hill horse house key lake lamp leaf moon mouse nose pear pen rain ring road rose ship shoe star sun "
         "tree").split()
VOCABULARY = [START, UNKNOWN, *WORDS]
FIRST_WORD, WORDS_OF_ROW, PERIODS = 2, 32, (4, 16)
SHAPE = Shape(layers=2, heads=2, d_model=64, d_ff=1)
BATCH, LEARNING_RATE, WEIGHT_DECAY, SPREAD = 32, 1e-3, 0.01, 0.05
KEPT = (0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 320, 400, 600, 1000)


def make_tokenizer():
    """A word is a token, and the start token stands before a text."""
    tokenizer = tokenizers.Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A", special_tokens=[(START, 0)])
    return tokenizer


def rows(count, generator):
    """→ ids [count, 1 + WORDS_OF_ROW], and which of ids[:, 1:] the row determines."""
    periods = torch.randint(PERIODS[0], PERIODS[1] + 1, (count, 1), generator=generator)
    words = FIRST_WORD + torch.rand(count, len(WORDS), generator=generator).argsort(1)
    places = torch.arange(WORDS_OF_ROW).expand(count, -1)
    ids = torch.cat([torch.zeros(count, 1, dtype=torch.long), words.gather(1, places % periods)], 1)
    return ids, places > periods


class Copier(CaptionWriter):
    """Without MLPs: what GPT-2's layout has of them is 0 and stays so. Output rows aren't the token vectors."""

    def __init__(self):
        super().__init__(len(VOCABULARY), WORDS_OF_ROW, 0, SHAPE, dropout=0.0)
        self.lm_head = nn.Parameter(torch.empty(len(VOCABULARY), SHAPE.d_model))
        with torch.no_grad():
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(std=SPREAD)
            for block in self.h:
                block.ln_2.requires_grad_(False)
                for parameter in block.mlp.parameters():
                    parameter.requires_grad_(False).zero_()

    def forward(self, ids, chosen):
        x, bias = self.embed(ids)
        for block in self.h:
            x = block(x, bias)
        return self.ln_f(x)[chosen] @ self.lm_head.T

    def tensors(self):
        return {name.replace("transformer.lm_head", "lm_head.weight"): tensor for name, tensor in super().tensors().items()}

    def config(self):
        return {**super().config(), "eos_token_id": None, "tie_word_embeddings": False}


def loss_and_accuracy(model, ids, counts):
    """Mean −ln p (nats) and share of right first guesses, of the words that count."""
    logits, wanted = model(ids[:, :-1], counts), ids[:, 1:][counts]
    return nn.functional.cross_entropy(logits, wanted), (logits.argmax(-1) == wanted).float().mean()


def write_step(target, step, model, tokenizer, history):
    folder.write(target, model.tensors(), model.config(), tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": WORDS_OF_ROW, "bos_token": START,
        "unk_token": UNKNOWN})
    state = {"global_step": step, "max_steps": KEPT[-1], "train_batch_size": BATCH, "log_history": history}
    (target / "trainer_state.json").write_text(json.dumps(state, indent=1) + "\n")


def train(output, seed):
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    drawn, tokenizer = torch.Generator().manual_seed(seed + 1), make_tokenizer()
    checks = rows(256, torch.Generator().manual_seed(seed + 2))
    model = Copier()
    optimizer = torch.optim.AdamW(decayed(model, WEIGHT_DECAY), lr=LEARNING_RATE)
    history = []
    for step in range(KEPT[-1] + 1):
        if step % (10 if step < 400 else 100) == 0:
            with torch.no_grad():
                loss, accuracy = loss_and_accuracy(model, *checks)
            history.append({"eval_accuracy": round(accuracy.item(), 4), "eval_loss": round(loss.item(), 4), "step": step})
        if step in KEPT:
            write_step(output / f"checkpoint-{step}", step, model, tokenizer, history)
            print(history[-1], flush=True)
        loss, _ = loss_and_accuracy(model, *rows(BATCH, drawn))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def differing(one, other):
    """The files of checkpoints that aren't the same in both folders."""
    names = sorted({path.relative_to(root) for root in (one, other) for path in root.glob("checkpoint-*/*")})
    return [name for name in names
            if not all((root / name).is_file() for root in (one, other))
            or not filecmp.cmp(one / name, other / name, shallow=False)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=MODELS / NAME, help="the training's folder (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1234, help="(default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="writes nothing: says whether the same bytes come out")
    arguments = parser.parse_args()
    if not arguments.check:
        return train(arguments.output, arguments.seed)
    with tempfile.TemporaryDirectory() as anew:
        train(pathlib.Path(anew), arguments.seed)
        if others := differing(arguments.output, pathlib.Path(anew)):
            sys.exit(f"{len(others)} files of {arguments.output} have other bytes, the first {others[0]}: train it anew")
        print(f"{arguments.output}: the same bytes")


if __name__ == "__main__":
    main()
