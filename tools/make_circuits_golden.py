#!/usr/bin/env python3
"""Makes tests/golden/circuits.json: composition scores, OV copying and Jensen-Shannon divergences of heads of small models.

Everything by its definition, in float64 and in whole d_model x d_model matrices, from the models' weights as Hugging Face stores
them and from the attention that transformers computed (reference.safetensors). Needs the packages numpy and safetensors.
"""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"


def gpt2_heads(weights, config):
    """(kind, layer, head, W_Q, W_K, W_V, W_O) with vectors as rows: [d_model, d] and [d, d_model]."""
    width, heads = config["n_embd"], config["n_head"]
    d = width // heads
    for layer in range(config["n_layer"]):
        prefix = f"transformer.h.{layer}.attn."
        q, k, v = np.split(weights[prefix + "c_attn.weight"], 3, axis=1)
        o = weights[prefix + "c_proj.weight"]
        for head in range(heads):
            part = slice(head * d, (head + 1) * d)
            yield "encoder", layer, head, q[:, part], k[:, part], v[:, part], o[part]


def linear_heads(weights, prefix, kind, layer, heads, kv_heads, output):
    """Of torch.nn.Linear projections, which hold [out, in]."""
    q, k, v, o = (weights[f"{prefix}.{name}.weight"].T for name in ("q_proj", "k_proj", "v_proj", output))
    d = q.shape[1] // heads
    for head in range(heads):
        part = slice(head * d, (head + 1) * d)
        first = head // (heads // kv_heads) * d
        shared = slice(first, first + d)
        yield kind, layer, head, q[:, part], k[:, shared], v[:, shared], o[part]


def llama_heads(weights, config):
    for layer in range(config["num_hidden_layers"]):
        yield from linear_heads(
            weights,
            f"model.layers.{layer}.self_attn",
            "encoder",
            layer,
            config["num_attention_heads"],
            config["num_key_value_heads"],
            "o_proj",
        )


def marian_heads(weights, config):
    for layer in range(config["encoder_layers"]):
        heads = config["encoder_attention_heads"]
        yield from linear_heads(
            weights, f"model.encoder.layers.{layer}.self_attn", "encoder", layer, heads, heads, "out_proj"
        )
    for layer in range(config["decoder_layers"]):
        heads = config["decoder_attention_heads"]
        for kind, name in (("decoder", "self_attn"), ("cross", "encoder_attn")):
            yield from linear_heads(
                weights, f"model.decoder.layers.{layer}.{name}", kind, layer, heads, heads, "out_proj"
            )


def read_streams(kind):
    """Whose vectors queries, keys and values are made of."""
    queries = "encoder" if kind == "encoder" else "decoder"
    keys = "decoder" if kind == "decoder" else "encoder"
    return queries, keys, keys


def comes_before(writer, reader):
    """Has the writer written when the reader reads the same vectors?"""
    if writer[0] == "encoder":
        return reader[0] != "encoder" or writer[1] < reader[1]
    return reader[0] != "encoder" and (writer[1], writer[0] == "cross") < (reader[1], reader[0] == "cross")


def compositions(heads):
    ov = [v @ o for *_, v, o in heads]
    qk = [q @ k.T for *_, q, k, _, _ in heads]
    norm = np.linalg.norm
    found = []
    for w, writer in enumerate(heads):
        for r, reader in enumerate(heads):
            if not comes_before(writer, reader):
                continue
            scores = []
            for stream, matrix in zip(read_streams(reader[0]), (qk[r], qk[r].T, ov[r])):
                is_read = stream == ("encoder" if writer[0] == "encoder" else "decoder")
                scores.append(norm(ov[w] @ matrix) / (norm(ov[w]) * norm(matrix)) if is_read else None)
            if any(score is not None for score in scores):
                found.append([w, r, [None if score is None else round(score, 9) for score in scores]])
    return found


def copying(heads):
    ratios = []
    for kind, _, _, _, _, v, o in heads:
        eigenvalues = np.linalg.eigvals(v @ o)
        ratio = eigenvalues.real.sum() / np.abs(eigenvalues).sum()
        ratios.append(None if kind == "cross" else round(ratio, 9))
    return ratios


def entropy(rows):
    logs = np.log2(rows, where=rows > 0, out=np.zeros_like(rows))
    return -(rows * logs).sum(axis=-1)


def divergences(attentions):
    """[head, head] of attentions [layer, 1, head, query, key]: means over queries, in bits."""
    maps = attentions[:, 0].reshape(-1, *attentions.shape[-2:]).astype(np.float64)
    found = []
    for a in maps:
        middle = entropy((a + maps) / 2) - (entropy(a) + entropy(maps)) / 2
        found.append([round(value, 9) for value in middle.mean(axis=-1)])
    return found


def make(name, folder, find_heads, attentions=None):
    config = json.loads((folder / "config.json").read_text())
    weights = {key: value.astype(np.float64) for key, value in load_file(folder / "model.safetensors").items()}
    heads = list(find_heads(weights, config))
    case = {
        "model": name,
        "heads": [list(head[:3]) for head in heads],
        "compositions": compositions(heads),
        "copying": copying(heads),
    }
    if attentions:
        reference = load_file(folder / "reference.safetensors")
        case["ids"] = reference["case1.ids"][0].tolist()
        case["divergences"] = divergences(reference["case1." + attentions])
    return case


def main():
    models = GOLDEN / "models"
    cases = [
        make("gpt2", models / "gpt2", gpt2_heads, "attentions"),
        make("llama", models / "llama", llama_heads, "attentions"),
        make("marian", models / "marian", marian_heads),
        make("captions-gpt2", ROOT / "assets/models/captions-gpt2", gpt2_heads),
    ]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (GOLDEN / "circuits.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
