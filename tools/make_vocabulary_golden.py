#!/usr/bin/env python3
"""Makes tests/golden/vocabulary.json: what heads of models/gpt2 and llama do with tokens of the vocabulary, by their weights.

For some heads and tokens the 30 largest and smallest numbers over the whole vocabulary: logits that reading the token adds
(W_U, the final norm's gain and centring, W_O, W_V with its bias, of the token's vector through the layer's norm), and scaled
scores of the token as a query with every key and as a key with every query, without positions and with both at positions, in
float64 by torch and the norms and rotations of transformers. Needs torch and transformers.
"""

import json
import math
import pathlib

import torch
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"
LISTED = 30
POSITIONS = [None, (5, 2), (9, 9)]


class Gpt2:
    def __init__(self, model, layer):
        self.core, self.block = model.transformer, model.transformer.h[layer]
        self.heads, self.width = model.config.n_head, model.config.n_embd
        self.final_gain, self.is_centred = self.core.ln_f.weight, True
        self.unembedding = model.lm_head.weight

    def read(self, position):
        x = self.core.wte.weight
        return self.block.ln_1(x if position is None else x + self.core.wpe.weight[position])

    def project(self, x, head):
        d = self.width // self.heads
        q, k, v = self.block.attn.c_attn(x).split(self.width, dim=-1)
        part = slice(head * d, (head + 1) * d)
        return q[:, part], k[:, part], v[:, part]

    def output(self, v, head):
        d = self.width // self.heads
        return v @ self.block.attn.c_proj.weight[head * d : (head + 1) * d]

    def rotate(self, vectors, position):
        return vectors


class Llama:
    def __init__(self, model, layer):
        self.core, self.block, self.config = model.model, model.model.layers[layer], model.config
        self.final_gain, self.is_centred = self.core.norm.weight, False
        self.unembedding = model.lm_head.weight

    def read(self, position):
        return self.block.input_layernorm(self.core.embed_tokens.weight)

    def project(self, x, head):
        d, group = self.config.head_dim, self.config.num_attention_heads // self.config.num_key_value_heads
        attention = self.block.self_attn
        own, shared = slice(head * d, (head + 1) * d), slice(head // group * d, (head // group + 1) * d)
        return attention.q_proj(x)[:, own], attention.k_proj(x)[:, shared], attention.v_proj(x)[:, shared]

    def output(self, v, head):
        d = self.config.head_dim
        return v @ self.block.self_attn.o_proj.weight[:, head * d : (head + 1) * d].T

    def rotate(self, vectors, position):
        if position is None:
            return vectors
        cos, sin = self.core.rotary_emb(vectors[None], torch.tensor([[position]]))
        return apply_rotary_pos_emb(vectors[None, None], vectors[None, None], cos, sin)[0][0, 0]


def ends(values):
    order = torch.argsort(values, descending=True, stable=True).tolist()
    pairs = [[i, float(f"{values[i]:.12g}")] for i in order]
    return {"highest": pairs[:LISTED], "lowest": pairs[::-1][:LISTED]}


def circuits(reader, head, token):
    v = reader.project(reader.read(None), head)[2]
    written = reader.output(v[token : token + 1], head)[0]
    if reader.is_centred:
        written = written - written.mean()
    found = {"written": ends(reader.unembedding @ (written * reader.final_gain)), "scores": []}
    for positions in POSITIONS:
        at_query, at_key = positions or (None, None)
        q = reader.rotate(reader.project(reader.read(at_query), head)[0], at_query)
        k = reader.rotate(reader.project(reader.read(at_key), head)[1], at_key)
        scores = q @ k.T / math.sqrt(q.shape[-1])
        found["scores"].append({"positions": positions, "keys": ends(scores[token]), "queries": ends(scores[:, token])})
    return found


def main():
    cases = []
    with torch.no_grad():
        for name, reader, heads in (("gpt2", Gpt2, 6), ("llama", Llama, 4)):
            model = AutoModelForCausalLM.from_pretrained(GOLDEN / "models" / name, dtype=torch.float64).eval()
            for layer, head, token in ((0, 0, 3), (1, heads - 1, 77), (1, 1, 127)):
                case = circuits(reader(model, layer), head, token)
                cases.append({"model": name, "layer": layer, "head": head, "token": token, **case})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (GOLDEN / "vocabulary.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
