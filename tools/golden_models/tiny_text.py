"""Tokenizers whose vocabulary fits the tiny models: ASCII, a few merges. For trying commands with text, not for comparisons."""

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

CORPUS = ["The cat sat on the mat.",
          "The cat and the other cat sat there, and then they ate.", "That is the end of the line.",
          "An ant is on the hat that the man had in his hand.", "He said: the rain in the street is heavy in the end."] * 3
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PRINTABLE = [chr(code) for code in range(33, 127)]


def byte_level(size):
    """As GPT-2: bytes as letters, merges, no unknown token. Bytes outside ASCII have no token here and are dropped."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    end = "<|endoftext|>"
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=size, special_tokens=[end], initial_alphabet=[*PRINTABLE, "Ġ", "Ċ"], show_progress=False))
    return tokenizer, {"bos_token": end, "eos_token": end, "pad_token": end}


def word_piece(size):
    """As BERT, uncased."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = ["the", "cat", "sat", "on", "mat", "and", "is", "of", "in"]
    pieces = [*special, *".,:!?'-", *LETTERS, *words, *("##" + letter for letter in LETTERS),
              *("##" + piece for piece in ("at", "er", "ing", "ed", "th", "en", "in", "an", "on", "es", "re"))]
    assert len(pieces) <= size, len(pieces)
    pieces += [f"[unused{index}]" for index in range(size - len(pieces))]
    tokenizer = Tokenizer(models.WordPiece({piece: index for index, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.add_special_tokens(special)
    return tokenizer, {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
                       "mask_token": "[MASK]"}


def metaspace(size):
    """As Llama 2, but with <unk> instead of bytes: ▁ for spaces, merges, <s> in front."""
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    # Training splits into words, so that no merge crosses a space; the finished tokenizer doesn't need to.
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=[*PRINTABLE, "▁"], show_progress=False))
    tokenizer.pre_tokenizer = None
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def unigram(size):
    """As Marian's SentencePiece models: </s> at the end, <pad> the last id."""
    words = ["▁the", "▁cat", "▁sat", "▁on", "▁and", "at", "er", "in", "▁t", "an", "▁is"]
    pieces = [("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0)]
    pieces += [(word, -4.0 - 0.125 * index) for index, word in enumerate(words)]
    pieces += [(letter, -6.0 - 0.0625 * index) for index, letter in enumerate(LETTERS + LETTERS.upper() + ".,:!?'")]
    assert len(pieces) < size, len(pieces)
    pieces += [(f"<unused{index}>", -40.0) for index in range(size - len(pieces) - 1)]
    pieces.append(("<pad>", 0.0))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A $B </s>", special_tokens=[("</s>", 0)])
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in ("</s>", "<unk>", "<pad>")])
    return tokenizer, {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


KINDS = {"byte_level": byte_level, "word_piece": word_piece, "metaspace": metaspace, "unigram": unigram}


def save(kind, size, folder):
    """Writes tokenizer.json and tokenizer_config.json."""
    tokenizer, special = KINDS[kind](size)
    assert tokenizer.get_vocab_size() == size, (kind, tokenizer.get_vocab_size(), size)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
