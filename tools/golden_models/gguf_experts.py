"""GGUF files of mixtures of experts, laid out as llama.cpp's converter does: the weights of a layer's experts are one tensor,
gate and inner layer apart."""

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type

from . import cases, families, gguf_files, networks, reference
from .gguf_architectures import halves, pairs

SIZES = {**families.EXPERTS, "vocab_size": 128, "hidden_size": 32, "intermediate_size": 32, "moe_intermediate_size": 32}

# kinds as in gguf_files.FILES.
FILES = {
    "mixtral": {"row": families.small("MixtralForCausalLM", {"num_local_experts": 4, "num_experts_per_tok": 2}, SIZES),
                "arch": "llama", "kinds": {"norm": Type.F32, "gate_inp": Type.F32, "ffn_down_exps": Type.Q4_0,
                                           "_exps": Type.Q8_0, "": Type.F16}},
    "qwen2moe": {"row": families.small("Qwen2MoeForCausalLM", {
                     "num_experts": 5, "num_experts_per_tok": 2, "shared_expert_intermediate_size": 64,
                     "num_hidden_layers": 1}, SIZES),
                 "arch": "qwen2moe", "kinds": {"norm": Type.F32, "gate_inp": Type.F32, "bias": Type.F32, "": Type.F16}},
    "qwen3moe": {"row": families.small("Qwen3MoeForCausalLM", {
                     "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": True, "head_dim": 12,
                     "num_hidden_layers": 1}, SIZES, spread={"[qk]_norm": (1.35, 0.25)}),
                 "arch": "qwen3moe", "kinds": {"norm": Type.F32, "gate_inp": Type.F32, "_exps": Type.BF16, "": Type.F16}},
    "olmoe": {"row": families.small("OlmoeForCausalLM", {
                  "num_experts": 8, "num_experts_per_tok": 3, "num_key_value_heads": 4, "num_hidden_layers": 1}, SIZES,
                  spread={"[qk]_norm": (1.35, 0.25)}),
              "arch": "olmoe", "kinds": {"norm": Type.F32, "gate_inp": Type.F32, "_exps": Type.Q8_0, "": Type.F16}},
}

NAMES = {**gguf_files.LLAMA_NAMES, "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "mlp.gate": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
         "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
         "mlp.shared_expert.down_proj": "ffn_down_shexp"}


def parts(path, parameter):
    """(name in the file, the part of the parameter that it holds)"""
    if "layers." not in path:
        stem, part = path.rsplit(".", 1)
        return [(f"{gguf_files.LLAMA_OUTER[stem]}.{part}", parameter)]
    layer, rest = path.removeprefix("model.layers.").split(".", 1)
    if rest == "mlp.experts.gate_up_proj":
        half = parameter.shape[1] // 2
        return [(f"blk.{layer}.ffn_gate_exps.weight", parameter[:, :half]),
                (f"blk.{layer}.ffn_up_exps.weight", parameter[:, half:])]
    if rest == "mlp.experts.down_proj":
        return [(f"blk.{layer}.ffn_down_exps.weight", parameter)]
    stem, part = rest.rsplit(".", 1)
    whole = parameter[0] if stem == "mlp.shared_expert_gate" else parameter
    return [(f"blk.{layer}.{NAMES[stem]}.{part}", whole)]


def metadata(writer, name, config):
    gguf_files.metadata(writer, name, config, gguf.LlamaFileType.MOSTLY_F16)
    writer.add_expert_count(getattr(config, "num_local_experts", None) or config.num_experts)
    writer.add_expert_used_count(config.num_experts_per_tok)
    if FILES[name]["arch"] != "llama":  # whose experts are as wide as a feed-forward of a model without them
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if hasattr(config, "shared_expert_intermediate_size"):
        writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
    if getattr(config, "head_dim", None):
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)


def make(name, folder):
    """Writes NAME.gguf and NAME.reference.safetensors. → numbers"""
    plan = FILES[name]
    row = plan["row"]
    model = networks.random_model("gguf " + name, row)
    config = model.config
    writer = gguf.GGUFWriter(folder / f"{name}.gguf", plan["arch"])
    metadata(writer, name, config)
    gguf_files.bpe_vocabulary(writer, config.vocab_size)
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            for stored_name, part in parts(path, parameter):
                kind = Type.F32 if part.dim() == 1 else next(
                    value for pattern, value in plan["kinds"].items() if pattern in stored_name)
                weight, back = part.numpy(), lambda stored: stored
                if plan["arch"] == "llama" and ("attn_q" in stored_name or "attn_k" in stored_name):
                    heads = config.num_attention_heads if "attn_q" in stored_name else config.num_key_value_heads
                    weight, back = pairs(weight, heads), lambda w, n=heads: halves(w, n)
                data = gguf.quantize(np.ascontiguousarray(weight), kind)
                writer.add_tensor(stored_name, data, raw_dtype=kind)
                part.copy_(torch.from_numpy(back(gguf.dequantize(data, kind).reshape(weight.shape)).copy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return reference.write(folder / f"{name}.reference.safetensors", model, networks.double_twin(model, row),
                           cases.settled("gguf " + name, model, row, cases.FORMAT_CASES), row["kind"])
