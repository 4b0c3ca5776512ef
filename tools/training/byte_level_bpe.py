"""Byte-level BPE, split as GPT-2 splits (Radford et al. 2019): any text has tokens, and decoding gives back its bytes."""

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers


def train(texts, size, special, lower_case=False, begins_with_space=False):
    """A tokenizer of `size` entries: `special` first, then 256 bytes, then merges by frequency.

    With `begins_with_space` a text's first word has the token that it has inside a sentence.
    """
    tokenizer = tokenizers.Tokenizer(models.BPE())
    if lower_case:
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=begins_with_space)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return tokenizer


def frame(tokenizer, before, after):
    """Adds special tokens around every encoded text."""
    single = " ".join([*before, "$A", *after])
    pair = single + " $B:1 " + " ".join(f"{token}:1" for token in after)
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single=single, pair=pair.strip(), special_tokens=[
            (token, tokenizer.token_to_id(token)) for token in dict.fromkeys([*before, *after])])])
