"""GGUF files as llama.cpp's converter and quantiser lay them out, with references from the dequantised weights."""

import json
import math
import pathlib
import tempfile
import zlib

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.torch import load_file, save_file

from . import cases, families, networks, reference, tiny_text
from .gguf_architectures import halves, pairs

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6


def llama(changes=None, rope=None):
    return families.llama(rope, hidden_size=32, intermediate_size=64, **(changes or {}))


# kinds: the first pattern found in a tensor's name decides its type; F32 for the rest (norms and biases always).
FILES = {
    "llama": {"row": llama({"vocab_size": 320}), "text": "spm", "file_type": gguf.LlamaFileType.MOSTLY_F16,
              "kinds": {"norm": Type.F32, "ffn_": Type.BF16, "output.weight": Type.F32, "": Type.F16}},
    "llama-q8_0": {"row": llama({"vocab_size": 128, "tie_word_embeddings": True, "max_position_embeddings": 512},
                                {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                                 "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
                   "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_Q8_0, "kinds": {"norm": Type.F32, "": Type.Q8_0}},
    "llama-q4_0": {"row": llama({"vocab_size": 128}), "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_Q4_0,
                   "kinds": {"norm": Type.F32, "output.weight": Type.Q8_0, "": Type.Q4_0}},
    "llama-mixed-k": {"row": families.llama(vocab_size=128, hidden_size=256, intermediate_size=256, num_hidden_layers=1),
                      "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_Q4_K_M,
                      "kinds": {"norm": Type.F32, "attn_v": Type.Q6_K, "ffn_down": Type.Q6_K, "output.weight": Type.Q6_K,
                                "": Type.Q4_K}},
    "gpt2": {"row": families.decoder("GPT2LMHeadModel", {
                 "vocab_size": 128, "n_embd": 36, "n_head": 6, "n_layer": 2, "n_positions": 32, "n_inner": 68,
                 "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}),
             "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_F16,
             "kinds": {"norm": Type.F32, "position_embd": Type.F32, "bias": Type.F32, "": Type.F16}},
    "qwen2": {"row": families.decoder("Qwen2ForCausalLM", {
                  **families.ROTARY, "vocab_size": 128, "use_sliding_window": False, "tie_word_embeddings": True}),
              "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_F16,
              "kinds": {"norm": Type.F32, "bias": Type.F32, "": Type.F16}},
    "starcoder2": {"row": families.small("Starcoder2ForCausalLM", {"vocab_size": 128, "tie_word_embeddings": True}),
                   "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_F16,
                   "kinds": {"norm": Type.F32, "bias": Type.F32, "": Type.F16}},
    # Neither is known to transformers' reader; OLMo 3 is "olmo2" with a window.
    "olmo2": {"row": families.small("Olmo2ForCausalLM", {"vocab_size": 128}, spread={"[qk]_norm": (1.35, 0.25)}),
              "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_F16, "arch": "olmo2",
              "kinds": {"norm": Type.F32, "": Type.F16}},
    "olmo3": {"row": families.small("Olmo3ForCausalLM", {
                  "vocab_size": 128, "sliding_window": 6, "num_hidden_layers": 4, "intermediate_size": 28},
                  spread={"[qk]_norm": (1.35, 0.25)}),
              "text": "bpe", "file_type": gguf.LlamaFileType.MOSTLY_F16, "arch": "olmo2",
              "kinds": {"norm": Type.F32, "": Type.F16}},
}

ENCODER_SIZES = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "max_position_embeddings": 32, "pad_token_id": 0}
ENCODERS = {
    "bert": {"row": families.encoder("BertModel", ENCODER_SIZES, types=True), "arch": gguf.MODEL_ARCH.BERT},
    "nomic-bert": {"row": families.encoder("NomicBertModel", ENCODER_SIZES, types=True), "arch": gguf.MODEL_ARCH.NOMIC_BERT},
}

LLAMA_NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
               "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
               "mlp.down_proj": "ffn_down", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
LLAMA_OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
GPT2_NAMES = {"attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_1": "attn_norm", "ln_2": "ffn_norm",
              "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
GPT2_OUTER = {"transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm"}


def gguf_name(name, arch=None):
    """model.layers.0.self_attn.q_proj.weight → blk.0.attn_q.weight, by the package's own names where `arch` is given."""
    stem, part = name.rsplit(".", 1)
    if arch:
        number = next(key for key, known in gguf.MODEL_ARCH_NAMES.items() if known == arch)
        return f"{gguf.get_tensor_name_map(number, 16).get_name(stem)}.{part}"
    for prefix, inner, outer in (("model.layers.", LLAMA_NAMES, LLAMA_OUTER), ("transformer.h.", GPT2_NAMES, GPT2_OUTER)):
        if stem in outer:
            return f"{outer[stem]}.{part}"
        if stem.startswith(prefix):
            layer, rest = stem.removeprefix(prefix).split(".", 1)
            return f"blk.{layer}.{inner[rest]}.{part}"
    raise KeyError(name)


def layout(name, config):
    """(to the file's order, and its inverse) for a tensor of the model."""
    if config.model_type == "llama" and ("q_proj" in name or "k_proj" in name):
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        return lambda w: pairs(w, heads), lambda w: halves(w, heads)
    if config.model_type == "gpt2" and name.endswith("weight") and (".c_" in name):
        return lambda w: np.ascontiguousarray(w.T), lambda w: np.ascontiguousarray(w.T)
    return (lambda w: w), (lambda w: w)


def random_blocks(shape, kind, numbers, deviation):
    """Valid blocks of Q4_K or Q6_K whose values have about this standard deviation; gguf-py can't quantise to them."""
    count = math.prod(shape) // 256
    if kind == Type.Q4_K:
        # value = d·scale·q − dmin·minimum; with dmin = 7.5·d and minimum ≈ scale the values spread around 0
        scale = numbers.integers(20, 64, (count, 8), dtype=np.uint8)
        low = np.clip(scale.astype(int) + numbers.integers(-4, 5, (count, 8)), 0, 63).astype(np.uint8)
        d = np.full((count, 1), deviation / (42 * 4.6)) * numbers.uniform(0.7, 1.3, (count, 1))
        head = np.concatenate([d, 7.5 * d], axis=1).astype(np.float16).view(np.uint8)
        packed = np.concatenate([scale[:, :4] | ((scale[:, 4:] >> 4) << 6), low[:, :4] | ((low[:, 4:] >> 4) << 6),
                                 (scale[:, 4:] & 15) | ((low[:, 4:] & 15) << 4)], axis=1)
        blocks = np.concatenate([head, packed, numbers.integers(0, 256, (count, 128), dtype=np.uint8)], axis=1)
    else:
        # value = d·scale·(q − 32), scale signed
        scale = (numbers.integers(40, 128, (count, 16)) * numbers.choice([-1, 1], (count, 16))).astype(np.int8)
        d = (deviation / (87 * 18.5) * numbers.uniform(0.7, 1.3, (count, 1))).astype(np.float16)
        blocks = np.concatenate([numbers.integers(0, 256, (count, 192), dtype=np.uint8), scale.view(np.uint8),
                                 d.view(np.uint8)], axis=1)
    return blocks.reshape(*shape[:-1], -1)


def spm_vocabulary(writer, size):
    """A SentencePiece vocabulary with all bytes: (piece, score, type)."""
    words = ["▁t", "▁a", "he", "in", "▁the", "at", "er", "▁c", "▁cat", "on", "▁s", "▁sat", "nd", "▁and", "▁m", "▁mat"]
    pieces = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
    pieces += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    pieces += [(piece, -float(rank), NORMAL) for rank, piece in enumerate(words)]
    letters = "▁etaoinshrdlucmfwypvbgkjqxz.,'TAISHW"[:size - len(pieces)]
    pieces += [(letter, -float(len(words) + rank), NORMAL) for rank, letter in enumerate(letters)]
    pieces += [(f"<pad{index}>", -1000.0, 5) for index in range(size - len(pieces))]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([piece for piece, _, _ in pieces])
    writer.add_token_scores([score for _, score, _ in pieces])
    writer.add_token_types([kind for _, _, kind in pieces])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)


def bpe_vocabulary(writer, size):
    """GPT-2's kind: tokens and merges; id 0 ends a text."""
    tokenizer = json.loads(tiny_text.byte_level(size)[0].to_str())
    vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda item: item[1])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_types([CONTROL if index == 0 else NORMAL for _, index in vocabulary])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)


def metadata(writer, name, config, file_type):
    """The converter's metadata for each architecture."""
    writer.add_type("model")
    writer.add_name(f"Headlight tiny {name}")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    gpt2 = config.model_type == "gpt2"
    writer.add_feed_forward_length(config.n_inner if gpt2 else config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if gpt2:
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        rope = config.rope_parameters
        writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    if config.model_type == "starcoder2":
        writer.add_layer_norm_eps(config.norm_epsilon)
    elif not gpt2:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if config.model_type == "olmo3":
        writer.add_sliding_window(config.sliding_window)
    if config.model_type == "llama":
        writer.add_vocab_size(config.vocab_size)
        writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def rope_factors(rope, head_size):
    """Llama 3's divisors of the frequencies, which the converter stores as rope_freqs.weight."""
    factors = []
    for index in range(0, head_size, 2):
        turns = rope["original_max_position_embeddings"] / (2 * math.pi * rope["rope_theta"] ** (index / head_size))
        smooth = (turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
        smooth = min(max(smooth, 0.0), 1.0)
        factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(factors, dtype=np.float32)


def make(name, folder):
    """Writes NAME.gguf and NAME.reference.safetensors. → numbers"""
    plan = FILES[name]
    row = plan["row"]
    model = networks.random_model("gguf " + name, row)
    config = model.config
    numbers = np.random.default_rng(zlib.crc32(name.encode()))
    path = folder / f"{name}.gguf"
    writer = gguf.GGUFWriter(path, plan.get("arch", config.model_type))
    metadata(writer, name, config, plan["file_type"])
    (spm_vocabulary if plan["text"] == "spm" else bpe_vocabulary)(writer, config.vocab_size)
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", rope_factors(rope, config.hidden_size // config.num_attention_heads))
    with torch.no_grad():
        for path_in_model, parameter in model.named_parameters():
            there, back = layout(path_in_model, config)
            stored_name = gguf_name(path_in_model, plan.get("arch"))
            kind = Type.F32 if parameter.dim() == 1 else next(
                value for pattern, value in plan["kinds"].items() if pattern in stored_name)
            weight = np.ascontiguousarray(there(parameter.numpy()))
            if kind in (Type.Q4_K, Type.Q6_K):
                data = random_blocks(weight.shape, kind, numbers, float(weight.std()))
            else:
                data = gguf.quantize(weight, kind)
            writer.add_tensor(stored_name, data, raw_dtype=kind)
            parameter.copy_(torch.from_numpy(back(gguf.dequantize(data, kind).reshape(weight.shape)).copy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if "arch" not in plan:
        check(path, model)
    twin = networks.double_twin(model, row)
    return reference.write(folder / f"{name}.reference.safetensors", model, twin,
                           cases.settled("gguf " + name, model, row, cases.FORMAT_CASES), row["kind"])


def make_encoder(name, folder):
    """Likewise of an encoder, whose names are gguf's own for the names that transformers saves; F16 and F32, no tokenizer.

    transformers can't read these architectures back.
    """
    plan, kind = ENCODERS[name], Type.F16
    model = networks.random_model("gguf " + name, plan["row"])
    config = model.config
    names = gguf.get_tensor_name_map(plan["arch"], config.num_hidden_layers)
    writer = gguf.GGUFWriter(folder / f"{name}.gguf", gguf.MODEL_ARCH_NAMES[plan["arch"]])
    writer.add_type("model")
    writer.add_name(f"Headlight tiny {name}")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_token_type_count(config.type_vocab_size)
    if getattr(config, "rope_parameters", None):
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        tensors = load_file(pathlib.Path(place) / "model.safetensors")
        for path, tensor in tensors.items():
            if "pooler" in path:
                continue
            stem, part = path.rsplit(".", 1)
            kept = tensor.dim() == 1 or "token_type" in path or "position" in path
            data = gguf.quantize(tensor.numpy(), Type.F32 if kept else kind)
            writer.add_tensor(f"{names.get_name(stem)}.{part}", data, raw_dtype=Type.F32 if kept else kind)
            tensors[path] = torch.from_numpy(gguf.dequantize(data, Type.F32 if kept else kind).copy())
        save_file(tensors, pathlib.Path(place) / "model.safetensors", metadata={"format": "pt"})
        model = type(model).from_pretrained(place, attn_implementation="eager").eval()
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return reference.write(folder / f"{name}.reference.safetensors", model, networks.double_twin(model, plan["row"]),
                           cases.settled("gguf " + name, model, plan["row"], cases.FORMAT_CASES), plan["row"]["kind"])


def check(path, model):
    """Reads the file with transformers' own reader of GGUF, which undoes the permutation in its own way."""
    again = type(model).from_pretrained(path.parent, gguf_file=path.name, config=model.config, dtype=torch.float32)
    ours, theirs = dict(model.named_parameters()), dict(again.named_parameters())
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), (path.name, name)
