#!/usr/bin/env python3
"""Writes tests/golden/tokenizers: small tokenizers of every kind, and what the packages `tokenizers` and `transformers` make
of some thousand texts with them.

    python tools/make_tokenizer_golden.py GPT2_FOLDER MINILM_FOLDER [LLAMA2_FOLDER]

GPT2_FOLDER holds vocab.json and merges.txt of GPT-2, MINILM_FOLDER the tokenizer of all-MiniLM-L6-v2, LLAMA2_FOLDER Llama 2's
tokenizer.model, whose licence keeps it out of the repository: only what it gives is stored.
Needs tokenizers, transformers, sentencepiece and protobuf; the versions used are written to versions.json.

texts.bin: each text as a varint of its length and its bytes. <tokenizer>/expected.bin, all numbers varints:
  texts used, size of the vocabulary, four 16-bit parts of FNV-1a over "<id> <token string>\\n" of every token, then for each text
    its tokens with special ones: count, then id, begin (zigzag, from the end of the last), length;
    text i % 4 == 0: 1 when decoding without special tokens gives the text back, else 0, length, bytes
    text i % 8 == 0: its ids without special tokens: count, ids
    text i % 8 == 1: the pair with the next text: count, then id, begin, length as above, token type
"""

import json
import pathlib
import shutil
import sys
import tempfile

import sentencepiece
import tokenizers
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tokenizer_golden_texts import SENTENCES, SNIPPETS, EMOJI, make_texts

TEXTS = 2048
SOME = 900  # of the texts, for folders whose kinds are compared on all of them elsewhere
FEW = 450  # of the texts, for tokenizers of single stages, whose tokens are bytes
ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/tokenizers"

ADDED = ["<|endoftext|>", "<s>", "</s>", "<unk>", "<pad>", "<mask>", "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]",
         "<|begin_of_text|>", "<|eot_id|>", "<|im_start|>", "<|im_end|>", "<extra_id_0>", "<extra_id_99>", "<bos>", "<eos>",
         "<start_of_turn>", "<0x0A>", "NormalizedTOKEN", "Größe", "word", "    "]


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return varint(value * 2 if value >= 0 else -value * 2 - 1)


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


class Text:
    """A text as Python sees it, and where its characters are in the bytes."""

    def __init__(self, raw):
        self.raw = raw
        self.text = raw.decode("utf-8", errors="replace")
        self.starts = []
        at = 0
        # Decoding one character at a time finds how many bytes stand behind each.
        while at < len(raw):
            for length in range(min(4, len(raw) - at), 0, -1):
                part = raw[at:at + length].decode("utf-8", errors="replace")
                if len(part) == 1:
                    break
            self.starts.append(at)
            at += length
        self.starts.append(len(raw))
        assert len(self.starts) == len(self.text) + 1, raw

    def byte_range(self, offsets):
        begin, end = offsets
        return self.starts[begin], self.starts[end]


def put_tokens(encoding, texts):
    out = varint(len(encoding.ids))
    last = 0
    for id, offsets, sequence in zip(encoding.ids, encoding.offsets, encoding.sequence_ids):
        begin, end = (0, 0) if sequence is None else texts[sequence].byte_range(offsets)
        out += varint(id) + zigzag(begin - last) + varint(end - begin)
        last = end
    return out


def write_expected(name, tokenizer, texts):
    tokenizer.no_padding()
    tokenizer.no_truncation()
    size = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    token_strings = b"".join(f"{i} {tokenizer.id_to_token(i)}\n".encode() for i in range(size) if tokenizer.id_to_token(i) is not None)
    # id_to_token() returns added tokens normalized; the vocabulary has them as written.
    for id, token in tokenizer.get_added_tokens_decoder().items():
        token_strings = token_strings.replace(f"{id} {tokenizer.id_to_token(id)}\n".encode(), f"{id} {token.content}\n".encode(), 1)
    check = fnv1a(token_strings)
    out = varint(len(texts)) + varint(size) + b"".join(varint(check >> shift & 0xFFFF) for shift in (0, 16, 32, 48))
    for i, text in enumerate(texts):
        encoding = tokenizer.encode(text.text)
        out += put_tokens(encoding, [text])
        if i % 4 == 0:
            decoded = tokenizer.decode(encoding.ids, skip_special_tokens=True)
            out += varint(1) if decoded.encode() == text.raw else varint(0) + varint(len(decoded.encode())) + decoded.encode()
        if i % 8 == 0:
            ids = tokenizer.encode(text.text, add_special_tokens=False).ids
            out += varint(len(ids)) + b"".join(varint(id) for id in ids)
        if i % 8 == 1:
            second = texts[(i + 1) % len(texts)]
            pair = tokenizer.encode(text.text, second.text)
            # The offsets of RoBERTa's and BERT's special tokens are (0, 0) like those of every template.
            put = varint(len(pair.ids))
            last = 0
            for id, offsets, sequence, kind in zip(pair.ids, pair.offsets, pair.sequence_ids, pair.type_ids):
                begin, end = (0, 0) if sequence is None else [text, second][sequence].byte_range(offsets)
                put += varint(id) + zigzag(begin - last) + varint(end - begin) + varint(kind)
                last = end
            out += put
    (ROOT / name).mkdir(parents=True, exist_ok=True)
    (ROOT / name / "expected.bin").write_bytes(out)
    print(f"{name}: {len(texts)} texts, {size} tokens, {len(out)} bytes")


def save(name, make, texts):
    """Trains only missing tokenizers: trainers break ties in another order each time. Delete a folder to train it again."""
    file = ROOT / name / "tokenizer.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(make().to_str(pretty=False) + "\n")
    write_expected(name, Tokenizer.from_file(str(file)), texts)


def corpus():
    return SENTENCES * 3 + SNIPPETS * 2 + EMOJI


LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def llama3():
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    # A word that no merges produce: ignore_merges finds it whole.
    data = json.loads(tokenizer.to_str())
    data["model"]["vocab"]["Ġnobody"] = data["model"]["vocab"].get("Ġnobody", len(data["model"]["vocab"]))
    data["model"]["vocab"]["attention"] = data["model"]["vocab"].get("attention", len(data["model"]["vocab"]))
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|eot_id|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                      special_tokens=[("<|begin_of_text|>", begin)])])
    return tokenizer


def qwen2():
    tokenizer = Tokenizer(models.BPE(continuing_subword_prefix="", end_of_word_suffix=""))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=800, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("NormalizedTOKEN", single_word=True), AddedToken("word", single_word=True, normalized=False)])
    return tokenizer


def roberta():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("[MASK]", rstrip=True)])
    tokenizer.add_tokens(["    ", AddedToken("Größe", lstrip=True, rstrip=True)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return tokenizer


def gemma():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1100, special_tokens=specials, limit_alphabet=150, max_token_length=8, show_progress=False))
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if t["id"] < 4]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.add_special_tokens(["<start_of_turn>"])
    tokenizer.add_tokens([AddedToken("    ", normalized=False), AddedToken("\n\n", normalized=False)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B:1", special_tokens=[("<bos>", 2)])
    return tokenizer


def word_bpe():
    """The BPE of OpenAI's first GPT and of CLIP: suffixes end words, unknown characters are fused."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True)])
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>", "<pad>"], end_of_word_suffix="</w>", limit_alphabet=80, show_progress=False))
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    return tokenizer


def prefix_bpe():
    """BPE with a prefix like WordPiece's, unknown characters one by one."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", fuse_unk=False))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(individual_digits=True)])
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=600, special_tokens=["[UNK]"], continuing_subword_prefix="##", limit_alphabet=80, show_progress=False))
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    return tokenizer


def cased_word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=30))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=None, handle_chinese_chars=True, clean_text=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=900, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=200, show_progress=False))
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def word_level():
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False)])
    tokenizer.train_from_iterator(corpus(), trainers.WordLevelTrainer(vocab_size=300, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    tokenizer.add_tokens([AddedToken("Größe", normalized=True), AddedToken("NormalizedTOKEN", normalized=True, single_word=True)])
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $0 [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tokenizer


def train_sentence_piece(folder, file, kind, **options):
    if file.exists():
        return
    lines = pathlib.Path(folder) / "corpus.txt"
    lines.write_text("\n".join(line for text in corpus() for line in text.split("\n") if line.strip()) + "\n")
    sentencepiece.SentencePieceTrainer.train(input=str(lines), model_prefix=str(pathlib.Path(folder) / "m"), model_type=kind,
                                             character_coverage=0.98, minloglevel=2, num_threads=1,
                                             hard_vocab_limit=False, **options)
    shutil.copy(pathlib.Path(folder) / "m.model", file)


def charsmap(model):
    from transformers.convert_slow_tokenizer import import_protobuf
    proto = import_protobuf().ModelProto()
    proto.ParseFromString(pathlib.Path(model).read_bytes())
    return proto


def unigram(folder):
    """The conversion of ALBERT's and XLM-RoBERTa's models: a precompiled map of characters, word marks."""
    file = pathlib.Path(folder) / "unigram.model"
    train_sentence_piece(folder, file, "unigram", vocab_size=700, normalization_rule_name="nmt_nfkc_cf", unk_id=1, bos_id=2, eos_id=3, pad_id=0)
    proto = charsmap(file)
    tokenizer = Tokenizer(models.Unigram([(p.piece, p.score) for p in proto.pieces], unk_id=1))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
        normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always", split=True)
    tokenizer.add_special_tokens([AddedToken("<pad>", normalized=False), "<unk>", AddedToken("[MASK]", lstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", 3)])
    return tokenizer


def unigram_bytes(folder):
    """Unigram that falls back to bytes, with word marks at the first word only."""
    file = pathlib.Path(folder) / "bytes.model"
    train_sentence_piece(folder, file, "unigram", vocab_size=900, byte_fallback=True, normalization_rule_name="identity")
    proto = charsmap(file)
    tokenizer = Tokenizer(models.Unigram([(p.piece, p.score) for p in proto.pieces], unk_id=0, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip(left=False, right=True)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    tokenizer.add_special_tokens([AddedToken("</s>", normalized=False)])
    return tokenizer


def bytes_model():
    """Every byte is a token: the ids show the output of the other stages."""
    vocabulary = {f"<0x{b:02X}>": b for b in range(256)} | {"<unk>": 256}
    return models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True)


def stages():
    """Tokenizers that test normalizers and pre-tokenizers."""
    n, p = normalizers, pre_tokenizers
    charsmap_free = {
        "stages-1": (n.Sequence([n.Nmt(), n.NFKC()]), p.Sequence([p.Punctuation("merged_with_previous"), p.Digits(True)])),
        "stages-2": (n.Sequence([n.Strip(), n.NFKD(), n.StripAccents()]), p.Sequence([p.CharDelimiterSplit("e"), p.Punctuation("contiguous")])),
        "stages-3": (n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁"), n.NFD()]), p.Split("▁", "merged_with_next")),
        "stages-4": (n.BertNormalizer(strip_accents=True, lowercase=False, handle_chinese_chars=False), p.Split(Regex(r"\w+|[^\w\s]"), "contiguous", invert=True)),
        "stages-5": (n.ByteLevel(), p.FixedLength(7)),
        "stages-6": (n.Sequence([n.Lowercase(), n.Replace(Regex(r"(?m)^\s+|[[:digit:]]{2,3}+|\h{4}"), "¤¤"), n.NFC()]),
                     p.Sequence([p.Split(Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+"), "isolated"), p.Metaspace(prepend_scheme="never", split=False)])),
        "stages-8": (None, p.UnicodeScripts()),
        "stages-7": (None, p.Sequence([p.Punctuation("merged_with_next"), p.Split(Regex(r"[^\S\r\n]+|\b"), "merged_with_previous")])),
    }
    for name, (normalizer, pre_tokenizer) in charsmap_free.items():
        tokenizer = Tokenizer(bytes_model())
        if normalizer is not None:
            tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
        tokenizer.add_special_tokens(["<s>", AddedToken("[MASK]", lstrip=True, rstrip=True)])
        tokenizer.add_tokens([AddedToken("Größe"), AddedToken("word", single_word=True)])
        yield name, tokenizer


def main():
    gpt2_folder, minilm_folder, *rest = map(pathlib.Path, sys.argv[1:])
    ROOT.mkdir(parents=True, exist_ok=True)
    raw = make_texts(ADDED, TEXTS)
    (ROOT / "texts.bin").write_bytes(b"".join(varint(len(text)) + text for text in raw))
    texts = [Text(text) for text in raw]

    (ROOT / "gpt2").mkdir(exist_ok=True)
    for file in ("vocab.json", "merges.txt"):
        shutil.copyfile(gpt2_folder / file, ROOT / "gpt2" / file)
    write_expected("gpt2", transformers.GPT2TokenizerFast.from_pretrained(gpt2_folder)._tokenizer, texts)
    (ROOT / "minilm").mkdir(exist_ok=True)
    shutil.copyfile(minilm_folder / "tokenizer.json", ROOT / "minilm/tokenizer.json")
    minilm = Tokenizer.from_file(str(minilm_folder / "tokenizer.json"))
    write_expected("minilm", minilm, texts)

    for name, make in {"llama3": llama3, "qwen2": qwen2, "roberta": roberta, "gemma": gemma, "word-bpe": word_bpe, "prefix-bpe": prefix_bpe,
                       "cased-word-piece": cased_word_piece, "word-level": word_level}.items():
        save(name, make, texts)
    with tempfile.TemporaryDirectory() as folder:
        save("unigram", lambda: unigram(folder), texts)
        save("unigram-bytes", lambda: unigram_bytes(folder), texts)
        write_folders(folder, texts)
    for name, tokenizer in stages():
        save(name, lambda: tokenizer, texts[:FEW])
    if rest:
        write_expected("llama2", llama(rest[0] / "tokenizer.model"), texts)
    (ROOT / "versions.json").write_text(json.dumps({"tokenizers": tokenizers.__version__, "transformers": transformers.__version__,
                                                    "sentencepiece": sentencepiece.__version__}, indent=2) + "\n")


def llama(file):
    """The pipeline of Llama 2's tokenizer.json, with merges from the order of the pieces."""
    from transformers.tokenization_utils_base import generate_merges
    proto = charsmap(file)
    vocabulary = {piece.piece: i for i, piece in enumerate(proto.pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, generate_merges(vocabulary), unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_tokens([AddedToken(p.piece, normalized=False, special=p.type == 3) for p in proto.pieces if p.type in (3, 4)])
    tokenizer.add_special_tokens([AddedToken("<unk>", normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", vocabulary["<s>"])])
    return tokenizer


def write_folders(scratch, texts):
    """Folders without a tokenizer.json, as `transformers` reads them."""
    bert = ROOT / "bert-vocab"
    bert.mkdir(exist_ok=True)
    piece = json.loads((ROOT / "cased-word-piece/tokenizer.json").read_text())["model"]["vocab"]
    (bert / "vocab.txt").write_text("".join(token + "\n" for token in sorted(piece, key=piece.get)))
    (bert / "tokenizer_config.json").write_text('{"do_lower_case": false, "tokenizer_class": "BertTokenizer"}\n')
    write_expected("bert-vocab", transformers.BertTokenizerFast.from_pretrained(bert)._tokenizer, texts[:SOME])

    roberta_folder = ROOT / "roberta-vocab"
    roberta_folder.mkdir(exist_ok=True)
    model = json.loads((ROOT / "roberta/tokenizer.json").read_text())["model"]
    vocabulary = model["vocab"] | {"<mask>": len(model["vocab"])}
    (roberta_folder / "vocab.json").write_text(json.dumps(vocabulary) + "\n")
    (roberta_folder / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in model["merges"]))
    (roberta_folder / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}\n')
    # Its expected.bin comes from make_family_tokenizer_golden.py.

    llama_folder = ROOT / "llama"
    llama_folder.mkdir(exist_ok=True)
    train_sentence_piece(scratch, llama_folder / "tokenizer.model", "bpe", vocab_size=900, byte_fallback=True, normalization_rule_name="identity",
                         remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True, user_defined_symbols=["    "])
    write_expected("llama", llama(llama_folder / "tokenizer.model"), texts)

    newer = ROOT / "llama-newer"
    newer.mkdir(exist_ok=True)
    shutil.copyfile(llama_folder / "tokenizer.model", newer / "tokenizer.model")
    (newer / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer", "legacy": false, "add_bos_token": true, "add_eos_token": true}\n')
    write_expected("llama-newer", transformers.LlamaTokenizerFast.from_pretrained(newer)._tokenizer, texts[:SOME])

    albert = ROOT / "albert"
    albert.mkdir(exist_ok=True)
    train_sentence_piece(scratch, albert / "spiece.model", "unigram", vocab_size=600, normalization_rule_name="identity", pad_id=0, unk_id=1,
                         bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]"], user_defined_symbols=["[MASK]"])
    (albert / "tokenizer_config.json").write_text('{"tokenizer_class": "AlbertTokenizer"}\n')
    write_expected("albert", transformers.AlbertTokenizerFast.from_pretrained(albert)._tokenizer, texts[:SOME])

    gemma_folder = ROOT / "gemma-model"
    gemma_folder.mkdir(exist_ok=True)
    train_sentence_piece(scratch, gemma_folder / "tokenizer.model", "bpe", vocab_size=900, byte_fallback=True, normalization_rule_name="identity",
                         remove_extra_whitespaces=False, add_dummy_prefix=False, split_digits=True, allow_whitespace_only_pieces=True,
                         pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
                         user_defined_symbols=["<mask>", "<start_of_turn>", "    "])
    # "<|im_end|>" isn't in the model: it is noted with the next free id.
    (gemma_folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "bos_token": "<bos>", "eos_token": "<eos>",
        "added_tokens_decoder": {"900": {"content": "<|im_end|>", "lstrip": False, "rstrip": False, "normalized": False,
                                         "single_word": False, "special": True}}}) + "\n")
    write_expected("gemma-model", transformers.GemmaTokenizerFast.from_pretrained(gemma_folder)._tokenizer, texts[:SOME])

    marian = ROOT / "marian"
    marian.mkdir(exist_ok=True)
    vocabulary = {"</s>": 0, "<unk>": 1, ">>de<<": 2}
    for side, size in (("source", 750), ("target", 620)):
        train_sentence_piece(scratch, marian / f"{side}.spm", "unigram", vocab_size=size, normalization_rule_name="identity")
        for piece in charsmap(marian / f"{side}.spm").pieces[3 if side == "source" else 60:]:  # some of the target's are unknown
            vocabulary.setdefault(piece.piece, len(vocabulary))
    vocabulary["<pad>"] = len(vocabulary)
    (marian / "vocab.json").write_text(json.dumps(vocabulary) + "\n")
    (marian / "tokenizer_config.json").write_text('{"tokenizer_class": "MarianTokenizer"}\n')
    tokenizer = transformers.MarianTokenizer.from_pretrained(marian)
    # It isn't a fast tokenizer: it has ids, but no offsets.
    lines = [text.text for text in texts[:1200] if not any(token in text.text for token in ADDED)]
    lines += [">>de<< " + line for line in SENTENCES]
    (marian / "expected.json").write_text(json.dumps({
        "texts": lines, "source": [tokenizer(line).input_ids for line in lines],
        "target": [tokenizer(text_target=line).input_ids for line in lines],
        "decoded": [tokenizer.decode(tokenizer(line).input_ids, skip_special_tokens=True) for line in SENTENCES]}) + "\n")

    t5 = ROOT / "t5"
    t5.mkdir(exist_ok=True)
    train_sentence_piece(scratch, t5 / "spiece.model", "unigram", vocab_size=700, normalization_rule_name="nmt_nfkc", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (t5 / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer"}\n')
    write_expected("t5", transformers.T5TokenizerFast.from_pretrained(t5)._tokenizer, texts)


if __name__ == "__main__":
    main()
