"""Which types of transformers headlight.capture() records, and whether the weights of what it records are the model's own.

Builds each type that can be small from its configuration, with random weights. Run by hand, with torch and transformers:
python3 python/tests/every_type.py [TYPE …]
"""

import math
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

import headlight
from headlight._models import _attentions, _eager, _record
from headlight._recorded import recording

_TOKENS = 9
_MOST_PARAMETERS = 20_000_000
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


def _small(config_class):
    default = config_class()
    known = default.to_dict()
    sizes = {name: size for size, names in _SMALL.items() for name in names.split() if isinstance(known.get(name), int)}
    for name in config_class.sub_configs:
        if isinstance(getattr(default, name, None), transformers.PretrainedConfig):
            sizes[name] = _small(type(getattr(default, name))).to_dict()
    for wanted in (sizes, {name: size for name, size in sizes.items() if name not in ("head_dim", "n_group", "topk_group")}):
        try:
            return config_class(**wanted)
        except Exception as error:
            problem = error
    raise problem


def _model(config_class):
    config = _small(config_class)
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


def _worst(model, recorded, inputs):
    """The largest difference from the weights that the model returns; None: it returns none."""
    tensors, scores, worst = recorded.tensors(), recorded.scores(), 0.0
    try:
        with _eager(model):
            found = _attentions(model, inputs)
    except Exception:
        return None
    for kind, layers in found.items():
        prefix = {"attentions": ""}.get(kind, kind[: -len("attentions")])
        for layer, expected in enumerate(layers):
            actual = _weights(tensors, scores, recorded.is_causal, prefix, layer)
            difference = (actual - expected.double()[..., : actual.shape[-1]]).abs()
            worst = max(worst, math.inf if difference.isnan().any() else float(difference.max()))
    return worst


def _inputs_of_type(model):
    """What a model that reads no text reads: its dummy inputs."""
    name = model.main_input_name
    config = getattr(model.config, "vision_config", model.config)
    if name == "pixel_values":
        edge = getattr(config, "image_size", 32)
        edge = edge if isinstance(edge, int) else edge[0]
        return {name: torch.zeros(1, getattr(config, "num_channels", 3), edge, edge)}
    return model.dummy_inputs


def try_type(config_class):
    model = _model(config_class)
    inputs = {"input_ids": torch.arange(5, 5 + _TOKENS)[None]}
    is_text = model.main_input_name == "input_ids"
    if not is_text:
        with recording(model) as passes, torch.no_grad():
            if passes is None:
                return "no recorder", None
            model(**_inputs_of_type(model))
            return ("recorded, no text" if any(one.calls for one in passes) else "no calls"), None
    if getattr(model.config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = torch.arange(3, 3 + _TOKENS - 2)[None]
    recorded = _record(model, [inputs])
    if recorded is None:
        return "returned weights", None
    return "recorded", _worst(model, recorded, inputs)


def main(types):
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    counts, worst = {}, []
    for name, config_class in CONFIG_MAPPING.items():
        if (types and name not in types) or config_class not in MODEL_MAPPING:
            continue
        try:
            result, difference = try_type(config_class)
        except headlight.HeadlightError as error:
            result, difference = "refused", str(error)
        except Exception as error:
            result, difference = "not built", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        counts[result] = counts.get(result, 0) + 1
        if isinstance(difference, float):
            worst.append((difference, name))
        print(f"{name:32} {result:18} {difference if difference is not None else ''}"[:180], flush=True)
    print(f"transformers {transformers.__version__}:", ", ".join(f"{count} {result}" for result, count in counts.items()))
    compared = sorted(worst, reverse=True)
    print(f"{len(compared)} compared with the weights that they return; the largest differences:", compared[:8])


if __name__ == "__main__":
    main(sys.argv[1:])
