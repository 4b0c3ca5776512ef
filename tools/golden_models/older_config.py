"""Writes config.v4.json: the same configuration as releases before transformers 5 wrote it.

Most folders on the Hub are older than release 5, which moved everything about rotary positions into `rope_parameters`. A
model must mean the same with either file, and `check` proves that transformers itself thinks so.
"""

import json
import pathlib
import shutil
import tempfile

import torch
import transformers


NOMIC = {"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
         "intermediate_size": "n_inner", "layer_norm_eps": "layer_norm_epsilon", "max_position_embeddings": "n_positions"}


def nomic(config):
    """The keys that Nomic's own code wrote, before transformers had this network."""
    older = {new: config[old] for old, new in NOMIC.items()}
    older |= {key: config[key] for key in ("model_type", "vocab_size", "type_vocab_size", "pad_token_id")}
    return older | {"activation_function": "swiglu", "prenorm": False, "use_rms_norm": False, "qkv_proj_bias": False,
                    "mlp_fc1_bias": False, "mlp_fc2_bias": False, "rotary_emb_fraction": 1.0,
                    "rotary_emb_base": config["rope_parameters"]["rope_theta"], "rotary_emb_interleaved": False}


def older(config, family):
    """The older form of a release 5 configuration, or None where only `dtype` differs."""
    config = dict(config)
    if config["model_type"] == "nomic_bert":
        return nomic(config)
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.40.0"
    rope = config.pop("rope_parameters", None)
    if "untied" in family:
        config["tie_word_embeddings"] = False
        config.pop("scale_decoder_outputs")
    elif rope is None:
        return None
    if rope and "full_attention" in rope and config["model_type"] == "modernbert":
        config["global_rope_theta"] = rope["full_attention"]["rope_theta"]
        config["local_rope_theta"] = rope["sliding_attention"]["rope_theta"]
        if config["layer_types"][0] == "full_attention":
            config.pop("layer_types")
            config["global_attn_every_n_layers"] = 3
    elif rope and "full_attention" in rope:  # Gemma 3
        whole, local = rope["full_attention"], rope["sliding_attention"]
        config["rope_theta"], config["rope_local_base_freq"] = whole["rope_theta"], local["rope_theta"]
        config["rope_scaling"] = {key: value for key, value in whole.items() if key != "rope_theta"}
    elif rope:
        rope = dict(rope)
        neox = config["model_type"] == "gpt_neox"
        config["rotary_emb_base" if neox else "rope_theta"] = rope.pop("rope_theta")
        if "partial_rotary_factor" in rope:
            config["rotary_pct" if neox else "partial_rotary_factor"] = rope.pop("partial_rotary_factor")
        kind = rope.pop("rope_type")
        # Releases before 4.43 said "type"; Llama 3.1 and later say "rope_type".
        key = "rope_type" if kind in ("llama3", "yarn") else "type"
        config["rope_scaling"] = None if kind == "default" else {key: kind, **rope}
        if kind == "longrope":
            config["rope_scaling"].pop("original_max_position_embeddings")
    return config


def write(folder, family):
    config = older(json.loads((folder / "config.json").read_text()), family)
    if config is None:
        return
    path = folder / "config.v4.json"
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    if config["model_type"] != "nomic_bert":
        check(folder, family)


def check(folder, family):
    """Loads the folder with either configuration: the logits must be the same bits."""
    cls = getattr(transformers, family["class"])
    ids = torch.arange(5, 25)[None]
    more = {"decoder_input_ids": ids[:, 3:9]} if family["kind"] == "encoder-decoder" else {}
    outcomes = []
    for source in ("config.json", "config.v4.json"):
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(folder / "model.safetensors", place)
            shutil.copy(folder / source, pathlib.Path(place) / "config.json")
            model = cls.from_pretrained(place, attn_implementation="eager").eval()
        with torch.no_grad():
            outcomes.append(model(input_ids=ids, **more).logits)
    assert torch.equal(*outcomes), (folder.name, (outcomes[0] - outcomes[1]).abs().max())
