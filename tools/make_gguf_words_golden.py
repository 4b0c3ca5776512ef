#!/usr/bin/env python3
"""Writes tests/golden/tokenizers/gguf_words.json: how tokenizers cut texts into words, by tokenizer.ggml.pre of GGUF files.

For each name that llama.cpp's converter gives to a family's tokenizer: the pre-tokenizer of that family's tokenizer.json, as
published, and the words that the package `tokenizers` cuts with it, as lengths in bytes.
"""

import json
import pathlib

from tokenizers import Regex, pre_tokenizers

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/tokenizers/gguf_words.json"
CASED = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
TEXTS = [
    "It's 12345 things, isn't it? I'LL see 7 of 1000000!", "two  spaces\n\n  and\tMORE \r\n lines  ", "naïve café: 漢字かな交じり文 (ok)!",
    "def f(x):\n    return x**2 + 3.14e-5\n", "https://example.org/a_b?q=1&r=%20#top", "Привет, мир… “quotes” — dashes",
    "don't we've you're I'd he'll 'Tis O'Neil's", "a...b!!!c???d ;;; ---===+++", " leading", "trailing ", "\n\n\n", "5'5\" and ½ ² ③ Ⅳ",
    "مرحبا، كيف الحال؟", "emoji 👩‍👩‍👧 ok 🙂🙂", "snake_case camelCase HTML5 x86_64", "1,234.56 1 234 00001111", "", " ", "   x",
]


def split(*patterns):
    parts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence([*parts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
DIGITS = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), GPT2])
LLAMA3 = split(CASED + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL)
QWEN2 = split(CASED + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL)
RULES = {
    "gpt-2": GPT2, "olmo": GPT2, "mpt": GPT2, "phi-2": GPT2, "modern-bert": GPT2,  # Pythia's and GPT-NeoX' too
    "starcoder": DIGITS, "refact": DIGITS, "command-r": DIGITS, "smollm": DIGITS,  # Granite's is refact
    "llama-bpe": LLAMA3, "glm4": LLAMA3, "chatglm-bpe": LLAMA3, "qwen2": QWEN2, "stablelm2": QWEN2,
    "bloom": split(" ?[^(\\s|[.,!?…。，、।۔،])]+"),
    "seed-coder": split(CASED + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+" + TAIL),
}


def main():
    rules = {name: [[len(text[begin:end].encode()) for _, (begin, end) in rule.pre_tokenize_str(text)] for text in TEXTS]
             for name, rule in RULES.items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(words, separators=(',', ':'))}" for name, words in rules.items())
    TARGET.write_text(f'{{"texts": {json.dumps(TEXTS, ensure_ascii=False)},\n"rules": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main()
