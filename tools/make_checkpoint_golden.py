#!/usr/bin/env python3
"""Writes tests/golden/checkpoints.json: configurations of well-known checkpoints, and what transformers makes of them.

    make_checkpoint_golden.py            all
    make_checkpoint_golden.py gpt2 …     these, printed, nothing written

Of each: its config.json (golden_models/checkpoints.py), the names and shapes of the tensors of transformers' class, their
number of parameters and what AutoConfig says about heads and windows. And the same network with small widths (its heads,
layers' kinds, ratios and RoPE as they are), whose weights follow from their names, with logits in float64.
"""

import copy
import json
import math
import pathlib
import re
import sys
import tempfile
import zlib

import numpy as np
import torch
import transformers
from safetensors import safe_open

transformers.utils.logging.disable_progress_bar()
transformers.logging.set_verbosity_error()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_models import checkpoints, exact, networks  # noqa: E402, F401 (networks adds Falcon's ALiBi once)

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/checkpoints.json"
LAYERS, VOCABULARY, INNER, LENGTH, TOKENS, TARGETS = 7, 97, 24, 40, 12, 7
WIDTHS = ("hidden_size", "n_embd", "n_embed", "d_model", "dim")
INNERS = ("intermediate_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim", "encoder_ffn_dim", "decoder_ffn_dim")
COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")
TABLES = ("gpt2", "openai-gpt", "opt", "gpt_neo", "gpt_bigcode", "bert", "roberta", "xlm-roberta", "camembert", "distilbert",
          "albert", "electra", "mpnet", "bart", "mbart", "m2m_100", "marian", "pegasus", "blenderbot", "xglm")


def config_of(config):
    return transformers.AutoConfig.for_model(**copy.deepcopy(config))


def build(kind, config, untied=False):
    made = config_of({key: value for key, value in config.items() if key not in ("dtype", "torch_dtype")})
    made._attn_implementation = "eager"
    model = getattr(transformers, kind).from_config(made).eval()
    if untied:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    return model


def heads_of(config):
    """(heads, KV heads, width of a head) of the first stack."""
    heads = getattr(config, "num_attention_heads", None) or config.encoder_attention_heads
    is_shared = getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", False)
    kv_heads = 1 if is_shared else getattr(config, "num_kv_heads", None) or getattr(config, "num_key_value_heads", None) or heads
    return heads, kv_heads, getattr(config, "head_dim", None) or getattr(config, "d_kv", None) or config.hidden_size // heads


def share_of(config):
    """The part of a head that RoPE rotates."""
    rope = getattr(config, "rope_parameters", None) or {}
    return rope.get("partial_rotary_factor") or getattr(config, "partial_rotary_factor", None) or 1.0


def small_changes(given, config):
    """What makes the config small: widths, tables and lists of layers."""
    heads, _, size = heads_of(config)
    share = share_of(config)
    small = next(n for n in (2 if heads > 96 else 4, 8, 10, 16, 20, 40) if n * share == int(n * share) and int(n * share) % 2 == 0)
    changes = {}

    def change(key, value):
        if given.get(key) is not None and given[key] != value:
            changes[key] = value

    for key in WIDTHS:
        if key in given:
            change(key, max(round(given[key] / size / heads * small), 1) * heads)
    change("head_dim", small)
    change("d_kv", small)
    change("rotary_dim", 2)
    for key in INNERS:
        change(key, INNER)
    for key in COUNTS:
        if key in given:
            change(key, min(given[key], LAYERS if "attention_types" not in given else 4))
    layers = min(config.num_hidden_layers, LAYERS)
    for key in ("layer_types", "no_rope_layers", "attention_layers"):
        if given.get(key):
            change(key, given[key][:4 if key == "attention_layers" else layers])
    if given.get("attention_types"):
        change("attention_types", [[given["attention_types"][0][0], 2]])
    change("vocab_size", min(given["vocab_size"], VOCABULARY))
    for key in ("pad_token_id", "decoder_start_token_id"):
        if (getattr(config, key, None) or 0) >= VOCABULARY:
            changes[key] = 0
    for key in ("sliding_window", "window_size"):
        change(key, 5)
    change("local_attention", 8)
    change("position_buckets", 8)
    if given["model_type"] in TABLES:
        for key in ("max_position_embeddings", "n_positions", "n_ctx"):
            change(key, LENGTH)
    change("embedding_size", 20)
    if given.get("word_embed_proj_dim"):
        whole = given["word_embed_proj_dim"] == given["hidden_size"]
        change("word_embed_proj_dim", changes["hidden_size"] if whole else 20)
    scaling = given.get("rope_scaling") or given.get("rope_parameters")
    if scaling and "short_factor" in scaling:
        key = "rope_scaling" if given.get("rope_scaling") else "rope_parameters"
        count = int(small * share) // 2
        change(key, {**scaling, **{name: scaling[name][::len(scaling[name]) // count][:count]
                                   for name in ("short_factor", "long_factor")}})
    return changes


def numbers_of(name, count):
    """Numbers from -1 to 1 that follow from the name: SplitMix64 of a sequence that starts at the name's CRC."""
    with np.errstate(over="ignore"):
        x = (np.arange(count, dtype=np.uint64) + np.uint64(zlib.crc32(name.encode())) * np.uint64(1 << 32))
        x = x * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


def spread(name, shape, is_offset):
    """(mean, largest difference from it)"""
    if len(shape) == 1 or name.endswith("final_logits_bias"):
        return (0.0, 0.2) if name.endswith("bias") or is_offset else (1.0, 0.2)
    if re.search(r"embed|wte|wpe|shared", name) and not re.search("project", name):
        return 0.0, 0.7
    return 0.0, round(1.7 / math.sqrt(shape[-1]), 6)


def stored(model):
    """The tensors that save_pretrained writes: each once, under the names in files."""
    tensors, seen = {}, {}
    for name, value in model.named_parameters(remove_duplicate=False):
        if "lm_head.decoder.weight" == seen.get(id(value)):  # a tied one is kept as the embedding's
            tensors.pop(seen.pop(id(value)))
        if id(value) not in seen:
            seen[id(value)], tensors[name] = name, value
    tensors |= {name: value for name, value in model.named_buffers() if name == "final_logits_bias"}
    left_out = set(model._keys_to_ignore_on_save or ())
    renamed = {"lm_head.weight": "embed_out.weight"} if model.config.model_type == "gpt_neox" else {}
    return {renamed.get(name, name): value for name, value in tensors.items() if name not in left_out}


def check_names(model):
    if model.config.model_type == "nomic_bert":
        return  # saved under the names of Nomic's own code, and read under either
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        with safe_open(f"{folder}/model.safetensors", "pt") as file:
            names = {name for name in file.keys() if not name.endswith(("position_ids", "inv_freq"))}
    names = {name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias") for name in names}
    assert names == set(stored(model)), names ^ set(stored(model))


def patterns(tensors, describe):
    """{name with {} for a layer's number: [what describes it, how many]} in the order of the first."""
    found = {}
    for name, tensor in tensors.items():
        key = re.sub(r"(?<=\.)\d+(?=\.)", "{}", name, count=1)
        entry = found.setdefault(key, [describe(name, tensor), []])
        assert entry[0] == describe(name, tensor), name
        number = re.search(r"(?<=\.)\d+(?=\.)", name)
        if number:
            entry[1].append(int(number[0]))
    for entry in found.values():
        numbers = entry[1]
        assert not numbers or numbers == list(range(numbers[0], numbers[-1] + 1)), numbers
        entry[1] = [numbers[0], len(numbers)] if numbers else []
    return {key: [*entry[0], *entry[1]] for key, entry in found.items()}


def filled(model, is_offset):
    with torch.no_grad():
        for name, tensor in stored(model).items():
            mean, most = spread(name, tensor.shape, is_offset)
            numbers = (mean + most * numbers_of(name, tensor.numel())).astype(np.float32)
            tensor.copy_(torch.from_numpy(numbers).reshape(tensor.shape))
    return model


def run(kind, config, untied):
    """Logits, or last states, of the last token in float64: eight of them."""
    is_offset = config["model_type"] in ("gemma", "gemma2", "gemma3_text", "nemotron")
    model = filled(build(kind, config, untied), is_offset)
    assert sum(value.numel() for value in model.parameters()) < 12e6, "not small"
    check_names(model)
    computed = set(model._keys_to_ignore_on_save or ())
    twin = exact.double_model(lambda: build(kind, config, untied), model.state_dict(), computed)
    low = 5 if config["vocab_size"] > 40 else 4
    ids = [low + 7 * i % (config["vocab_size"] - low - 1) for i in range(TOKENS)]
    given = {"input_ids": torch.tensor([ids])}
    target = [low + 11 * i % (config["vocab_size"] - low - 1) for i in range(TARGETS)]
    if kind == checkpoints.PAIR:
        given["decoder_input_ids"] = torch.tensor([target])
    with exact.double_precision(), torch.no_grad():
        out = twin(**given)
    has_logits = getattr(out, "logits", None) is not None
    last = (out.logits if has_logits else out.last_hidden_state)[0, -1]
    picked = [int(i) for i in np.linspace(0, last.numel() - 1, 8)]
    tensors = patterns(stored(model), lambda name, value: [list(value.shape), *spread(name, value.shape, is_offset)])
    return tensors, {"ids": ids, "target": target if kind == checkpoints.PAIR else [], "picked": picked,
            "are_logits": has_logits, "values": [round(last[i].item(), 9) for i in picked], "scale": round(last.square().mean().sqrt().item(), 6)}


def facts(config, model):
    heads, kv_heads, size = heads_of(config)
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    return {"heads": heads, "kv_heads": kv_heads, "head_size": size, "layers": config.num_hidden_layers,
            "parameters": sum(value.numel() for value in model.parameters()),
            "windows": [kind == "sliding_attention" for kind in kinds] if kinds and window else []}


def make(name, kind, count, config):
    untied = config["model_type"] == "t5" and config.get("tie_word_embeddings") is False
    made = config_of(config)
    with torch.device("meta"):
        model = build(kind, config, untied)
    about = facts(made, model)
    assert count is None or count == about["parameters"], (name, count, about["parameters"])
    changes = small_changes(config, made)
    tensors = patterns(stored(model), lambda name, value: [list(value.shape)])
    small, results = run(kind, {**config, **changes}, untied)
    assert small.keys() == tensors.keys(), small.keys() ^ tensors.keys()
    return {"name": name, "is_verified": count is not None, "config": config, **about,
            # shape, that of the small one, mean, most; of layers' tensors the first layer, and how many there are of both
            "tensors": {key: [entry[0], *small[key][:3], *entry[1:], *small[key][4:]] for key, entry in tensors.items()},
            "small": {"config": changes, **results}}


def later(name, config):
    """As release 5 writes it."""
    written = config_of(config).to_diff_dict()
    written |= {"model_type": config["model_type"], "dtype": "bfloat16"}
    return {key: value for key, value in written.items() if key not in ("transformers_version", "architectures")}


def main():
    rows = dict(checkpoints.CHECKPOINTS)
    for name in checkpoints.LATER:
        kind, count, config = rows[name]
        rows[f"{name} (release 5)"] = (kind, count, later(name, config))
    wanted = sys.argv[1:] or list(rows)
    entries = []
    for name in wanted:
        entries.append(make(name, *rows[name]))
        print(name, entries[-1]["small"]["values"][:3], entries[-1]["small"]["scale"], flush=True)
    if not sys.argv[1:]:
        lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        TARGET.write_text(f"[\n{lines}\n]\n")
        print(len(entries), "checkpoints,", TARGET.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
