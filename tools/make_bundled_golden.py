#!/usr/bin/env python3
"""Makes tests/golden/bundled: transformers' results with the models of assets/models, in float64.

NAME.safetensors has the tensors of one case (tests/golden/models/README.md names them); translations.json and
continuations.json what greedy decoding writes, token by token, and which source token each token of a translation looks at.
app/checks/captions.json has some numbers of captions-gpt2's case.
Needs the packages in tools/requirements.txt, and transformers.
"""

import hashlib
import json
import pathlib
import sys

import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file

transformers.utils.logging.disable_progress_bar()
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from golden_models import exact, reference  # noqa: E402

MODELS, TARGET = ROOT / "assets/models", ROOT / "tests/golden/bundled"

# Sentences that aren't in the training data.
GERMAN = [
    "Ein kleiner Hund läuft am Strand und ein Mädchen wirft einen Ball.",
    "Zwei Männer sitzen auf einer Bank und lesen Zeitung.",
    "Eine Frau in einem roten Kleid fährt mit dem Fahrrad durch die Stadt.",
    "Drei Kinder spielen im Schnee.",
    "Ein alter Mann verkauft Obst auf dem Markt.",
    "Der Junge springt ins Wasser.",
    "Eine Gruppe von Leuten tanzt nachts auf der Straße.",
    "Ein Mädchen mit blonden Haaren liest ein Buch.",
    "Ein Koch schneidet in der Küche Gemüse.",
    "Zwei braune Hunde rennen über eine grüne Wiese.",
]
ENGLISH = ["A man in a red shirt", "Two dogs are", "A girl plays the guitar. A girl plays"]
MOST_TOKENS = 30


def open_model(folder):
    """The folder as transformers opens it, with weights converted to float64."""
    kind = {"marian": transformers.MarianMTModel, "gpt2": transformers.GPT2LMHeadModel}
    config = transformers.AutoConfig.from_pretrained(folder, attn_implementation="eager")
    loaded = kind[config.model_type].from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    state = {name: tensor.clone() for name, tensor in loaded.state_dict().items()}
    in_file = load_file(folder / "model.safetensors")
    for name, tensor in in_file.items():
        assert torch.equal(state[name], tensor.float()), f"{name}: transformers has other numbers than the file"
    return exact.double_model(lambda: kind[config.model_type](config), state).eval()


def arguments(model, source, target):
    """transformers' arguments for one line: ids of the text, and the decoder's input (None without a decoder)."""
    ids = torch.tensor([source])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False, "output_attentions": True}
    if target is not None:
        given["decoder_input_ids"] = torch.tensor([target])
    return given


def greedy(model, source, end, start=None, barred=()):
    """Greedy continuation ids, and the smallest lead of one of them over the second likeliest (logits)."""
    written, lead = [], float("inf")
    while len(written) < MOST_TOKENS:
        target = None if start is None else [start, *written]
        with torch.no_grad(), exact.double_precision():
            logits = model(**arguments(model, source + written if start is None else source, target)).logits[0, -1]
        logits[list(barred)] = float("-inf")
        best = logits.topk(2)
        lead = min(lead, (best.values[0] - best.values[1]).item())
        if best.indices[0] == end:
            break
        written.append(int(best.indices[0]))
    return written, lead


def alignment(model, source, written, start, special):
    """For each written token the source token with the most weight in the row that chose it, the one of the token before,
    averaged over the heads of the last layer, special tokens left out; and the smallest lead over the next."""
    with torch.no_grad(), exact.double_precision():
        out = model(**arguments(model, source, [start, *written]))
    weights = out.cross_attentions[-1][0].mean(0)[:len(written)]
    weights[:, [place for place, id in enumerate(source) if id in special]] = -1
    best = weights.topk(2).values
    return weights.argmax(-1).tolist(), (best[:, 0] - best[:, 1]).min().item()


def save_case(name, model, tokenizer, text, target):
    """One case with the names that the goldens of other models have."""
    kind = "decoder" if target is None else "encoder-decoder"
    source = tokenizer.encode(text).ids
    case = {"ids": torch.tensor([source]), "mask": torch.ones(1, len(source), dtype=torch.long)}
    if target is not None:
        case |= {"target_ids": torch.tensor([target]), "target_mask": torch.ones(1, len(target), dtype=torch.long)}
    with exact.double_precision():
        found = reference.results(model, case, kind)
    tensors = {**{key: value.int() for key, value in case.items()},
               **{key: value.to(exact.SINGLE).contiguous() for key, value in found.items()}}
    path = TARGET / f"{name}.safetensors"
    save_file({f"case0.{key}": value for key, value in tensors.items()}, path)
    path.chmod(0o644)


def save_texts(name, model, items):
    digest = hashlib.sha256((MODELS / model / "model.safetensors").read_bytes()).hexdigest()
    content = {"model": model, "weights_sha256": digest,
               "versions": f"transformers {transformers.__version__}, torch {torch.__version__}", "items": items}
    (TARGET / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def save_numbers(text):
    """app/checks/captions.json, from the case of this text: what `headlight check` compares a device with."""
    case = load_file(TARGET / "captions-gpt2.safetensors")
    rounded = lambda values: [float(f"{value:.8g}") for value in values]  # noqa: E731
    logits = case["case0.logits"][0, -1]
    best = logits.topk(10).indices.tolist()
    content = {"text": text, "last_rows": [[rounded(head[-1].tolist()) for head in layer[0]] for layer in case["case0.attentions"]],
               "logits": {str(id): rounded([logits[id].item()])[0] for id in best}}
    (ROOT / "app/checks/captions.json").write_text(json.dumps(content) + "\n")


def translator():
    folder = MODELS / "multi30k-de-en"
    model, tokenizer = open_model(folder), tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = model.config
    items = []
    for text in GERMAN:
        source = tokenizer.encode(text).ids
        written, lead = greedy(model, source, config.eos_token_id, config.decoder_start_token_id,
                               barred=(config.pad_token_id, config.decoder_start_token_id))
        places, clear = alignment(model, source, written, config.decoder_start_token_id,
                                  {config.bos_token_id, config.eos_token_id})
        items.append({"source": text, "source_ids": source, "ids": written, "translation": tokenizer.decode(written).strip(),
                      "alignment": places})
        print(f"{items[-1]['translation']}  (leads {lead:.3f}, {clear:.4f})")
        tokens = [tokenizer.id_to_token(id) for id in source]
        print("   ", *(f"{tokenizer.id_to_token(id)}–{tokens[place]}" for id, place in zip(written, places)))
    save_texts("translations.json", "multi30k-de-en", items)
    save_case("multi30k-de-en", model, tokenizer, items[0]["source"], [config.decoder_start_token_id, *items[0]["ids"]])


def caption_writer():
    folder = MODELS / "captions-gpt2"
    model, tokenizer = open_model(folder), tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    items = []
    for text in ENGLISH:
        source = tokenizer.encode(text).ids
        written, lead = greedy(model, source, model.config.eos_token_id)
        items.append({"text": text, "ids": written, "continuation": tokenizer.decode(written)})
        print(f"{text}|{items[-1]['continuation']}  (lead {lead:.3f})")
    save_texts("continuations.json", "captions-gpt2", items)
    save_case("captions-gpt2", model, tokenizer, ENGLISH[-1], None)
    save_numbers(ENGLISH[-1])


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    translator()
    caption_writer()
