"""Architectures of GGUF files whose tensors llama.cpp's converter names by the table of the package gguf, and rearranges.

Small models of them, in F16 and F32 and without a tokenizer: what the converter writes about each, and in which order it
stores rows.
"""


import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type

from . import cases, families, networks, reference

SMALL, FAMILIES = families.SMALL, families.FAMILIES


def changed(name, more=(), **changes):
    """A row of the families' table with other settings; None takes one away."""
    row = FAMILIES[name]
    config = {key: value for key, value in {**row["config"], **changes}.items() if value is not None}
    return {**row, **dict(more), "config": config}


def dimensions(share):
    """RoPE's part of a head."""
    return lambda c: {"rope_dimension_count": int(share * (getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads))}


def plain(config):
    return {"rope_scaling_type": gguf.RopeScalingType.NONE}


def window(config):
    return {"sliding_window": config.sliding_window,
            "sliding_window_pattern": [kind == "sliding_attention" for kind in config.layer_types]}


def both_bases(config):
    return {"rope_freq_base_swa": config.rope_parameters["sliding_attention"]["rope_theta"]}


def soft_caps(config):
    return {"attn_logit_softcapping": config.attn_logit_softcapping, "final_logit_softcapping": config.final_logit_softcapping,
            "sliding_window": config.sliding_window}


def t5_sizes(config):
    return {"decoder_block_count": config.num_decoder_layers, "key_length": config.d_kv, "value_length": config.d_kv,
            "relative_attn_buckets_count": config.relative_attention_num_buckets, "layer_norm_rms_eps": config.layer_norm_epsilon}


# NAME: (architecture, model, what is written besides the sizes, whether the base of RoPE is).
FILES = {
    "bloom": ("bloom", FAMILIES["bloom"], [], False),
    "gptneox": ("gptneox", FAMILIES["gpt_neox"], [dimensions(0.25), lambda c: {"parallel_residual": True}], False),
    "gptneox-sequential": ("gptneox", FAMILIES["gpt_neox-sequential"], [
        dimensions(0.5), lambda c: {"parallel_residual": False}], False),
    "phi2": ("phi2", changed("phi", qk_layernorm=False, num_attention_heads=3, num_key_value_heads=3), [dimensions(0.5)], False),
    "phi3": ("phi3", changed("phi3", hidden_size=32, **families.rope(0.5)), [dimensions(0.5), lambda c: {"sliding_window": 0}], True),
    "qwen3": ("qwen3", changed("qwen3", hidden_size=24, intermediate_size=36, num_hidden_layers=1), [], True),
    "gemma": ("gemma", changed("gemma", hidden_size=24, intermediate_size=36, num_hidden_layers=1), [], False),
    "gemma2": ("gemma2", changed("gemma2", hidden_size=24, intermediate_size=36, query_pre_attn_scalar=8, head_dim=8),
               [soft_caps], False),
    "gemma3": ("gemma3", families.gemma("Gemma3ForCausalLM", {
        **SMALL, "num_hidden_layers": 6, "hidden_size": 16, "intermediate_size": 20, "num_attention_heads": 2, "head_dim": 8,
        "num_key_value_heads": 1, "query_pre_attn_scalar": 8, "sliding_window": 5, "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "default", "rope_theta": 1000.0}}}),
        [lambda c: {"sliding_window": c.sliding_window}], True),
    "gemma-embedding": ("gemma-embedding", changed("gemma3-bidirectional", query_pre_attn_scalar=8), [
        lambda c: {"sliding_window": 6, "sliding_window_pattern": [True, False], "causal_attention": False}, both_bases], True),
    "olmo": ("olmo", changed("olmo", attention_bias=False), [lambda c: {"clamp_kqv": c.clip_qkv}], True),
    "starcoder": ("starcoder", FAMILIES["gpt_bigcode"], [], False),
    "mpt": ("mpt", changed("mpt", attn_config={"clip_qkv": 2.0}), [
        lambda c: {"clamp_kqv": c.attn_config.clip_qkv, "max_alibi_bias": c.attn_config.alibi_bias_max}], False),
    "falcon": ("falcon", FAMILIES["falcon"], [], False),
    "falcon-grouped": ("falcon", FAMILIES["falcon-grouped"], [], False),
    # The converter says that this is parallel whenever a config doesn't say; a norm of the feed-forward says that it isn't.
    "stablelm": ("stablelm", FAMILIES["stablelm"], [dimensions(0.5), lambda c: {"parallel_residual": True}], False),
    "stablelm-parallel": ("stablelm", FAMILIES["stablelm-parallel"], [
        dimensions(0.25), lambda c: {"parallel_residual": True}], False),
    "granite": ("granite", FAMILIES["granite"], [dimensions(1), lambda c: {
        "attention_scale": c.attention_multiplier, "embedding_scale": c.embedding_multiplier,
        "residual_scale": c.residual_multiplier, "logit_scale": c.logits_scaling}], True),
    "command-r": ("command-r", FAMILIES["cohere"], [plain, lambda c: {"logit_scale": c.logit_scale}], True),
    "cohere2": ("cohere2", changed("cohere2", num_hidden_layers=4, layer_types=None, hidden_size=16, intermediate_size=20), [
        plain, dimensions(1), lambda c: {"logit_scale": c.logit_scale, "sliding_window": c.sliding_window}], True),
    "exaone4": ("exaone4", FAMILIES["exaone4"], [window], True),
    "exaone4-global": ("exaone4", families.small("Exaone4ForCausalLM", {
        "sliding_window": None, "num_hidden_layers": 1, "layer_types": ["full_attention"]}), [], True),
    "chatglm": ("chatglm", FAMILIES["glm"], [dimensions(0.5)], True),
    "glm4": ("glm4", FAMILIES["glm4"], [dimensions(0.5)], True),
    "internlm2": ("internlm2", families.small("LlamaForCausalLM", {}), [dimensions(1)], True),
    "nemotron": ("nemotron", changed("nemotron", attention_bias=False), [dimensions(0.5), plain], True),
    "ernie4_5": ("ernie4_5", changed("ernie4_5", use_bias=False), [], True),
    "seed_oss": ("seed_oss", FAMILIES["seed_oss"], [], True),
    "smollm3": ("smollm3", families.small("SmolLM3ForCausalLM", {
        "num_hidden_layers": 4, "hidden_size": 16, "intermediate_size": 20, "tie_word_embeddings": True}), [dimensions(1)], True),
    "modern-bert": ("modern-bert", changed("modernbert", {"kind": "encoder", "class": "ModernBertModel"}), [
        lambda c: {"sliding_window": c.local_attention, "causal_attention": False,
                   "rope_freq_base_swa": c.rope_parameters["sliding_attention"]["rope_theta"]}, plain], True),
    "t5": ("t5", changed("t5", relative_attention_max_distance=128, d_model=24, d_ff=28), [t5_sizes], False),
    "flan-t5": ("t5", changed("flan-t5", relative_attention_max_distance=128, d_model=24, d_ff=28), [t5_sizes], False),
    "t5-encoder": ("t5encoder", changed("t5-encoder", relative_attention_max_distance=128), [t5_sizes], False),
}
PERMUTED = ("internlm2", "olmo", "granite", "smollm3")  # as Llama's
WITH_ONE = ("gemma", "gemma2", "gemma3", "gemma-embedding", "nemotron")  # norms stored with their 1
PER_HEAD = ("bloom", "gptneox")  # fused projections that become [q | k | v]


def head_counts(config):
    """(heads, KV heads)"""
    heads = config.num_attention_heads
    shared = getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", False)
    return heads, 1 if shared else getattr(config, "num_kv_heads", None) or getattr(config, "num_key_value_heads", None) or heads


def pairs(weight, heads):
    """Rows of each head from halves [first | second] to pairs, because llama.cpp's RoPE rotates adjacent rows."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def halves(weight, heads):
    return weight.reshape(heads, weight.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def order_of_rows(arch, name, config):
    """The rows of a tensor of the model in the order of the file, None where that is the same."""
    heads, kv_heads = head_counts(config)
    if "query_key_value" not in name or arch not in (*PER_HEAD, "falcon"):
        return None
    size = config.hidden_size // heads
    rows = np.arange((heads + 2 * kv_heads) * size).reshape(kv_heads, heads // kv_heads + 2, size)
    return np.concatenate([rows[:, :-2].ravel(), rows[:, -2].ravel(), rows[:, -1].ravel()])


def layout(arch, name, config):
    """(to the file's numbers, and its inverse) for a tensor of the model."""
    rows = order_of_rows(arch, name, config)
    if rows is not None:
        return lambda w: w[rows], lambda w: w[np.argsort(rows)]
    if arch in PERMUTED and ("q_proj" in name or "k_proj" in name):
        heads = head_counts(config)["k_proj" in name]
        return lambda w: pairs(w, heads), lambda w: halves(w, heads)
    if arch in WITH_ONE and name.endswith("norm.weight"):
        return lambda w: w + np.float32(1), lambda w: w - np.float32(1)
    return (lambda w: w), (lambda w: w)


def metadata(writer, config, more, has_base):
    """The sizes, and what the file's row adds."""
    heads, kv_heads = head_counts(config)
    width = config.hidden_size
    writer.add_type("model")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(getattr(config, "max_position_embeddings", None) or getattr(config, "max_seq_len", 64))
    writer.add_embedding_length(width)
    inner = ("intermediate_size", "ffn_hidden_size", "n_inner", "d_ff")
    writer.add_feed_forward_length(next((getattr(config, key) for key in inner if getattr(config, key, None)), 4 * width))
    writer.add_head_count(heads)
    if kv_heads != heads:
        writer.add_head_count_kv(kv_heads)
    if "rms_norm_eps" in config.to_dict() and config.model_type != "olmo":
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    else:
        keys = ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")
        writer.add_layer_norm_eps(next((getattr(config, key) for key in keys if hasattr(config, key)), 1e-5))
    if getattr(config, "head_dim", None) and config.head_dim != width // heads:
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    if has_base:
        rope = config.rope_parameters
        writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    for key, value in (item for part in more for item in part(config).items()):
        getattr(writer, f"add_{key}")(value)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def known(names, stem):
    """The file's name of a tensor: some families are in the table without the prefix of their whole model."""
    return next(name for name in map(names.get_name, (stem, stem.removeprefix("transformer."), f"model.{stem}")) if name)


def add_tensors(writer, arch, model):
    """Stores the tensors, and gives the model the numbers that the file has."""
    number = next(key for key, known in gguf.MODEL_ARCH_NAMES.items() if known == arch)
    layers = max(model.config.num_hidden_layers, getattr(model.config, "num_decoder_layers", None) or 0)
    names = gguf.get_tensor_name_map(number, layers)
    stacked = {}
    for path, parameter in model.named_parameters():
        if "layernorm.norms." in path:  # one for each head, in one tensor
            stacked.setdefault(path.split(".norms.")[0] + ".weight", []).append(parameter)
            continue
        there, back = layout(arch, path, model.config)
        kind = Type.F32 if parameter.dim() == 1 or "position" in path or ".wpe" in path else Type.F16
        data = gguf.quantize(np.ascontiguousarray(there(parameter.detach().numpy())), kind)
        stem, part = path.rsplit(".", 1)
        writer.add_tensor(f"{known(names, stem)}.{part}", data, raw_dtype=kind)
        numbers = gguf.dequantize(data, kind).reshape(parameter.shape)
        parameter.data.copy_(torch.from_numpy(np.ascontiguousarray(back(numbers))))
    for path, heads in stacked.items():
        writer.add_tensor(f"{known(names, path.removesuffix('.weight'))}.weight", torch.stack(heads).detach().numpy())


def make(name, folder):
    """Writes NAME.gguf and NAME.reference.safetensors. → numbers"""
    arch, row, more, has_base = FILES[name]
    model = networks.random_model("gguf " + name, row)
    writer = gguf.GGUFWriter(folder / f"{name}.gguf", arch)
    writer.add_name(f"Headlight tiny {name}")
    metadata(writer, model.config, more, has_base)
    add_tensors(writer, arch, model)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return reference.write(folder / f"{name}.reference.safetensors", model, networks.double_twin(model, row),
                           cases.settled("gguf " + name, model, row, cases.FORMAT_CASES), row["kind"])
