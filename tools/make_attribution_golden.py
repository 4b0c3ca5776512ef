#!/usr/bin/env python3
"""Makes tests/golden/attribution: what a prediction of two small models is made of, by an implementation of its own.

Reads the models and transformers' results in tests/golden/models, computes the forward pass in float64 with numpy, checks it
against transformers, and splits it: direct logit attribution, norms of weighted values, information-flow routes, attention
rollout and attention flow. Of BERT the norms alone. Needs the packages numpy, safetensors and networkx.
"""

import json
import pathlib

import networkx
import numpy as np
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
CASE = "case1"  # one line of 18 tokens
THRESHOLD = 0.04
RESIDUAL = 0.5


def softmax(scores):
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


class Gpt2:
    def __init__(self, weights, config):
        self.weights, self.layers, self.heads = weights, config["n_layer"], config["n_head"]
        self.epsilon = config["layer_norm_epsilon"]

    def __getitem__(self, name):
        return self.weights["transformer." + name]

    def norm(self, x, name):
        centered = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + self.epsilon)
        return centered / scale * self[name + ".weight"] + self[name + ".bias"]

    def embed(self, ids):
        return self["wte.weight"][ids] + self["wpe.weight"][: len(ids)]

    def project(self, x, layer):
        """Q, K, V [head, token, d], normed first."""
        fused = self.norm(x, f"h.{layer}.ln_1") @ self[f"h.{layer}.attn.c_attn.weight"] + self[f"h.{layer}.attn.c_attn.bias"]
        return [part.reshape(len(x), self.heads, -1).transpose(1, 0, 2) for part in np.split(fused, 3, axis=1)]

    def output(self, layer):
        """W_O [head, d_v, d_model] and b_O."""
        weight = self[f"h.{layer}.attn.c_proj.weight"]
        return weight.reshape(self.heads, -1, weight.shape[1]), self[f"h.{layer}.attn.c_proj.bias"]

    def mlp(self, x, layer):
        inner = self.norm(x, f"h.{layer}.ln_2") @ self[f"h.{layer}.mlp.c_fc.weight"] + self[f"h.{layer}.mlp.c_fc.bias"]
        inner = 0.5 * inner * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (inner + 0.044715 * inner**3)))
        return inner @ self[f"h.{layer}.mlp.c_proj.weight"] + self[f"h.{layer}.mlp.c_proj.bias"]

    def final(self, x):
        return self.norm(x, "ln_f")

    def unembedding(self):
        return self["wte.weight"]

    def scaled(self, part, x):
        """TransformerLens's apply_ln_to_stack: the part as the final norm of x would scale it, its bias left out."""
        scale = np.sqrt(x.var() + self.epsilon)
        return (part - part.mean()) / scale * self["ln_f.weight"]


class Llama:
    def __init__(self, weights, config):
        self.weights, self.layers, self.heads = weights, config["num_hidden_layers"], config["num_attention_heads"]
        self.groups = self.heads // config["num_key_value_heads"]
        self.epsilon, self.theta = config["rms_norm_eps"], config["rope_parameters"]["rope_theta"]

    def __getitem__(self, name):
        return self.weights["model." + name]

    def norm(self, x, name):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + self.epsilon) * self[name + ".weight"]

    def embed(self, ids):
        return self["embed_tokens.weight"][ids]

    def rotated(self, x):
        half = x.shape[-1] // 2
        angles = np.arange(x.shape[1])[:, None] * self.theta ** (-np.arange(half) / half)
        cos, sin = np.tile(np.cos(angles), 2), np.tile(np.sin(angles), 2)
        return x * cos + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sin

    def project(self, x, layer):
        normed, name = self.norm(x, f"layers.{layer}.input_layernorm"), f"layers.{layer}.self_attn."

        def heads(which, count):
            return (normed @ self[name + which + "_proj.weight"].T).reshape(len(x), count, -1).transpose(1, 0, 2)

        q, k, v = heads("q", self.heads), heads("k", self.heads // self.groups), heads("v", self.heads // self.groups)
        return self.rotated(q), np.repeat(self.rotated(k), self.groups, axis=0), np.repeat(v, self.groups, axis=0)

    def output(self, layer):
        weight = self[f"layers.{layer}.self_attn.o_proj.weight"].T
        return weight.reshape(self.heads, -1, weight.shape[1]), np.zeros(weight.shape[1])

    def mlp(self, x, layer):
        normed, name = self.norm(x, f"layers.{layer}.post_attention_layernorm"), f"layers.{layer}.mlp."
        gate = normed @ self[name + "gate_proj.weight"].T
        return (gate / (1.0 + np.exp(-gate)) * (normed @ self[name + "up_proj.weight"].T)) @ self[name + "down_proj.weight"].T

    def final(self, x):
        return self.norm(x, "norm")

    def unembedding(self):
        return self.weights.get("lm_head.weight", self["embed_tokens.weight"])

    def scaled(self, part, x):
        return part / np.sqrt((x**2).mean() + self.epsilon) * self["norm.weight"]


def forward(model, ids):
    """Per layer: weights [head, query, key], terms f = alpha v W_O [head, query, key, d], states before, between, after."""
    x, layers = model.embed(ids), []
    mask = np.triu(np.full((len(ids), len(ids)), -np.inf), 1)
    for layer in range(model.layers):
        q, k, v = model.project(x, layer)
        weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + mask)
        output, bias = model.output(layer)
        terms = weights[..., None] * np.einsum("hjc,hcd->hjd", v, output)[:, None]
        middle = x + terms.sum(axis=(0, 2)) + bias
        after = middle + model.mlp(middle, layer)
        layers.append({"weights": weights, "terms": terms, "bias": bias, "before": x, "middle": middle, "after": after})
        x = after
    return layers


def check(model, layers, expected):
    def close(found, wanted, what):
        off = np.abs(found - wanted).max() / np.sqrt((wanted**2).mean())
        assert off < 1e-6, (what, off)

    for layer, parts in enumerate(layers):
        close(parts["weights"], expected[f"{CASE}.attentions"][layer][0], "attentions")
        close(parts["before"], expected[f"{CASE}.hidden"][layer][0], "hidden")
    close(model.final(layers[-1]["after"]) @ model.unembedding().T, expected[f"{CASE}.logits"][0], "logits")


def logit_parts(model, layers):
    """Direct logit attribution of the last token's two likeliest next tokens, and of their difference."""
    last = layers[-1]["after"][-1]
    logits = model.final(last) @ model.unembedding().T
    token, other = (int(i) for i in np.argsort(-logits)[:2])
    result = {"token": token, "other": other, "targets": []}
    for row in (model.unembedding()[token], model.unembedding()[token] - model.unembedding()[other]):
        def share(part):
            return float(model.scaled(part, last) @ row)

        target = {"logit": float(model.final(last) @ row), "embedding": share(layers[0]["before"][-1]), "layers": []}
        for parts in layers:
            heads = parts["terms"][:, -1]  # [head, key, d]
            target["layers"].append({"heads": [share(head.sum(axis=0)) for head in heads], "bias": share(parts["bias"]),
                                     "mlp": share(parts["after"][-1] - parts["middle"][-1]),
                                     "sources": [[share(term) for term in head] for head in heads]})
        result["targets"].append(target)
    return result


def contributions(parts, whole):
    """The share of each part [.., d] in the whole (Ferrando & Voita 2024, section 2.2)."""
    raw = np.maximum(np.abs(whole).sum() - np.abs(parts - whole).sum(axis=-1), 1e-5)
    return raw / raw.sum()


def node(parts, token):
    """The shares in what layer `parts` leaves of a token: [head, key] and the residual stream; the MLP and the residual."""
    terms = parts["terms"][:, token, : token + 1]
    rows = np.concatenate([terms.reshape(-1, terms.shape[-1]), parts["before"][token][None]])
    shares = contributions(rows, parts["middle"][token])
    mlp = contributions(np.stack([parts["after"][token] - parts["middle"][token], parts["middle"][token]]),
                        parts["after"][token])
    return shares[:-1].reshape(terms.shape[:2]), shares[-1], mlp[0]


def routes(layers, start):
    edges, reached = [], {start}
    for number in reversed(range(len(layers))):
        below = set()
        for token in sorted(reached):
            heads, residual, mlp = node(layers[number], token)
            heads, residual = np.where(heads < THRESHOLD, 0.0, heads), 0.0 if residual < THRESHOLD else residual
            total = heads.sum() + residual
            if total == 0.0:
                continue
            for key in range(token + 1):
                share = heads[:, key].sum() / total
                if share > 0.0:
                    named = [[int(h), float(heads[h, key] / total)] for h in np.nonzero(heads[:, key])[0]]
                    edges.append({"layer": number, "from": key, "to": token, "share": float(share), "heads": named})
                    below.add(key)
            if residual > 0.0:
                edges.append({"layer": number, "from": token, "to": token, "share": float(residual / total), "heads": []})
                below.add(token)
        reached = below
    return edges


def mixed(layers):
    return [RESIDUAL * np.eye(parts["weights"].shape[1]) + (1.0 - RESIDUAL) * parts["weights"].mean(axis=0)
            for parts in layers]


def rollout(layers):
    row = np.eye(len(layers[0]["before"]))[-1]
    for matrix in reversed(mixed(layers)):
        row = row @ matrix
    return row.tolist()


def flow(layers):
    """The largest flow from the last token above the last layer to each token below the first one."""
    graph, matrices = networkx.DiGraph(), mixed(layers)
    for layer, matrix in enumerate(matrices):
        for to in range(len(matrix)):
            for key in range(len(matrix)):
                if matrix[to, key] > 0.0:
                    graph.add_edge((layer + 1, to), (layer, key), capacity=matrix[to, key])
    start = (len(layers), len(matrices[0]) - 1)
    return [networkx.maximum_flow_value(graph, start, (0, token)) if (0, token) in graph else 0.0
            for token in range(len(matrices[0]))]


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def bert_norms():
    """Norms of weighted values [layer][head][row][key] of BERT, from transformers' own states and attentions."""
    folder = ROOT / "models" / "bert"
    weights = {key: value.astype(np.float64) for key, value in load_file(folder / "model.safetensors").items()}
    expected = load_file(folder / "reference.safetensors")
    result = []
    for layer, attention in enumerate(expected[f"{CASE}.attentions"][:, 0].astype(np.float64)):
        name = f"bert.encoder.layer.{layer}.attention."
        state = expected[f"{CASE}.hidden"][layer, 0].astype(np.float64)
        values = state @ weights[name + "self.value.weight"].T + weights[name + "self.value.bias"]
        values = values.reshape(len(state), len(attention), -1)
        output = weights[name + "output.dense.weight"]  # [out, heads * d_v]
        output = output.reshape(len(output), len(attention), -1)
        terms = np.einsum("hqk,khv,ohv->hqko", attention, values, output)
        result.append(np.linalg.norm(terms[:, [5, len(state) - 1]], axis=-1).tolist())
    return result


def main():
    (ROOT / "attribution" / "bert.json").write_text(
        json.dumps(rounded({"case": CASE, "norms": bert_norms()}), indent=1) + "\n")
    for name, kind in (("gpt2", Gpt2), ("llama", Llama)):
        folder = ROOT / "models" / name
        weights = {key: value.astype(np.float64) for key, value in load_file(folder / "model.safetensors").items()}
        expected = load_file(folder / "reference.safetensors")
        model = kind(weights, json.loads((folder / "config.json").read_text()))
        layers = forward(model, expected[f"{CASE}.ids"][0])
        check(model, layers, expected)
        last = len(layers[0]["before"]) - 1
        result = {
            "case": CASE,
            "logits": logit_parts(model, layers),
            "norms": [np.linalg.norm(parts["terms"][:, [5, last]], axis=-1).tolist() for parts in layers],
            "shares": [{"heads": heads.tolist(), "residual": float(residual), "mlp": float(mlp)}
                       for heads, residual, mlp in (node(parts, last) for parts in layers)],
            "threshold": THRESHOLD, "routes": routes(layers, last),
            "residual_weight": RESIDUAL, "rollout": rollout(layers), "flow": flow(layers),
        }
        (ROOT / "attribution" / f"{name}.json").write_text(json.dumps(rounded(result), indent=1) + "\n")


if __name__ == "__main__":
    main()
