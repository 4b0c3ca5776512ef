#!/usr/bin/env python3
"""Makes tests/golden/lora: LoRA adapters of models of tests/golden/models as PEFT saves them, and the logits that PEFT computes with
them in float64, without merging.

    python3 tools/make_lora_golden.py              all
    python3 tools/make_lora_golden.py gpt2-grown   these folders

Made with peft 0.21.2, transformers 5.23.0 and torch 2.15.0.
"""
import json
import pathlib
import shutil
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_models import exact  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
ADAPTERS = {
    "gpt2": {"r": 3, "lora_alpha": 7, "target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True},
    "llama": {"r": 4, "lora_alpha": 6, "use_rslora": True, "target_modules": ["q_proj", "v_proj", "down_proj"],
              "rank_pattern": {"v_proj": 2}, "alpha_pattern": {"layers.1.self_attn.q_proj": 3},
              "modules_to_save": ["lm_head"]},
    # PEFT's copy of a tied table leaves the head with the model's own.
    "gpt2-table": {"r": 2, "target_modules": ["c_attn"], "fan_in_fan_out": True, "modules_to_save": ["wte"]},
    "gpt2-grown": {"r": 2, "target_modules": ["c_attn"], "fan_in_fan_out": True},
    "qwen2-bias": {"r": 2, "target_modules": ["q_proj", "v_proj"], "bias": "lora_only"},
}
NEW_TOKENS = {"gpt2-grown": 5}


def base_model(name):
    model = transformers.AutoModelForCausalLM.from_pretrained(GOLDEN / "models" / name.split("-")[0], dtype=torch.float64,
                                                              attn_implementation="eager")
    if name in NEW_TOKENS:
        torch.manual_seed(1)
        model.resize_token_embeddings(model.config.vocab_size + NEW_TOKENS[name])
    return model


def plain_size(name):
    return json.loads((GOLDEN / "models" / name.split("-")[0] / "config.json").read_text())["vocab_size"]


def main():
    for name in sys.argv[1:] or ADAPTERS:
        options, folder = ADAPTERS[name], GOLDEN / "lora" / name
        shutil.rmtree(folder, ignore_errors=True)
        model = peft.get_peft_model(base_model(name), peft.LoraConfig(**options)).eval()
        numbers = torch.Generator().manual_seed(7)
        with torch.no_grad():
            for path, parameter in model.named_parameters():
                if "lora_" in path or "modules_to_save" in path or parameter.requires_grad:
                    parameter.copy_((torch.randn(parameter.shape, generator=numbers) * 0.3).float())
        model.peft_config["default"].base_model_name_or_path = f"../../models/{name.split('-')[0]}"
        # The numbers are those of float32.
        model.float().save_pretrained(folder, save_embedding_layers=name in NEW_TOKENS or "auto")
        (folder / "README.md").unlink(missing_ok=True)
        ids = torch.arange(2, 13)[None] * 7 % 60
        if name in NEW_TOKENS:
            ids[0, -1] = plain_size(name) + NEW_TOKENS[name] - 1
        plain, model = base_model(name), model.double()
        with exact.double_precision(), torch.no_grad():
            logits, without = model(input_ids=ids).logits, plain(ids).logits
        print(name, "logits", logits.std().item(), "changed by", (logits - without).abs().max().item())
        save_file({"ids": ids.int(), "logits": logits.to(exact.SINGLE)}, folder / "reference.safetensors")
        for path in folder.glob("*.safetensors"):
            path.chmod(0o644)
        config = json.loads((folder / "adapter_config.json").read_text())
        (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
