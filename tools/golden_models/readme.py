"""Writes the folders' README.md: contents, sizes, and float32's deviation from float64."""

import importlib.metadata
import json
import platform

from safetensors import safe_open

from . import families, gguf_architectures, gguf_experts, gguf_files

PACKAGES = ("transformers", "torch", "safetensors", "tokenizers", "gguf", "numpy")

TOP = """# Small models with reference results

Every folder is a network of one family with random weights, as transformers' `save_pretrained` writes it (`config.json`,
`model.safetensors`), and `reference.safetensors` with what transformers computes from it. Made by
`tools/make_model_golden.py` with
{versions}
(and accelerate, with which transformers reads the GGUF files back). Seeds follow from the folders' names: a second run
with the same versions on the same kind of processor writes the same bytes. All parameters are random, norms and biases
too, and large enough that no term can be left out unseen: a network's maps have between a fifth and 85 % of the greatest
entropy, ln(visible keys), on average; the table's range is over layers and cases.

## The reference

transformers with eager attention, in **float64 from end to end** (also norms, rotary angles and softmaxes, which ask for
float32 by name; no operation made a float32 tensor), the results then rounded to float32. The weights are the ones in the
files.

| tensor | shape | what |
|---|---|---|
| `caseN.ids`, `.mask` | I32 [batch, token] | input; mask 0 where padded |
| `caseN.positions` | I32 [batch, token] | cumsum(mask) − 1, 0 at padding, where they were passed; else the model's own |
| `caseN.types` | I32 [batch, token] | token types, where they were passed; else all 0 |
| `caseN.attentions` | F32 [layer, batch, head, query, key] | weights |
| `caseN.hidden` | F32 [layer + 1, batch, token, d] | `output_hidden_states` as transformers returns it |
| `caseN.logits` | F32 [batch, token, vocabulary] | absent for `bert-base-model`, which has no head |
| `caseN.target_ids`, `.target_mask` | I32 [batch, target] | encoder–decoders: what the decoder reads |
| `caseN.encoder_attentions`, `.decoder_attentions` | as above | encoder–decoders, in place of `attentions` |
| `caseN.cross_attentions` | F32 [layer, batch, head, target, source] | encoder–decoders |
| `caseN.encoder_hidden`, `.decoder_hidden` | as above | encoder–decoders, in place of `hidden` |
| `painted.*` | the same, [1, 10] | gpt2, llama, bert: `painted.visible` I32 [query, key] is the whole mask, causality included |

Case 0: one line of 7 tokens. Case 1: one line of 18, longer than every sliding window (BERT, ALBERT, ELECTRA: token type
1 from token 10 on). Case 2: lines of 8, 5 and 3, padded on the right. Case 3, decoders: the same lines padded on the
left; it agrees with case 2. Those from `ministral` to `gemma3-bidirectional` have cases 1
and 3. Encoder–decoders have targets of other lengths. Rows of padded queries are zero everywhere.
16-bit folders and GGUF files have cases 0 and 2. Inputs were drawn until the eleven largest logits of every token lay at
least 1e-4 of the logits' root mean square apart, so that their order can be compared.

`hidden[0]` is what the first layer reads: after position and type embeddings, after BERT's and BLOOM's embedding norm,
after ELECTRA's, ALBERT's and OPT's projection, after Gemma's and Marian's scale. `hidden[l]` is what layer l leaves – but
the last one is *after the final norm* where the network has one, so no entry holds what the last layer leaves before it.
Post-norm networks have none. `opt-post-norm`: transformers' last state is after `project_out`; it is in `projected`, and
`hidden[2]` is what enters `project_out`.

## Folders

The columns f32 hold the largest difference between float32 and float64 that transformers itself makes on a CPU: of
attention weights as it is, of hidden states and logits divided by their root mean square over the case.

| name | class | kB | entropy | last hidden state | f32 attentions | f32 hidden | f32 logits |
|---|---|---:|---|---|---:|---:|---:|
"""

BOTTOM = """| `llama-sharded` | the model of `llama` in two files | {sharded} | | its reference is `llama/reference.safetensors` | | | |


Together {total:.1f} MB.

- `config.v4.json`: the same configuration as releases before 5 wrote it, and as most folders on the Hub have it
  (`rope_theta`, `rope_scaling`, `rotary_pct`, `tie_word_embeddings: false` of Flan-T5). transformers computes the same
  logits, bit for bit, with either. `nomic_bert`'s has the keys of Nomic's own files, which transformers ignores: its
  defaults are the values that these have.
- `tokenizer.json` in `bert` (WordPiece), `gpt2` (byte-level BPE), `llama` (BPE with ▁), `marian` (Unigram): ASCII only,
  for trying commands with text.
- `flan-t5`: `config.json` says `tie_word_embeddings: true` because release 5 always does; `lm_head.weight` is in the
  file, differs from `shared.weight` and is used, and `scale_decoder_outputs: false` says that logits aren't scaled.
- `marian`: sinusoidal positions are computed, not stored; `final_logits_bias` is.
- `esm`, `esm-absolute`: cases 1 and 2 have masked tokens, whose share rescales a line's vectors.
- `bert-relative-key`, `bert-relative-key-query`: made with release 4.46.3, because release 5 has dropped them.
- `deberta-v3`: distances in logarithmic buckets, normed; `deberta-v2`: one row for each distance, and ends that hold for all
  further ones, content to position alone; `deberta-v2-own-keys`: projections of distances that aren't those of the content.
- `led`: no token has global attention; transformers' band of weights is written as a map.
- `bart-encoder`, `t5-encoder`: a stack saved alone, the one without and the other with the names of the whole model.
- `phi3-longrope`: case 1 is longer than 16 tokens and takes `long_factor`, the others `short_factor`.
- `internlm2`: transformers has no class of its own for it; a LlamaForCausalLM, stored as InternLM's code fuses and names its
  weights.
- `llama-dynamic`, `internlm2`: case 1 is longer than 12 tokens, beyond which the base of RoPE grows.
- `falcon-alibi`: transformers 5.24 adds ALiBi twice with eager attention, which alone gives weights; it was halved, and the
  logits are those of its default attention. Its slopes and products are bfloat16, in float64 too.
- `gguf/olmo2`, `gguf/olmo3`: named by the package's own table; transformers' reader knows neither.
- `gpt_neo`: attention weights of its second, local layer cover five keys.
- `mixtral` … `granitemoe`: the router's logits at its choice, between the last expert that is chosen and the next, differ by at
  least 1e-4 of their root mean square. Each expert is a tensor of its own, but in `qwen3_moe-fused` and `granitemoe`.
- `llama-f16`, `llama-bf16`: the reference belongs to the rounded weights.
- `gguf/`: laid out as llama.cpp's converter does (rows of q and k interleaved for Llama, GPT-2's weights transposed,
  `rope_freqs.weight` for Llama 3's scaling, in `llama-q8_0`); references from the dequantised weights. `llama`: F16, BF16
  and F32, SentencePiece tokens with all bytes; the others have GPT-2's kind of tokenizer. `llama-mixed-k`: Q4_K and Q6_K,
  whose blocks are random because gguf-py can't quantise to them. transformers' own reader of GGUF finds the same weights.
  `mixtral` (as llama), `qwen2moe`, `qwen3moe` and `olmoe`: a layer's experts are one tensor.
  `bert`, `nomic-bert` and those from `bloom` on have the names that gguf gives the tensors of transformers, rows and norms
  rearranged as the converter does (fused projections to [q | k | v], norms with their 1, a head's own norms in one tensor),
  and no tokenizer.
"""


def small(value):
    return f"{value:.0e}".replace("e-0", "e-")


def row(name, what, size, path):
    with safe_open(path, "pt") as file:
        numbers = json.loads(file.metadata()["numbers"])
    low, high, _ = numbers["entropy"]
    logits = small(numbers["logits"]) if numbers["logits"] else "–"
    assert not numbers["float32_operations"], name
    return (f"| `{name}` | {what} | {size / 1000:.0f} | {low:.2f}–{high:.2f} | {numbers['last_hidden']} | "
            f"{small(numbers['attentions'])} | {small(numbers['hidden'])} | {logits} |\n")


def bytes_of(paths):
    return sum(path.stat().st_size for path in paths)


def write(target):
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    text = TOP.format(versions=f"Python {platform.python_version()}, {versions}")
    models = {name: plan["class"] + (f" of release {plan['release']}" if "release" in plan else "")
              for name, plan in families.FAMILIES.items()}
    models |= {"llama-f16": "LlamaForCausalLM in F16", "llama-bf16": "LlamaForCausalLM in BF16"}
    for name, what in models.items():
        text += row(name, what, bytes_of((target / name).iterdir()), target / name / "reference.safetensors")
    files = {name: plan["row"] for name, plan in (gguf_files.FILES | gguf_experts.FILES | gguf_files.ENCODERS).items()}
    files |= {name: plan[1] for name, plan in gguf_architectures.FILES.items()}
    for name, plan in files.items():
        path = target / "gguf" / f"{name}.reference.safetensors"
        text += row(f"gguf/{name}.gguf", plan["class"], bytes_of((target / "gguf").glob(f"{name}.*")), path)
    total = bytes_of(path for path in target.rglob("*") if path.is_file() and path.name != "README.md")
    text += BOTTOM.format(sharded=f"{bytes_of((target / 'llama-sharded').iterdir()) / 1000:.0f}", total=total / 1e6)
    (target / "README.md").write_text(text, encoding="utf-8")
