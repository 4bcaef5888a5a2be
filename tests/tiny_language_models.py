"""Tiny language models built on the spot: random weights, tokenizers trained or put together here."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

from tiny_models import MAX_TOKENS, WORDS

PROMPT_WORDS = "Query Document Relevant true false yes no Yes No"
SHORT_PROMPT = "{query} | {passage} ?"


def _t5_tokenizer() -> Any:
    """Like T5's: pieces of words that begin with ▁, a text ends with </s>."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    whole = [("▁" + word, -2.0) for word in dict.fromkeys((PROMPT_WORDS + " " + WORDS).split())]
    parts = [(letter, -8.0) for letter in string.ascii_letters + ":?|"]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -4.0), *whole, *parts]
    raw = Tokenizer(models.Unigram(pieces, unk_id=2))
    raw.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=raw, **names, model_input_names=["input_ids", "attention_mask"])


def _decoder_tokenizer(begin: bool) -> Any:
    """Like Qwen's: byte-level BPE, nothing added to a text; or, like Llama's, <s> before it (`begin`)."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<|endoftext|>", "<s>", "<|im_start|>", "<|im_end|>"]  # the first is what Qwen pads with
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=special,
        show_progress=False,
    )
    text = " ".join([PROMPT_WORDS, WORDS, WORDS]) + " "
    raw.train_from_iterator([text, *PROMPT_WORDS.split() * 3], trainer)
    if begin:
        raw.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<|endoftext|>", model_input_names=["input_ids", "attention_mask"]
    )


def _save(folder: Path, network: Any, tokenizer: Any) -> Path:
    import torch

    torch.set_num_threads(1)
    with torch.no_grad():
        for values in network.parameters():
            if values.ndim > 1:
                values.normal_(0, 0.3, generator=torch.Generator().manual_seed(values.numel()))
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_seq2seq(folder: Path, family: str = "T5", max_tokens: int = MAX_TOKENS) -> Path:
    """Write a sequence-to-sequence model of the `family` T5, MT5 or Bart; return its folder."""
    import torch
    import transformers as hf

    tokenizer = _t5_tokenizer()
    tokenizer.model_max_length = max_tokens
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    if family == "Bart":
        shape = {"d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": max_tokens}
        shape |= {f"{part}_{what}": 2 for part in ("encoder", "decoder") for what in ("layers", "attention_heads")}
        shape |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1, "forced_eos_token_id": None}
    config = getattr(hf, f"{family}Config")(vocab_size=len(tokenizer) + 3, decoder_start_token_id=0, **shape)
    network = getattr(hf, f"{family}ForConditionalGeneration")(config)
    if family == "Bart":  # a bias per word, which is stored with the weights
        network.final_logits_bias.copy_(torch.linspace(-1, 1, len(tokenizer) + 3))
    return _save(folder, network, tokenizer)


def save_decoder(folder: Path, family: str = "Qwen2", max_tokens: int = MAX_TOKENS) -> Path:
    """Write a decoder of the `family` Qwen2, Llama or GPT2 (positions counted from the start); return its folder."""
    import transformers as hf

    tokenizer = _decoder_tokenizer(begin=family == "Llama")
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    shape |= {"num_key_value_heads": 1, "intermediate_size": 32, "max_position_embeddings": max_tokens}
    if family == "GPT2":
        shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": max_tokens}
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 3}
    config = getattr(hf, f"{family}Config")(vocab_size=len(tokenizer), **shape, **special)
    kind = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
    return _save(folder, getattr(hf, kind)(config), tokenizer)
