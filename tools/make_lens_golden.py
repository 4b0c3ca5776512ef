#!/usr/bin/env python3
"""Makes tests/golden/lens: linear lenses of models/gpt2 and llama, and what every layer of case1 predicts by them and without.

Everything by its definition, from the hidden states of transformers in float64: state + state W^T + b (tuned-lens' residual
translators), the final norm, the unembedding, and a softmax over the whole vocabulary. Weights of the lenses are from a seed;
llama's are stored as bfloat16 under a name in front, gpt2's once more as torch.save writes them. Needs torch, transformers and
safetensors.
"""

import json
import pathlib

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"
RANKED = 7


def make_lens(layers, width, dtype):
    tensors = {}
    for layer in range(layers):
        tensors[f"{layer}.weight"] = (torch.randn(width, width) * 0.15).to(dtype)
        tensors[f"{layer}.bias"] = (torch.randn(width) * 0.5).to(dtype)
    return tensors


def cell(log_probs, last):
    best = torch.topk(log_probs, 5)
    ranked = log_probs[RANKED]
    return {
        "likeliest": best.indices.tolist(),
        "probabilities": [float(f"{p:.12g}") for p in best.values.exp().tolist()],
        "entropy": float(f"{-(log_probs.exp() * log_probs).sum():.12g}"),
        "divergence": float(f"{(last.exp() * (last - log_probs)).sum():.12g}"),
        "rank": int((log_probs > ranked).sum()) + 1,
        "probability": float(f"{ranked.exp():.12g}"),
        "rank_of_last": int((log_probs > log_probs[last.argmax()]).sum()) + 1,
    }


def read(model, lens):
    """[layer][position] of the grid."""
    core = model.base_model
    norm = core.ln_f if hasattr(core, "ln_f") else core.norm
    last = torch.log_softmax(model.logits, -1)
    grid = []
    for layer, state in enumerate(model.hidden[:-1]):
        if lens:
            state = state + state @ lens[f"{layer}.weight"].double().T + lens[f"{layer}.bias"].double()
        log_probs = torch.log_softmax(model.lm_head(norm(state)), -1)
        grid.append([cell(row, final) for row, final in zip(log_probs, last)])
    grid.append([cell(row, row) for row in last])
    return grid


def make(name, dtype, prefix):
    folder = GOLDEN / "models" / name
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    ids = load_file(folder / "reference.safetensors")["case1.ids"].long()
    with torch.no_grad():
        out = model(ids, output_hidden_states=True)
        model.hidden, model.logits = [state[0] for state in out.hidden_states], out.logits[0]
        lens = make_lens(len(model.hidden) - 1, model.hidden[0].shape[-1], dtype)
        save_file({prefix + key: value for key, value in lens.items()}, GOLDEN / "lens" / f"{name}.safetensors")
        if name == "gpt2":
            torch.save(lens, GOLDEN / "lens/params.pt")
        return {"model": name, "ids": ids[0].tolist(), "ranked": RANKED, "logit": read(model, None), "linear": read(model, lens)}


def main():
    torch.manual_seed(36)
    (GOLDEN / "lens").mkdir(exist_ok=True)
    cases = [make("gpt2", torch.float32, ""), make("llama", torch.bfloat16, "layer_translators.")]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDEN / "lens/cells.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
