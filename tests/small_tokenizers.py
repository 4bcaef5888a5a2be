"""Tokenizers of every kind that models have, trained on made-up words; needs the extra neural."""

from __future__ import annotations

import random
from typing import Any

import tokenizers

SYLLABLES = ["ba", "de", "ki", "lo", "mu", "ran", "ter", "sol", "ving", "est"]
HAN = "我们的河水很长鱼在船上王国和平战争面包月亮石头"


def words(n: int, seed: int) -> list[str]:
    source = random.Random(seed)
    return ["".join(source.choices(SYLLABLES, k=source.randint(1, 4))) for _ in range(n)]


TRAINING = [" ".join(words(12, n)) + ".\n" + HAN[n % 20 :] for n in range(300)]


def wordpiece() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[UNK]", "<s>", "</s>"])
    return trained(made, trainer)


def byte_level() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=500, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    return trained(made, trainer)


def qwen() -> Any:
    """Byte-level BPE with Qwen's pattern, in which signs take the line breaks after them."""
    made = byte_level()
    pattern = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    before = tokenizers.pre_tokenizers
    made.pre_tokenizer = before.Sequence(
        [before.Split(tokenizers.Regex(pattern), "isolated"), before.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return made


def unigram() -> Any:
    """SentencePiece's Unigram, as T5 has it."""
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.normalizer = tokenizers.normalizers.NFKC()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>"
    )
    return trained(made, trainer)


def unsplit() -> Any:
    """SentencePiece without splitting at blanks before, as Llama's and Gemma's: one search over the whole text."""
    made = unigram()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(split=False)
    return made


def trained(made: Any, trainer: Any) -> Any:
    made.train_from_iterator(TRAINING, trainer)
    names = [(name, made.token_to_id(name)) for name in ("<s>", "</s>")]
    made.post_processor = tokenizers.processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B </s>", names)
    return made


KINDS = (wordpiece, byte_level, qwen, unigram, unsplit)
