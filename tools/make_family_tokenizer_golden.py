#!/usr/bin/env python3
"""Writes tests/golden/tokenizers/{roberta-vocab,gpt-neox,codegen,deberta,blenderbot,openai-gpt,mpnet,deberta-v2,xglm,nllb,llama3-tiktoken,
qwen-tiktoken,tekken,esm,byt5,m2m100}: folders without a tokenizer.json, small, as those families' checkpoints have them.

    python tools/make_family_tokenizer_golden.py

Needs transformers 4.46.3 with sentencepiece, protobuf and tiktoken (see make_renumbered_golden.py for why that release). The fast
tokenizers give ids and byte ranges (expected.bin, make_tokenizer_golden.py says how). ESM, ByT5 and M2M-100 have only slow ones,
which know no byte ranges: ids.json holds numbers of texts in texts.bin and their ids. tiktoken itself gives the ids of its files, and
`tokenizers` the byte ranges.
"""

import base64
import json
import tempfile

import tiktoken
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from make_tokenizer_golden import ADDED, FEW, LLAMA3, QWEN2, ROOT, SENTENCES, SOME, TEXTS, Text, make_texts, train_sentence_piece, write_expected

TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def folder_of(name, notes):
    folder = ROOT / name
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer_config.json").write_text(json.dumps(notes) + "\n")
    return folder


def model_of(name):
    return json.loads((ROOT / name / "tokenizer.json").read_text())["model"]


def write_merges(name, notes, model, tokens=()):
    """vocab.json and merges.txt of another tokenizer's model, with tokens before."""
    folder = folder_of(name, notes)
    vocabulary = {token: i for i, token in enumerate(tokens)}
    for token in model["vocab"]:
        vocabulary.setdefault(token, len(vocabulary))
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False) + "\n")
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(merge + "\n" for merge in merges))
    return folder


def write_fast(cls, name, texts):
    write_expected(name, getattr(transformers, cls).from_pretrained(ROOT / name)._tokenizer, texts)


def write_ids(name, tokenizer, texts, skip=lambda text: False):
    chosen = [i for i, text in enumerate(texts) if "\ufffd" not in text.text and not skip(text.text)]
    ids = [tokenizer(texts[i].text).input_ids for i in chosen]
    special = set(tokenizer.all_special_ids)  # M2M-100's leave out the languages
    special |= set(getattr(tokenizer, "id_to_lang_token", {}))
    decoded = [tokenizer.decode([i for i in tokenizer(text).input_ids if i not in special], skip_special_tokens=True, clean_up_tokenization_spaces=False) for text in SENTENCES]
    (ROOT / name / "ids.json").write_text(json.dumps({"texts": chosen, "ids": ids, "sentences": SENTENCES, "decoded": decoded}) + "\n")
    print(f"{name}: {len(chosen)} texts")


def write_merges_families(texts, more):
    write_fast("RobertaTokenizerFast", "roberta-vocab", more)  # release 5 forgets that <mask> includes the space before it
    roberta, gpt2, word = model_of("roberta"), model_of("qwen2"), model_of("word-bpe")
    write_merges("gpt-neox", {"tokenizer_class": "GPTNeoXTokenizer"}, gpt2, ["<|endoftext|>", "<|padding|>"])
    # transformers reads GPT-NeoX's folders only with a tokenizer.json: GPT-2's, after composing.
    neox = transformers.GPT2TokenizerFast.from_pretrained(ROOT / "gpt-neox")._tokenizer
    neox.normalizer = normalizers.NFC()
    write_expected("gpt-neox", neox, texts)
    codegen = write_merges("codegen", {"tokenizer_class": "CodeGenTokenizer", "unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>",
                                       "eos_token": "<|endoftext|>"}, gpt2, ["<|endoftext|>"])
    size = len(json.loads((codegen / "vocab.json").read_text()))
    spaces = {" " * count: size + i for i, count in enumerate(range(31, 1, -1))} | {"\t" * 2: size + 30}
    (codegen / "added_tokens.json").write_text(json.dumps(spaces) + "\n")
    write_fast("CodeGenTokenizerFast", "codegen", texts)
    write_merges("deberta", {"tokenizer_class": "DebertaTokenizer"}, gpt2, ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
    write_fast("DebertaTokenizerFast", "deberta", texts)
    write_merges("blenderbot", {"tokenizer_class": "BlenderbotTokenizer", "add_prefix_space": True}, roberta, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    write_fast("BlenderbotTokenizerFast", "blenderbot", texts)
    write_merges("openai-gpt", {"tokenizer_class": "OpenAIGPTTokenizer", "unk_token": "<unk>"}, word)
    write_fast("OpenAIGPTTokenizerFast", "openai-gpt", texts)


def write_word_lists(texts):
    pieces = [token for token in model_of("cased-word-piece")["vocab"] if not token.startswith("[")]
    mpnet = folder_of("mpnet", {"tokenizer_class": "MPNetTokenizer", "do_lower_case": True})
    tokens = ["<s>", "<pad>", "</s>", "<unk>"] + pieces[:400] + ["[UNK]"] + pieces[400:] + ["<mask>"]
    (mpnet / "vocab.txt").write_text("".join(token + "\n" for token in tokens))
    tokenizer = transformers.MPNetTokenizerFast.from_pretrained(mpnet)._tokenizer
    # As in the tokenizer.json of its checkpoints and in transformers 5.
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    write_expected("mpnet", tokenizer, texts)
    esm = folder_of("esm", {"tokenizer_class": "EsmTokenizer"})
    (esm / "vocab.txt").write_text("\n".join(["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]))
    write_ids("esm", transformers.EsmTokenizer.from_pretrained(esm), texts)


def write_sentence_pieces(texts):
    with tempfile.TemporaryDirectory() as scratch:
        deberta = folder_of("deberta-v2", {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": False})
        train_sentence_piece(scratch, deberta / "spm.model", "unigram", vocab_size=560, normalization_rule_name="identity", pad_id=0,
                             bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")
        (deberta / "added_tokens.json").write_text('{"[MASK]": %d}\n' % transformers.DebertaV2Tokenizer.from_pretrained(deberta).vocab_size)
        write_fast("DebertaV2TokenizerFast", "deberta-v2", texts)
        xglm = folder_of("xglm", {"tokenizer_class": "XGLMTokenizer"})
        train_sentence_piece(scratch, xglm / "sentencepiece.bpe.model", "unigram", vocab_size=560, normalization_rule_name="identity")
        write_fast("XGLMTokenizerFast", "xglm", texts)
        # The languages follow the pieces and the mask follows them, as in NLLB-200.
        after = ["ace_Arab", "deu_Latn", "eng_Latn", "zul_Latn", "<mask>"]
        added = {str(621 + i): {"content": token, "lstrip": token == "<mask>", "normalized": token == "<mask>", "rstrip": False,
                                "single_word": False, "special": True} for i, token in enumerate(after)}
        nllb = folder_of("nllb", {"tokenizer_class": "NllbTokenizer", "src_lang": "deu_Latn", "additional_special_tokens": after[:4],
                                  "added_tokens_decoder": added})
        train_sentence_piece(scratch, nllb / "sentencepiece.bpe.model", "bpe", vocab_size=620, normalization_rule_name="identity")
        write_fast("NllbTokenizerFast", "nllb", texts)
        m2m = folder_of("m2m100", {"tokenizer_class": "M2M100Tokenizer", "src_lang": "fr"})
        train_sentence_piece(scratch, m2m / "sentencepiece.bpe.model", "bpe", vocab_size=620, normalization_rule_name="identity")
        vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        processor = transformers.XGLMTokenizer(str(m2m / "sentencepiece.bpe.model")).sp_model
        for i in range(3, processor.get_piece_size() - 20):  # some pieces are unknown
            vocabulary.setdefault(processor.id_to_piece(i), len(vocabulary))
        (m2m / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False) + "\n")
        write_ids("m2m100", transformers.M2M100Tokenizer.from_pretrained(m2m), texts)


def ranks():
    """Byte strings by rank: the bytes, then what merges of a byte-level tokenizer make."""
    bytes_of = {letter: byte for byte, letter in transformers.models.gpt2.tokenization_gpt2.bytes_to_unicode().items()}
    vocabulary = model_of("llama3")["vocab"]
    tokens = [bytes(bytes_of[letter] for letter in token) for token in sorted(vocabulary, key=vocabulary.get)]
    return {token: rank for rank, token in enumerate(dict.fromkeys([bytes([b]) for b in range(256)] + tokens))}


def check_tiktoken(name, tokenizer, pattern, mergeable, special, texts, first=0):
    """Counts texts for which tiktoken's own merging differs; only its ids are right by definition."""
    own = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=mergeable, special_tokens=special)
    different = 0
    for text in texts:
        if tokenizer.normalizer is not None:
            continue
        ids = [i if i in special.values() else i + first for i in own.encode(text.text, allowed_special="all")]
        different += ids != tokenizer.encode(text.text, add_special_tokens=False).ids
    print(f"{name}: tokenizers differs from tiktoken for {different} texts")
    assert different == 0


def letters(token):
    return "".join(transformers.models.gpt2.tokenization_gpt2.bytes_to_unicode()[byte] for byte in token)


def byte_tokenizer(mergeable, pattern, first, special):
    """The same vocabulary for `tokenizers`, with merges as transformers makes them of tiktoken's files."""
    merges = []
    for token, rank in mergeable.items():
        splits = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in mergeable and token[i:] in mergeable]
        merges += [(rank, mergeable[left], mergeable[right], left, right) for left, right in splits]
    vocabulary = {token: i for token, i in special.items()} | {letters(token): rank + first for token, rank in mergeable.items()}
    tokenizer = Tokenizer(models.BPE(vocabulary, [(letters(left), letters(right)) for *_, left, right in sorted(merges)], ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


def write_tiktoken(texts):
    mergeable = ranks()
    lines = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in mergeable.items())
    size = len(mergeable)
    llama = ROOT / "llama3-tiktoken"
    llama.mkdir(exist_ok=True)
    (llama / "tokenizer.model").write_text(lines)
    (llama / "config.json").write_text('{"model_type": "llama"}\n')
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>",
             "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"]
    names += [f"<|reserved_special_token_{i}|>" for i in range(2, 2 + 256 - len(names))]
    special = {name: size + i for i, name in enumerate(names)}
    tokenizer = byte_tokenizer(mergeable, LLAMA3, 0, special)
    check_tiktoken("llama3", tokenizer, LLAMA3, mergeable, special, texts)
    begin = special["<|begin_of_text|>"]
    tokenizer.post_processor = processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                                             special_tokens=[("<|begin_of_text|>", begin)])
    write_expected("llama3-tiktoken", tokenizer, texts)

    qwen = folder_of("qwen-tiktoken", {"tokenizer_class": "QWenTokenizer"})
    (qwen / "qwen.tiktoken").write_text(lines)
    special = {name: size + i for i, name in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + [f"<|extra_{i}|>" for i in range(205)])}
    tokenizer = byte_tokenizer(mergeable, QWEN2, 0, special)
    check_tiktoken("qwen", tokenizer, QWEN2, mergeable, special, texts)
    tokenizer.normalizer = normalizers.NFC()
    write_expected("qwen-tiktoken", tokenizer, texts)

    tekken = ROOT / "tekken"
    tekken.mkdir(exist_ok=True)
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "<pad>"]
    vocabulary = [{"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None} for token, rank in mergeable.items()]
    (tekken / "tekken.json").write_text(json.dumps({
        "config": {"pattern": TEKKEN, "num_vocab_tokens": size, "default_vocab_size": size, "default_num_special_tokens": 20, "version": "v7"},
        "special_tokens": [{"rank": i, "token_str": name, "is_control": True} for i, name in enumerate(names)],
        "vocab": vocabulary}) + "\n")
    special = {name: i for i, name in enumerate(names + [f"<SPECIAL_{i}>" for i in range(len(names), 20)])}
    used = dict(list(mergeable.items())[:size - 20])  # the size counts the special tokens
    tokenizer = byte_tokenizer(used, TEKKEN, 20, special)
    check_tiktoken("tekken", tokenizer, TEKKEN, used, {name: size + i for name, i in special.items()},
                   [text for text in texts if not any(name in text.text for name in names)], 20)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    write_expected("tekken", tokenizer, texts)


def main():
    more = [Text(raw) for raw in make_texts(ADDED, TEXTS)][:SOME]
    texts = more[:FEW]
    write_merges_families(texts, more)
    write_word_lists(texts)
    write_sentence_pieces(texts)
    write_tiktoken(texts)
    byt5 = folder_of("byt5", {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 125})
    # The slow tokenizer leaves out a second end where a text ends in one.
    write_ids("byt5", transformers.ByT5Tokenizer.from_pretrained(byt5), texts, lambda text: text.rstrip().endswith("</s>"))


if __name__ == "__main__":
    main()
