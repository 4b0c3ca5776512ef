#!/usr/bin/env python3
"""Makes tests/golden/config_defaults.json: what transformers computes with the golden models where their config.json lacks a key, and
where it is null.

    python3 tools/make_config_golden.py              all
    python3 tools/make_config_golden.py gemma2 t5    these folders anew

Of each config.json and config.v4.json of tests/golden/models: `keys` has for each key [absent, null]; a number is a place in `results`,
which holds seven logits (or numbers of the last state) of the last token, the first place being those of the file as it is; -1: transformers
can't open the model, or can't compute it. Keys that describe neither the network nor its sizes are left out.

Made with transformers 5.24.0 and torch 2.15.0.
"""
import copy
import json
import pathlib
import sys
import warnings

import torch
import transformers
from safetensors.torch import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
NUMBERS = 7
OTHERS = {"architectures", "model_type", "transformers_version", "dtype", "torch_dtype", "use_cache", "id2label", "label2id",
          "problem_type", "return_dict", "output_attentions", "output_hidden_states", "name_or_path", "_name_or_path",
          "chunk_size_feed_forward", "initializer_range", "init_std", "initializer_factor", "task_specific_params",
          "pretraining_tp", "slow_but_exact", "num_labels", "gradient_checkpointing", "auto_map", "tokenizer_class"}
PARTS = ("dropout", "_id", "_ids", "_pdrop", "summary_", "layerdrop", "_drop", "num_beams", "max_length", "_loss", "sparse_pred",
         "router_", "sparse_", "reference_compile", "repad_", "deterministic_")


# transformers 5.24 has dropped BERT's distances, and adds Falcon's ALiBi twice where attention is eager.
OTHERWISE = ("bert-relative-key", "bert-relative-key-query", "falcon-alibi")


def is_about_networks(key):
    return key not in OTHERS and not any(part in key for part in PARTS) or key in ("pad_token_id", "mask_token_id")


def inputs_of(folder):
    stored = load_file(folder / "reference.safetensors")
    case = "case0" if "case0.ids" in stored else "case1"
    given = {"input_ids": stored[f"{case}.ids"].long()}
    if f"{case}.types" in stored:
        given["token_type_ids"] = stored[f"{case}.types"].long()
    if f"{case}.target_ids" in stored:
        given["decoder_input_ids"] = stored[f"{case}.target_ids"].long()
    return given


def numbers_of(config, folder, inputs, dtype):
    """Seven numbers, or None."""
    try:
        kind = getattr(transformers, config["architectures"][0])
        given = kind.config_class.from_dict(copy.deepcopy(config))
        given._attn_implementation = "eager"
        model, about = kind.from_pretrained(folder, config=given, dtype=dtype, attn_implementation="eager",
                                            output_loading_info=True)
        if about["missing_keys"]:
            raise ValueError(f"the file lacks {about['missing_keys']}")  # transformers would draw them at random
        with torch.no_grad():
            result = model.eval()(**inputs)
        numbers = result.logits if "logits" in result else result.last_hidden_state
        return [float(f"{x:.6g}") for x in numbers[0, -1, :NUMBERS].tolist()]
    except Exception as error:  # noqa: BLE001 - whatever it is, transformers doesn't compute the model
        numbers_of.error = f"{type(error).__name__}: {error}"
        return None


def main():
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    target = GOLDEN / "config_defaults.json"
    table = json.loads(target.read_text()) if sys.argv[1:] else {}
    for folder in sorted(GOLDEN.joinpath("models").iterdir()):
        if sys.argv[1:] and folder.name not in sys.argv[1:]:
            continue
        for name in ("config.json", "config.v4.json"):
            path = folder / name
            if folder.name in OTHERWISE or not path.exists() or not (folder / "reference.safetensors").exists():
                continue
            config = json.loads(path.read_text())
            inputs = inputs_of(folder)
            # Grouped products of experts, and XGLM's mask, are of float32 at most.
            for dtype in (torch.float64, torch.float32):
                own = numbers_of(config, folder, inputs, dtype)
                if own is not None:
                    break
            if own is None:
                print(folder.name, name, "is left out:", numbers_of.error[:200], flush=True)
                continue
            results, keys = [own], {}

            def place(changed):
                numbers = numbers_of(changed, folder, inputs, dtype)
                if numbers is None:
                    return -1
                if numbers not in results:
                    results.append(numbers)
                return results.index(numbers)

            kind = getattr(transformers, config["architectures"][0]).config_class
            for key in sorted({*config, *kind().to_dict()}):
                if is_about_networks(key):
                    without = {name: value for name, value in config.items() if name != key}
                    keys[key] = [place(without), place({**config, key: None})]
            table[f"{folder.name}/{name}"] = {"results": results, "keys": keys}
            print(folder.name, name, len(keys), "keys,", len(results), "results", flush=True)
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(table.items())]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
