#!/usr/bin/env python3
"""Writes tests/golden/tokenizers/{xlm-roberta,camembert,mbart,mbart50,pegasus,qwen2-vocab}: folders without a tokenizer.json
whose ids are not those of their files' order, or whose words are cut by a rule that no file names.

    python tools/make_renumbered_golden.py

Needs transformers 4.46.3 with sentencepiece and protobuf: release 5 leaves out mBART's map of characters and doesn't strip
mBART-50's and Pegasus' texts. The fast tokenizers give ids and byte ranges (expected.bin, make_tokenizer_golden.py says how);
the slow ones, which call SentencePiece themselves, are compared with them and the differences counted.
"""

import json
import tempfile

import transformers

from make_tokenizer_golden import ADDED, FEW, ROOT, TEXTS, Text, make_texts, train_sentence_piece, write_expected

# Class, SentencePiece file, options of its training. One has a map of characters: each takes 240 kB.
FAIRSEQ = {"vocab_size": 560, "normalization_rule_name": "identity"}
FOLDERS = {
    "xlm-roberta": ("XLMRobertaTokenizer", "sentencepiece.bpe.model", FAIRSEQ | {"normalization_rule_name": "nmt_nfkc"}, {}),
    "camembert": ("CamembertTokenizer", "sentencepiece.bpe.model", FAIRSEQ, {}),
    "mbart": ("MBartTokenizer", "sentencepiece.bpe.model", FAIRSEQ, {"src_lang": "de_DE"}),
    "mbart50": ("MBart50Tokenizer", "sentencepiece.bpe.model", FAIRSEQ, {}),
    "pegasus": ("PegasusTokenizer", "spiece.model", FAIRSEQ | {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}, {}),
}


def compare_with_slow(name, slow, fast, texts):
    """Texts without special tokens and invalid bytes, which slow tokenizers split by rules of their own."""
    plain = [text for text in texts if "\ufffd" not in text.text and not any(token in text.text for token in ADDED)]
    different = [text for text in plain if slow(text.text).input_ids != fast(text.text).input_ids]
    print(f"{name}: the slow tokenizer has other ids for {len(different)} of {len(plain)} texts")
    for text in different[:3]:
        print("  ", repr(text.text[:60]))


def main():
    texts = [Text(raw) for raw in make_texts(ADDED, TEXTS)][:FEW]
    for name, (cls, file, options, notes) in FOLDERS.items():
        folder = ROOT / name
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            train_sentence_piece(scratch, folder / file, "unigram", **options)
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": cls} | notes) + "\n")
        fast = getattr(transformers, cls + "Fast").from_pretrained(folder)
        compare_with_slow(name, getattr(transformers, cls).from_pretrained(folder), fast, texts)
        write_expected(name, fast._tokenizer, texts)

    folder = ROOT / "qwen2-vocab"
    folder.mkdir(exist_ok=True)
    model = json.loads((ROOT / "qwen2/tokenizer.json").read_text())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False) + "\n")
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(merge + "\n" for merge in merges))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
        "added_tokens_decoder": {str(len(model["vocab"]) + i): {
            "content": token, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}
            for i, token in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])}}) + "\n")
    fast = transformers.Qwen2TokenizerFast.from_pretrained(folder)
    compare_with_slow("qwen2-vocab", transformers.Qwen2Tokenizer.from_pretrained(folder), fast, texts)
    write_expected("qwen2-vocab", fast._tokenizer, texts)


if __name__ == "__main__":
    main()
