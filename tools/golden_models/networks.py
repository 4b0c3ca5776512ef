"""From a row of the table to a model, and from models to files in other formats than float32."""

import copy
import importlib
import json

import torch
import transformers
from safetensors.torch import save_file
from transformers.models.falcon import modeling_falcon

from . import exact, weights


def class_of(row):
    """Also classes that transformers keeps within a model's module: stacks of an encoder–decoder."""
    if hasattr(transformers, row["class"]):
        return getattr(transformers, row["class"])
    return getattr(importlib.import_module("transformers.models.bart.modeling_bart"), row["class"])


def build(row):
    """The model of a table's row, with whatever weights it starts with."""
    cls = class_of(row)
    config = cls.config_class(**copy.deepcopy(row["config"]))
    config._attn_implementation = config._experts_implementation = "eager"
    model = cls(config).eval()
    if "untied" in row:
        layer = model.get_submodule(row["untied"][0])
        layer.weight = torch.nn.Parameter(layer.weight.detach().clone())
    return model


def random_model(name, row):
    model = build(row)
    weights.randomise(model, name, row)
    if row.get("is_as_sdpa"):
        check_as_sdpa(model, row)
    return model


def add_alibi_once():
    """transformers 5.24 adds Falcon's ALiBi twice with eager attention, which alone gives weights: to the scores and with
    the mask. Half of it, twice, is what its default attention adds."""
    build_whole = modeling_falcon.build_alibi_tensor
    modeling_falcon.build_alibi_tensor = lambda *given, **more: build_whole(*given, **more) / 2
    return build_whole


BUILD_ALIBI = add_alibi_once()


def check_as_sdpa(model, row):
    """The logits are those of transformers as it is, with its default attention."""
    config = copy.deepcopy(model.config)
    config._attn_implementation = "sdpa"
    other = type(model)(config).eval()
    other.load_state_dict(model.state_dict())
    ids = torch.arange(5, 25)[None]
    with torch.no_grad():
        ours = model(input_ids=ids).logits
        modeling_falcon.build_alibi_tensor, halved = BUILD_ALIBI, modeling_falcon.build_alibi_tensor
        theirs = other(input_ids=ids).logits
        modeling_falcon.build_alibi_tensor = halved
    assert torch.allclose(ours, theirs, atol=1e-5), (row["class"], (ours - theirs).abs().max())


def double_twin(model, row):
    """The same network in float64."""
    return exact.double_model(lambda: build(row), model.state_dict(), set(model._keys_to_ignore_on_save or ()))


def round_weights(model, dtype):
    """Rounds every weight to `dtype`'s precision; the model stays float32."""
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.copy_(tensor.to(dtype).to(tensor.dtype))


def save_as_internlm2(model, folder):
    """A Llama as InternLM 2's own code stores it: a fused projection [KV head][its queries | k | v], and other names."""
    names = {"embed_tokens": "tok_embeddings", "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1",
             "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2", "input_layernorm": "attention_norm",
             "post_attention_layernorm": "ffn_norm", "lm_head": "output"}
    config, tensors = model.config, {}
    heads = config.num_key_value_heads
    for path, value in model.state_dict().items():
        if "self_attn.q_proj" in path:
            parts = [model.state_dict()[path.replace("q_proj", name)] for name in ("q_proj", "k_proj", "v_proj")]
            rows = [part.reshape(heads, -1, *part.shape[1:]) for part in parts]
            tensors[path.replace("self_attn.q_proj", "attention.wqkv")] = torch.cat(rows, 1).flatten(0, 1)
        elif "k_proj" not in path and "v_proj" not in path:
            for theirs, ours in names.items():
                path = path.replace(theirs, ours)
            tensors[path] = value
    save_file({path: value.contiguous() for path, value in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    keys = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
            "max_position_embeddings", "vocab_size", "hidden_act", "rms_norm_eps", "bos_token_id", "eos_token_id",
            "pad_token_id", "tie_word_embeddings")
    rope = config.rope_parameters
    written = {"model_type": "internlm2", "architectures": ["InternLM2ForCausalLM"], "bias": config.attention_bias,
               "rope_theta": rope["rope_theta"], "rope_scaling": {"type": rope["rope_type"], "factor": rope["factor"]},
               **{key: getattr(config, key) for key in keys}}
    (folder / "config.json").write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")


def save_as(model, dtype, folder):
    """save_pretrained in another type."""
    copy.deepcopy(model).to(dtype).save_pretrained(folder)
