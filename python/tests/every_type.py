"""Which types of transformers headlight.capture() shows, and whether the weights of what it records are the model's own.

Builds each type that can be small from its configuration, with random weights, captures it and opens the capture with the
program. Run by hand, with torch and transformers, and HEADLIGHT naming the program:
python3 python/tests/every_type.py [--write] [TYPE ...]
--write: writes the table of types into src/model/architectures/captured_types.h, by which the program's refusals say whether
capture() helps (tests/model/load_network_test.cpp).
"""

import math
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

import headlight
from headlight._models import _attentions, _eager

_TOKENS = 9
_MOST_PARAMETERS = 80_000_000
_NEAR = 0.02  # DiffLlama's heads subtract a second softmax: 0.009
_WITHOUT_SINKS = ("granite_swa", "granitemoe_swa")  # which the weights that they return leave out
_TABLE = pathlib.Path(__file__).resolve().parents[2] / "src/model/architectures/captured_types.h"
_SMALL = {
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_encoder_layers num_decoder_layers "
    "num_experts_per_tok moe_topk num_key_value_heads decoder_start_token_id first_k_dense_replace n_group topk_group",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads num_experts n_routed_experts "
    "num_local_experts moe_num_experts sliding_window attention_window local_attention q_lora_rank kv_lora_rank",
    8: "head_dim d_kv qk_nope_head_dim qk_rope_head_dim v_head_dim attention_head_size",
    32: "hidden_size d_model n_embd dim embed_dim embedding_size word_embed_proj_dim emb_dim d_embed",
    64: "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff n_inner hidden_dim moe_intermediate_size "
    "shared_expert_intermediate_size max_position_embeddings n_positions max_seq_len",
    128: "vocab_size",
    16: "patch_size num_mel_bins",
    0: "pad_token_id bos_token_id eos_token_id",
}  # fmt: skip
# Keys of single types, whose defaults don't fit the small sizes.
_SOUND = {"conv_dim": [16, 16], "conv_stride": [5, 4], "conv_kernel": [5, 4], "num_conv_pos_embeddings": 4,
          "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 2}  # fmt: skip
_STAGES = {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "image_size": 32, "patch_size": 4, "window_size": 4}
_SPEECH = {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 16}
_OWN = {
    "swin": _STAGES, "swinv2": _STAGES, "donut-swin": _STAGES, "maskformer-swin": _STAGES,
    "swin2sr": _STAGES | {"num_heads": [2, 2], "upsampler": ""},
    "hiera": {"embed_dim": 16, "image_size": [32, 32], "num_heads": [1, 1, 1, 1], "depths": [1, 1, 1, 1]},
    "segformer": {"depths": [1, 1, 1, 1], "hidden_sizes": [16] * 4, "num_attention_heads": [1, 2, 2, 2]},
    "levit": {"image_size": 64}, "pvt": {"image_size": 64},
    "longformer": {"attention_window": 4},
    "reformer": {"hidden_size": 32, "attn_layers": ["local", "lsh"], "axial_pos_embds": False, "is_decoder": True,
                 "local_attn_chunk_length": 3, "lsh_attn_chunk_length": 3, "feed_forward_size": 32},
    "funnel": {"block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48},
    "perceiver": {"num_latents": 4, "d_latents": 32, "d_model": 32, "num_blocks": 1, "num_self_attends_per_block": 1,
                  "num_self_attention_heads": 2, "num_cross_attention_heads": 2},
    "mobilebert": {"embedding_size": 32, "intra_bottleneck_size": 32, "true_hidden_size": 32},
    "whisper": _SPEECH, "speech_to_text": {"input_feat_per_channel": 8, "input_channels": 1, "max_source_positions": 16},
    "moonshine": {"encoder_num_hidden_layers": 2, "decoder_num_hidden_layers": 2, "encoder_num_attention_heads": 4,
                  "decoder_num_attention_heads": 4},
    "jamba": {"num_hidden_layers": 8, "use_mamba_kernels": False}, 
    "bamba": {"num_hidden_layers": 4, "attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_d_head": 8},
    "nemotron": {"num_key_value_heads": 4, "head_dim": 8}, "minimax": {"num_hidden_layers": 4},
    "detr": {"use_timm_backbone": False, "backbone": None, "use_pretrained_backbone": False},
    **dict.fromkeys(("qwen2_vl_text", "qwen2_5_vl_text"), {"rope_parameters": {
        "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}}),
    **dict.fromkeys(("wav2vec2", "hubert", "wavlm", "unispeech", "unispeech-sat", "sew", "sew-d", "data2vec-audio",
                     "wav2vec2-conformer"), _SOUND),
    **{name: {"num_hidden_layers": 4} for name in ("qwen3_5_text", "qwen3_5_moe_text", "qwen3_next", "qwen4_exp_text",
                                                   "granitemoehybrid", "zamba", "lfm2_moe", "olmo_hybrid",
                                                   "recurrent_gemma", "kimi_linear", "falcon_h1")},
}  # fmt: skip


def _small(config_class):
    default = config_class()
    known = default.to_dict()
    sizes = {name: size for size, names in _SMALL.items() for name in names.split() if isinstance(known.get(name), int)}
    for name in config_class.sub_configs:
        if isinstance(getattr(default, name, None), transformers.PretrainedConfig):
            sizes[name] = _small(type(getattr(default, name))).to_dict()
    own = _OWN.get(config_class.model_type, {})
    if "num_hidden_layers" in own:
        sizes.pop("layer_types", None)
    for left_out in ((), ("head_dim", "n_group", "topk_group"), tuple(sizes)):
        wanted = {name: size for name, size in sizes.items() if name not in left_out} | own
        try:
            return _fitted(config_class(**wanted))
        except Exception as error:
            problem = error
    raise problem


def _fitted(config):
    """Sections of rotary positions in three axes are those of small heads."""
    for name in ("rope_parameters", "rope_scaling"):
        rope = getattr(config, name, None)
        if isinstance(rope, dict) and "mrope_section" in rope:
            heads = getattr(config, "num_attention_heads", 4)
            half = int((getattr(config, "head_dim", None) or config.hidden_size // heads) * rope.get("partial_rotary_factor", 1)) // 2
            rope["mrope_section"] = [half - 2 * (half // 3), half // 3, half // 3]
    return config


def _model(config_class, implementation=None):
    config = _small(config_class)
    config._attn_implementation = implementation
    with torch.device("meta"):
        count = sum(part.numel() for part in transformers.AutoModel.from_config(config).parameters())
    if count > _MOST_PARAMETERS:
        raise MemoryError(f"{count} parameters")
    torch.manual_seed(1)
    return transformers.AutoModel.from_config(config).eval()


def _weights(tensors, scores, is_causal, prefix, layer):
    """Weights as docs/CAPTURES.md says that a capture has them, in double precision."""
    query, key = (tensors[f"{prefix}{name}.{layer}"].double() for name in "qk")
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    number = {name: scores.get(prefix + name, [0] * (layer + 1))[layer] for name in ("scale", "softcap", "window")}
    values = query @ key.transpose(2, 3) * (number["scale"] or query.shape[-1] ** -0.5)
    if number["softcap"]:
        values = number["softcap"] * torch.tanh(values / number["softcap"])
    distance = torch.arange(values.shape[2])[:, None] - torch.arange(values.shape[3])
    looks_back = is_causal and prefix in ("", "decoder_")
    hidden = (distance < 0) if looks_back else torch.zeros_like(distance, dtype=torch.bool)
    if number["window"]:
        hidden = hidden | (distance.abs() >= number["window"])
    values = values.masked_fill(hidden, -math.inf)
    bias = tensors.get(f"{prefix}bias.{layer}")
    values = values if bias is None else values + bias.double()
    sinks = tensors.get(f"{prefix}sinks.{layer}")
    if sinks is not None:
        column = sinks.double().reshape(1, -1, 1, 1).expand(values.shape[0], -1, values.shape[2], 1)
        return torch.softmax(torch.cat([values, column], dim=-1), dim=-1)[..., :-1]
    return torch.softmax(values, dim=-1)


def _worst(model, capture, inputs):
    """The largest difference from the weights that the model returns; None: it returns none."""
    tensors, scores, worst = capture.tensors, capture._scores, 0.0
    try:
        with _eager(model):
            found = _attentions(model, inputs)
    except Exception:
        return None
    for kind, layers in found.items():
        prefix = {"attentions": ""}.get(kind, kind[: -len("attentions")])
        for layer, expected in enumerate(one for one in layers if one is not None):
            if f"{prefix}q.{layer}" not in tensors:
                continue
            actual = _weights(tensors, scores, capture._is_causal, prefix, layer)
            if actual.shape != expected[..., : actual.shape[-1]].shape:
                return math.inf
            difference = (actual - expected.double()[..., : actual.shape[-1]]).abs()
            worst = max(worst, math.inf if difference.isnan().any() else float(difference.max()))
    return worst


def _candidates(model):
    """Inputs that a model of this kind may read, by the name of its main one."""
    name, config = model.main_input_name, model.config
    vision = getattr(config, "vision_config", config)
    edge = getattr(vision, "image_size", None) or 32
    edge = max(edge) if isinstance(edge, (list, tuple)) else edge if isinstance(edge, int) else 32
    ids = torch.arange(5, 5 + _TOKENS)[None]
    decoder = {"decoder_input_ids": torch.arange(3, 3 + _TOKENS - 2)[None]} if getattr(config, "is_encoder_decoder", False) else {}
    pixels = torch.rand(1, getattr(vision, "num_channels", 3), edge, edge)
    frames = torch.rand(1, getattr(config, "num_frames", 2), 3, edge, edge)
    bins = getattr(config, "num_mel_bins", None) or getattr(config, "input_feat_per_channel", None) or 80
    mels = torch.rand(1, bins, 2 * getattr(config, "max_source_positions", 16))
    texts = [{"input_ids": ids} | decoder, {"inputs": ids}, {"input_ids": ids, "pixel_values": pixels}]
    images = [{"pixel_values": pixels}, {"pixel_values": frames}, {"pixel_values_videos": frames}]
    sounds = [{one: value} | decoder for one in ("input_values", "input_features")
              for value in (torch.rand(1, 800), mels, mels.transpose(1, 2))]  # fmt: skip
    order = {"inputs": texts, "input_ids": texts + images + sounds, "pixel_values": images + texts, "pixel_values_videos": images[::-1]}
    return order.get(name, sounds + texts + images)


def _opened(capture):
    """What the program says that it can't open; None: it does."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "capture.safetensors")
        capture.save(path)
        command = [headlight.program(), "export", "--capture", path, "--stages", "weights", "--format", "npy"]
        done = subprocess.run([*command, "--out", os.path.join(folder, "out")], capture_output=True, text=True, check=False)
        said = (done.stderr.strip().splitlines() or [""])[-1]
        # Which an export says of arrays of all layers together.
        return None if done.returncode == 0 or "the layers differ in shape" in said else said


def try_type(config_class):
    """What came of it, and the largest difference or the reason."""
    try:
        return _try(config_class, _model(config_class))
    except headlight.HeadlightError as error:
        if "load it with attn_implementation='eager'" not in str(error):
            raise
    return _try(config_class, _model(config_class, "eager"))


def _try(config_class, model):
    problem = None
    for inputs in _candidates(model):
        try:
            with torch.no_grad():
                model(**inputs)
        except Exception as error:
            problem = problem or error
            continue
        capture = headlight.capture(model, None, inputs, opens=False)
        refusal = _opened(capture)
        if refusal is not None:
            raise headlight.HeadlightError(refusal)
        if not any(name.endswith("q.0") for name in capture.tensors):
            return "weights", None
        worst = _worst(model, capture, inputs)
        is_near = worst is None or worst < _NEAR or config_class.model_type in _WITHOUT_SINKS
        return "recorded" if is_near else "differs", worst
    raise problem


def _write(results):
    """The table of types, which the program reads. Types that another version of transformers lacks stay as they are."""
    names = {"kCapturedTypes": ("recorded", "weights"), "kRefusedTypes": ("refused",)}
    lists = {one: sorted(name for name, result in results.items() if result in wanted) for one, wanted in names.items()}
    text = f"""#pragma once

#include <string_view>

namespace headlight::model {{

// Written by python/tests/every_type.py --write, of transformers {transformers.__version__}.

"""
    for name, comment in (("kCapturedTypes", "Types whose attention headlight.capture() was seen to show."),
                          ("kRefusedTypes", "Types with or without attention that it was seen to refuse.")):  # fmt: skip
        text += f"/// {comment}\ninline constexpr std::string_view {name} ="
        line = ""
        for at, one in enumerate(lists[name]):
            if len(line) + len(one) > 110:
                text, line = text + f'\n    "{line}"', ""
            line += one + ("|" if at + 1 < len(lists[name]) else "")
        text += f'\n    "{line}";\n\n'
    _TABLE.write_text(text + "}  // namespace headlight::model\n", encoding="utf-8")


def main(arguments):
    types = [name for name in arguments if name != "--write"]
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    headlight.program()  # raises where there is none
    counts, worst, results = {}, [], {}
    for name, config_class in CONFIG_MAPPING.items():
        if (types and name not in types) or config_class not in MODEL_MAPPING:
            continue
        try:
            result, difference = try_type(config_class)
        except headlight.HeadlightError as error:
            result, difference = "refused", str(error)
        except Exception as error:
            result, difference = "not built", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        results[name] = result
        counts[result] = counts.get(result, 0) + 1
        if isinstance(difference, float):
            worst.append((difference, name))
        print(f"{name:32} {result:18} {difference if difference is not None else ''}"[:180], flush=True)
    print(f"transformers {transformers.__version__}:", ", ".join(f"{count} {result}" for result, count in counts.items()))
    compared = sorted(worst, reverse=True)
    if "--write" in arguments:
        _write(results)
    print(f"{len(compared)} compared with the weights that they return; the largest differences:", compared[:8])


if __name__ == "__main__":
    main(sys.argv[1:])
