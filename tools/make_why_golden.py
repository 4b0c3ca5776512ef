#!/usr/bin/env python3
"""Makes tests/golden/why.json: scores of eight families as sums over what wrote the query and what wrote the key.

Reads the models and transformers' results in tests/golden/models (case1, one line), computes the forward pass in float64 with
numpy, checks its maps against transformers', and carries every writer's vectors along through the norms, whose means and
scales are those of the whole stream. Needs the packages numpy and safetensors.
"""

import json
import math
import pathlib

import numpy as np
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"


class Norm:
    def __init__(self, weight, bias=None, epsilon=1e-5, is_layer=True):
        self.weight, self.bias, self.epsilon, self.is_layer = weight, bias, epsilon, is_layer

    def linear(self, part, whole):
        """The part as the norm of the whole scales it, its bias left out."""
        mean = whole.mean(-1, keepdims=True) if self.is_layer else 0.0
        scale = np.sqrt(((whole - mean) ** 2).mean(-1, keepdims=True) + self.epsilon)
        return (part - (part.mean(-1, keepdims=True) if self.is_layer else 0.0)) / scale * self.weight

    def __call__(self, x):
        return self.linear(x, x) + (0.0 if self.bias is None else self.bias)


def rms(weight, epsilon, offset=0.0):
    return Norm(weight + offset, None, epsilon, False)


class Attention:
    """Weights [out, in]; norms before, inside and after."""

    def __init__(self, label, q, k, v, o, heads, kv_heads=None, scale=None, before=None, inside=None, after=None, q_norm=None,
                 k_norm=None, theta=None, bias=None, cap=0.0, sees=None, biases=(None,) * 4):
        self.__dict__.update(locals())
        self.kv_heads, self.d = kv_heads or heads, len(q) // heads
        self.scale = self.d**-0.5 if scale is None else scale

    def heads_of(self, x, weight, bias, count):
        y = x @ weight.T + (0.0 if bias is None else bias)
        return y.reshape(len(x), count, -1).transpose(1, 0, 2)

    def turned(self, x):
        if self.theta is None:
            return x
        half = x.shape[-1] // 2
        angles = np.arange(x.shape[-2])[:, None] * self.theta ** (-np.arange(half) / half)
        cos, sin = np.tile(np.cos(angles), 2), np.tile(np.sin(angles), 2)
        return x * cos + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sin

    def read(self, parts, whole, is_query):
        """{writer: [head, token, d]} of the queries or keys."""
        weight, bias, count = (self.q, self.biases[0], self.heads) if is_query else (self.k, self.biases[1], self.kv_heads)
        norm = self.q_norm if is_query else self.k_norm
        found = {name: self.heads_of(part, weight, None, count) for name, part in parts.items()}
        found["bias"] = found.get("bias", 0.0) + (0.0 if bias is None else bias.reshape(count, 1, -1))
        found["bias"] = found["bias"] + np.zeros((count, len(whole), self.d))
        if norm is not None:
            projected = self.heads_of(whole, weight, bias, count)
            found = {name: norm.linear(part, projected) for name, part in found.items()}
        return {name: np.repeat(self.turned(part), self.heads // count, axis=0) for name, part in found.items()}

    def run(self, x, memory):
        """Queries, keys by writer need the parts: this has the whole alone. Returns weights and heads' outputs [head, n, d]."""
        q = sum(self.read({"all": x}, x, True).values())
        k = sum(self.read({"all": memory}, memory, False).values())
        scores = self.scale * q @ k.transpose(0, 2, 1)
        if self.cap:
            scores = self.cap * np.tanh(scores / self.cap)
        if self.bias is not None:
            scores = scores + self.bias(len(x), len(memory))
        if self.sees is not None:
            scores = np.where(self.sees(len(x), len(memory)), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        v = np.repeat(self.heads_of(memory, self.v, self.biases[2], self.kv_heads), self.heads // self.kv_heads, axis=0)
        outputs = self.o.reshape(len(self.o), self.heads, -1)
        return weights, np.einsum("hqk,hkd,ohd->hqo", weights, v, outputs)


class Mlp:
    def __init__(self, label, apply, before=None, inside=None, after=None):
        self.__dict__.update(locals())


def through(norm, parts, whole):
    found = {name: norm.linear(part, whole) for name, part in parts.items()}
    if norm.bias is not None:
        found["bias"] = found.get("bias", 0.0) + np.broadcast_to(norm.bias, whole.shape)
    return found


def split(attention, layer, parts, x, memory_parts, memory, cells):
    """The cells of this attention."""
    queries, keys = attention.read(parts, x, True), attention.read(memory_parts, memory, False)
    weights, _ = attention.run(x, memory)
    found = []
    for kind, number, head, i, j in cells:
        if (kind, number) != (attention.label, layer):
            continue
        visible = np.isfinite(np.log(np.maximum(weights[head, i], 0.0), where=weights[head, i] > 0,
                                     out=np.full(len(memory), -np.inf)))
        q = {name: attention.scale * part[head, i] for name, part in queries.items()}
        k = {name: part[head] for name, part in keys.items()}
        rows = {(u, v): k[v] @ q[u] for u in q for v in k}
        bias = np.zeros(len(memory)) if attention.bias is None else attention.bias(len(x), len(memory))[head, i]
        total = sum(rows.values())

        def weight(less):
            scores = total - less
            if attention.cap:
                scores = attention.cap * np.tanh(scores / attention.cap)
            scores = np.where(visible, scores + bias, -np.inf)
            return float(np.exp(scores - scores.max())[j] / np.exp(scores - scores.max()).sum())

        assert abs(weight(0.0) - weights[head, i, j]) < 1e-12
        one_text = kind != "cross"
        found.append({
            "kind": kind, "layer": layer, "head": head, "query": i, "key": j, "queries": list(q), "keys": list(k),
            "raw": [[float(rows[u, v][j]) for v in k] for u in q],
            "mean": [[float(rows[u, v][visible].mean()) for v in k] for u in q],
            "bias": [float(bias[j]), float(bias[visible].mean())], "score": float(total[j] + bias[j]),
            "weight": weight(0.0),
            "no_query": {u: weight(sum(rows[u, v] for v in k)) for u in q},
            "no_keys": {v: weight(sum(rows[u, v] for u in q)) for v in k},
            "neither": {u: weight(sum(rows[u, v] for v in k) + sum(rows[v, u] for v in q) - rows[u, u])
                        for u in q if u in k} if one_text else {},
        })
    return found


def run(parts, branches, cells, memory=None):
    """branches [layer][branch]. Returns parts and stream at the end, the maps [(label, layer, weights)], the cells."""
    x, maps, found = sum(parts.values()), [], []
    for layer, of_layer in enumerate(branches):
        is_post_norm = any(branch.after is not None for branch in of_layer)
        for branch in of_layer:
            is_attention = isinstance(branch, Attention)
            read = through(branch.before, parts, x) if branch.before else parts
            y = sum(read.values())
            if is_attention:
                is_cross = branch.label == "cross"
                memory_parts, source = memory if is_cross else (read, y)
                found += split(branch, layer, read, y, memory_parts, source, cells)
                weights, outputs = branch.run(y, source)
                maps.append((branch.label, layer, weights))
                written = {f"{branch.label} {layer} {head}": part for head, part in enumerate(outputs)}
                if branch.biases[3] is not None:
                    written[f"b_O {branch.label} {layer}"] = np.broadcast_to(branch.biases[3], x.shape)
            else:
                written = {f"mlp {layer}": branch.apply(y)}
            if branch.inside is not None:
                written = through(branch.inside, written, sum(written.values()))
            if is_post_norm and branch is of_layer[0]:
                parts = {"before": x}  # one part: norm after norm rescales it
            parts, x = {**parts, **written}, x + sum(written.values())
            if branch.after is not None:
                parts = through(branch.after, parts, x)
                x = sum(parts.values())
    return parts, x, maps, found


def gelu_tanh(x):
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def gelu(x):
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


def silu(x):
    return x / (1.0 + np.exp(-x))


def causal(window=None):
    def sees(queries, keys):
        distance = np.arange(queries)[:, None] - np.arange(keys)[None]
        return (distance >= 0) & (distance < (window or keys))
    return sees


def gated(w, name, act):
    return lambda x: (act(x @ w[name + "gate_proj.weight"].T) * (x @ w[name + "up_proj.weight"].T)) @ w[
        name + "down_proj.weight"].T


def gpt2(w, config, case):
    ids, layers = case["ids"][0], []
    for i in range(config["n_layer"]):
        p = f"transformer.h.{i}."
        q, k, v = np.split(w[p + "attn.c_attn.weight"].T, 3)
        bq, bk, bv = np.split(w[p + "attn.c_attn.bias"], 3)

        def mlp(x, p=p):
            return gelu_tanh(x @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"]) @ w[p + "mlp.c_proj.weight"] + w[
                p + "mlp.c_proj.bias"]

        layers.append([Attention("encoder", q, k, v, w[p + "attn.c_proj.weight"].T, config["n_head"], sees=causal(),
                                 before=Norm(w[p + "ln_1.weight"], w[p + "ln_1.bias"]),
                                 biases=(bq, bk, bv, w[p + "attn.c_proj.bias"])),
                       Mlp("mlp", mlp, before=Norm(w[p + "ln_2.weight"], w[p + "ln_2.bias"]))])
    return {"token": w["transformer.wte.weight"][ids], "position": w["transformer.wpe.weight"][:len(ids)]}, layers


def decoder(w, config, case, offset=0.0, scale=None, embed=1.0, act=silu, cap=0.0, has_qk_norm=False, is_gemma=False):
    ids, epsilon, layers = case["ids"][0], config["rms_norm_eps"], []
    for i in range(config["num_hidden_layers"]):
        p = f"model.layers.{i}."

        def norm(name, p=p):
            return rms(w[p + name + ".weight"], epsilon, offset)

        a = p + "self_attn."
        window = config["sliding_window"] if is_gemma and config["layer_types"][i] == "sliding_attention" else None
        layers.append([
            Attention("encoder", *(w[a + f"{n}_proj.weight"] for n in "qkvo"), config["num_attention_heads"],
                      config["num_key_value_heads"], scale, norm("input_layernorm"),
                      norm("post_attention_layernorm") if is_gemma else None,
                      q_norm=norm("self_attn.q_norm") if has_qk_norm else None,
                      k_norm=norm("self_attn.k_norm") if has_qk_norm else None,
                      theta=config["rope_parameters"]["rope_theta"], cap=cap, sees=causal(window)),
            Mlp("mlp", gated(w, p + "mlp.", act), norm("pre_feedforward_layernorm" if is_gemma else "post_attention_layernorm"),
                norm("post_feedforward_layernorm") if is_gemma else None)])
    return {"token": w["model.embed_tokens.weight"][ids] * embed}, layers


def gemma2(w, config, case):
    return decoder(w, config, case, 1.0, config["query_pre_attn_scalar"] ** -0.5, config["hidden_size"] ** 0.5, gelu_tanh,
                   config["attn_logit_softcapping"], is_gemma=True)


def qwen3(w, config, case):
    return decoder(w, config, case, has_qk_norm=True)


def slopes(heads):
    power = 2 ** math.floor(math.log2(heads))
    first = [2.0 ** (-8.0 / power * (i + 1)) for i in range(power)]
    return np.array(first + [2.0 ** (-4.0 / power * (2 * i + 1)) for i in range(heads - power)])


def bloom(w, config, case):
    ids, heads, layers = case["ids"][0], config["n_head"], []

    def norm(name):
        return Norm(w[name + ".weight"], w[name + ".bias"])

    def alibi(queries, keys):
        return slopes(heads)[:, None, None] * (np.arange(keys)[None] - np.arange(queries)[:, None])

    for i in range(config["n_layer"]):
        p = f"transformer.h.{i}."
        fused = w[p + "self_attention.query_key_value.weight"].reshape(heads, 3, -1, config["hidden_size"])
        bias = w[p + "self_attention.query_key_value.bias"].reshape(heads, 3, -1)

        def mlp(x, p=p):
            hidden = gelu_tanh(x @ w[p + "mlp.dense_h_to_4h.weight"].T + w[p + "mlp.dense_h_to_4h.bias"])
            return hidden @ w[p + "mlp.dense_4h_to_h.weight"].T + w[p + "mlp.dense_4h_to_h.bias"]

        q, k, v = (fused[:, n].reshape(-1, config["hidden_size"]) for n in range(3))
        layers.append([Attention("encoder", q, k, v, w[p + "self_attention.dense.weight"], heads, bias=alibi, sees=causal(),
                                 before=norm(p + "input_layernorm"),
                                 biases=(*(bias[:, n].reshape(-1) for n in range(3)), w[p + "self_attention.dense.bias"])),
                       Mlp("mlp", mlp, before=norm(p + "post_attention_layernorm"))])
    parts = {"token": w["transformer.word_embeddings.weight"][ids]}
    return through(norm("transformer.word_embeddings_layernorm"), parts, parts["token"]), layers


def bert(w, config, case):
    ids, epsilon, layers = case["ids"][0], config["layer_norm_eps"], []

    def norm(name):
        return Norm(w[name + ".weight"], w[name + ".bias"], epsilon)

    for i in range(config["num_hidden_layers"]):
        p = f"bert.encoder.layer.{i}."
        names = [p + "attention.self." + n for n in ("query", "key", "value")] + [p + "attention.output.dense"]

        def mlp(x, p=p):
            hidden = gelu(x @ w[p + "intermediate.dense.weight"].T + w[p + "intermediate.dense.bias"])
            return hidden @ w[p + "output.dense.weight"].T + w[p + "output.dense.bias"]

        layers.append([Attention("encoder", *(w[n + ".weight"] for n in names), config["num_attention_heads"],
                                 after=norm(p + "attention.output.LayerNorm"), biases=tuple(w[n + ".bias"] for n in names)),
                       Mlp("mlp", mlp, after=norm(p + "output.LayerNorm"))])
    p = "bert.embeddings."
    parts = {"token": w[p + "word_embeddings.weight"][ids], "position": w[p + "position_embeddings.weight"][:len(ids)],
             "type": w[p + "token_type_embeddings.weight"][case["types"][0]]}
    return through(norm(p + "LayerNorm"), parts, sum(parts.values())), layers


def buckets(distance, config, is_bidirectional):
    count, most = config["relative_attention_num_buckets"], config["relative_attention_max_distance"]
    first = 0
    if is_bidirectional:
        count //= 2
        first, distance = (count if distance > 0 else 0), abs(distance)
    else:
        distance = -min(distance, 0)
    if distance < count // 2:
        return first + distance
    far = int(math.log(distance / (count // 2)) / math.log(most / (count // 2)) * (count - count // 2))
    return first + min(count // 2 + far, count - 1)


def t5(w, config, case):
    stacks = {}
    for side, ids in (("encoder", case["ids"][0]), ("decoder", case["target_ids"][0])):
        layers, count = [], config["num_layers" if side == "encoder" else "num_decoder_layers"]
        table = w[side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"]

        def bias(queries, keys, table=table, side=side):
            return np.array([[table[buckets(j - i, config, side == "encoder")] for j in range(keys)]
                             for i in range(queries)]).transpose(2, 0, 1)

        for i in range(count):
            branches = []
            for n, (name, label) in enumerate((("SelfAttention", side), ("EncDecAttention", "cross"))[:1 + (side == "decoder")]):
                p = f"{side}.block.{i}.layer.{n}."
                is_self = n == 0
                branches.append(Attention(label, *(w[p + name + f".{x}.weight"] for x in "qkvo"), config["num_heads"], scale=1.0,
                                          before=rms(w[p + "layer_norm.weight"], config["layer_norm_epsilon"]),
                                          bias=bias if is_self else None,
                                          sees=causal() if is_self and side == "decoder" else None))
            p = f"{side}.block.{i}.layer.{len(branches)}."

            def mlp(x, p=p):
                return np.maximum(x @ w[p + "DenseReluDense.wi.weight"].T, 0.0) @ w[p + "DenseReluDense.wo.weight"].T

            layers.append(branches + [Mlp("mlp", mlp, before=rms(w[p + "layer_norm.weight"], config["layer_norm_epsilon"]))])
        final = rms(w[side + ".final_layer_norm.weight"], config["layer_norm_epsilon"])
        stacks[side] = {"token": w["shared.weight"][ids]}, layers, final
    return stacks


def marian(w, config, case):
    stacks, width = {}, config["d_model"]
    for side, ids in (("encoder", case["ids"][0]), ("decoder", case["target_ids"][0])):
        layers = []
        for i in range(config[f"{side}_layers"]):
            p = f"model.{side}.layers.{i}."

            def norm(name, p=p):
                return Norm(w[p + name + ".weight"], w[p + name + ".bias"])

            branches = []
            for name, label in (("self_attn", side), ("encoder_attn", "cross"))[:1 + (side == "decoder")]:
                names = [p + name + f".{x}_proj" for x in ("q", "k", "v", "out")]
                branches.append(Attention(label, *(w[n + ".weight"] for n in names), config[f"{side}_attention_heads"],
                                          after=norm(name + "_layer_norm"), biases=tuple(w[n + ".bias"] for n in names),
                                          sees=causal() if label == "decoder" else None))

            def mlp(x, p=p):
                return silu(x @ w[p + "fc1.weight"].T + w[p + "fc1.bias"]) @ w[p + "fc2.weight"].T + w[p + "fc2.bias"]

            layers.append(branches + [Mlp("mlp", mlp, after=norm("final_layer_norm"))])
        angles = np.arange(len(ids))[:, None] / 10000.0 ** (2 * np.arange(width // 2) / width)
        parts = {"token": w["model.shared.weight"][ids] * width**0.5,
                 "position": np.concatenate([np.sin(angles), np.cos(angles)], axis=1)}
        stacks[side] = parts, layers, None
    return stacks


# kind, layer, head, query, key
MODELS = {
    "gpt2": (gpt2, [("encoder", 1, 4, 11, 3)]),
    "llama": (decoder, [("encoder", 1, 3, 12, 5)]),
    "gemma2": (gemma2, [("encoder", 2, 1, 13, 9), ("encoder", 1, 2, 8, 0)]),
    "qwen3": (qwen3, [("encoder", 1, 1, 10, 2)]),
    "bloom": (bloom, [("encoder", 1, 5, 9, 4)]),
    "bert": (bert, [("encoder", 1, 2, 6, 15), ("encoder", 0, 1, 3, 8)]),
    "t5": (t5, [("encoder", 1, 1, 7, 12), ("decoder", 1, 2, 9, 3), ("cross", 1, 3, 8, 14)]),
    "marian": (marian, [("decoder", 1, 2, 9, 3), ("cross", 1, 3, 8, 14)]),
}


def check(maps, expected):
    for label, layer, weights in maps:
        name = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}[label]
        wanted = expected.get(name, expected.get("attentions"))[layer, 0]
        assert np.abs(weights - wanted).max() < 1e-6, (label, layer, np.abs(weights - wanted).max())


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def whole(made, cells):
    """Maps and cells of both stacks, or the only one."""
    if not isinstance(made, dict):
        return run(*made, cells)[2:]
    parts, layers, final = made["encoder"]
    parts, x, maps, found = run(parts, layers, cells)
    memory = through(final, parts, x) if final else parts
    parts, layers, _ = made["decoder"]
    _, _, more_maps, more = run(parts, layers, cells, (memory, sum(memory.values())))
    return maps + more_maps, found + more


def main():
    result = {}
    for name, (make, cells) in MODELS.items():
        folder = ROOT / "models" / name
        weights = {key: value.astype(np.float64) for key, value in load_file(folder / "model.safetensors").items()}
        case = {key.removeprefix("case1."): value for key, value in load_file(folder / "reference.safetensors").items()
                if key.startswith("case1.")}
        config = json.loads((folder / "config.json").read_text())
        check(whole(make(weights, config, case), [])[0], case)
        case["types"] = np.zeros_like(case["ids"])  # a text of one part
        _, found = whole(make(weights, config, case), cells)
        assert len(found) == len(cells)
        ids = {key: case[key][0].tolist() for key in ("ids", "target_ids") if key in case}
        result[name] = {**ids, "cells": found}
    (ROOT / "why.json").write_text(json.dumps(rounded(result), separators=(",", ":")).replace('{"kind"', '\n{"kind"') + "\n")


if __name__ == "__main__":
    main()
