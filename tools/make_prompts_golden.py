#!/usr/bin/env python3
"""Makes tests/golden/prompts.json: what a small GPT-2 predicts over a set of prompts, as means and standard deviations.

Runs models/gpt2 of tests/golden in transformers, in float64, over eight prompts. Knock-outs: a hook before every attention's
output projection sets the columns of one head to 0. Patching: a hook before a layer replaces the residual stream of one token
by that of the corrupted text. Both: the difference of the logits of two tokens after the last one, less that of the text as it
is. Needs the packages torch, transformers and safetensors.
"""

import json
import pathlib
import statistics

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
TEXTS = ["the cat sat on the", "The cat is in the hat and the", "That is the end and", "He sat on an", "the cat is", "An end is in",
         "the hat is on the cat and", "the end is the"]
ANSWERS = [(" cat", " end"), (" cat", " is"), (" the", " an"), (" end", " cat"), (" in", " on"), (" the", " an"), (" the", " sat"),
           (" cat", " and")]


def prompts():
    """The set: the corrupted text has another word in the place of one of one token; the place is "word"."""
    for text, (answer, wrong) in zip(TEXTS, ANSWERS):
        old, new = (" cat", " end") if " cat" in text else (" is", " in") if " is" in text else (" on", " in")
        at = text.index(old)
        yield {"text": text, "corrupted": text[:at] + new + text[at + len(old):], "positions": {"word": [at, at + len(old)]},
               "answer": answer, "wrong": wrong}


def spread(values):
    return {"mean": statistics.fmean(values), "deviation": statistics.stdev(values), "count": len(values)}


def main():
    folder = GOLDEN / "models/gpt2"
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config.from_pretrained(folder, attn_implementation="eager"))
    model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    model.tie_weights()
    model = model.double().eval()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    layers, heads = model.config.n_layer, model.config.n_head
    width = model.config.n_embd // heads
    knockouts = [[[] for _ in range(heads)] for _ in range(layers)]
    patches = {"word": [[] for _ in range(layers)], "end": [[] for _ in range(layers)]}
    own = []
    for prompt in prompts():
        ids, corrupted = (torch.tensor([tokenizer(prompt[key])["input_ids"]]) for key in ("text", "corrupted"))
        assert ids.shape == corrupted.shape, prompt
        answer, wrong = (tokenizer(prompt[key])["input_ids"] for key in ("answer", "wrong"))
        assert len(answer) == len(wrong) == 1, prompt
        offsets = tokenizer(prompt["text"], return_offsets_mapping=True)["offset_mapping"]
        end = prompt["positions"]["word"][1]
        word = max(i for i, (first, last) in enumerate(offsets) if first < end)

        @torch.no_grad()
        def measure(tokens=ids):
            logits = model(tokens).logits[0, -1]
            return float(logits[answer[0]] - logits[wrong[0]])

        own.append(measure())
        for layer in range(layers):
            for head in range(heads):

                def knock_out(_, inputs, first=head * width):
                    changed = inputs[0].clone()
                    changed[..., first:first + width] = 0
                    return (changed,)

                hook = model.transformer.h[layer].attn.c_proj.register_forward_pre_hook(knock_out)
                knockouts[layer][head].append(measure() - own[-1])
                hook.remove()
        kept = {}
        hooks = [block.register_forward_pre_hook(lambda _, inputs, i=i: kept.update({i: inputs[0].clone()}))
                 for i, block in enumerate(model.transformer.h)]
        measure(corrupted)
        for hook in hooks:
            hook.remove()
        for layer in range(layers):
            for name, token in (("word", word), ("end", ids.shape[1] - 1)):

                def patch(_, inputs, layer=layer, token=token):
                    changed = inputs[0].clone()
                    changed[:, token] = kept[layer][:, token]
                    return (changed, *inputs[1:])

                hook = model.transformer.h[layer].register_forward_pre_hook(patch)
                patches[name][layer].append(measure() - own[-1])
                hook.remove()
    golden = {
        "set": [json.dumps(prompt) for prompt in prompts()],
        "own": spread(own),
        "knockouts": [[spread(values) for values in row] for row in knockouts],
        "residual": {name: [spread(values) for values in rows] for name, rows in patches.items()},
    }
    rounded = json.loads(json.dumps(golden), parse_float=lambda number: float(f"{float(number):.12g}"))
    (GOLDEN / "prompts.json").write_text(json.dumps(rounded, indent=1) + "\n")


if __name__ == "__main__":
    main()
