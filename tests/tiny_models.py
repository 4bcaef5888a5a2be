"""Tiny models built on the spot: random weights and a small vocabulary, in the folders that Hugging Face writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longrank.protocols import ScoringTask
from longrank.types import Passage, Query

WORDS = (
    "the a of in what is was who where when river bank water money fish boat city king war peace north south "
    "long short passage query answer word over under fox dog run jump blue green "
    "stone light house bread moon"
)

MAX_TOKENS = 48


def task(query: str, texts: list[str], query_id: str = "q", doc_id: str = "d") -> ScoringTask:
    """Return what a scorer gets of a document whose passages are `texts`."""
    passages = tuple(Passage(doc_id, n, text, 0, len(text)) for n, text in enumerate(texts))
    return ScoringTask(Query(query_id, query), doc_id, passages, tuple(texts))


def _tokenizer(kind: str) -> Any:
    """Return a transformers tokenizer of the `kind` bert (WordPiece, segment ids) or roberta (byte-level BPE, none)."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    if kind == "bert":
        letters = "abcdefghijklmnopqrstuvwxyz"
        pieces = [
            "[PAD]",
            "[UNK]",
            "[CLS]",
            "[SEP]",
            "[MASK]",
            *WORDS.split(),
            *letters,
            *(f"##{c}" for c in letters),
            "##ing",
        ]
        vocabulary = {piece: n for n, piece in enumerate(dict.fromkeys(pieces))}
        raw = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        raw.normalizer = normalizers.BertNormalizer()
        raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        names, inputs = ("[PAD]", "[UNK]", "[CLS]", "[SEP]"), ["input_ids", "token_type_ids", "attention_mask"]
    else:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        pieces = ["<s>", "<pad>", "</s>", "<unk>", *alphabet, "th", "the", "er"]
        vocabulary = {piece: n for n, piece in enumerate(pieces)}
        raw = Tokenizer(models.BPE(vocabulary, [("t", "h"), ("th", "e"), ("e", "r")], unk_token="<unk>"))
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
        raw.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
        names, inputs = ("<pad>", "<unk>", "<s>", "</s>"), ["input_ids", "attention_mask"]
    # What the file of all-MiniLM carries too: a truncation and a padding of its own, to be switched off.
    raw.enable_truncation(16)
    raw.enable_padding(length=16, pad_id=vocabulary[names[0]], pad_token=names[0])
    pad, unknown, first, last = names
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token=pad,
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
        model_max_length=MAX_TOKENS,
        model_input_names=inputs,
    )


_SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def _configuration(family: str, max_tokens: int, **more: Any) -> Any:
    import transformers as hf

    small = _SMALL | {"max_position_embeddings": max_tokens} | more
    # RoBERTa and its kin count positions from the padding id on.
    padded = _SMALL | {"max_position_embeddings": max_tokens + 2, "pad_token_id": 1, "bos_token_id": 0} | more
    padded |= {"eos_token_id": 2}
    special = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    local = {"local_attention": 8, "global_attn_every_n_layers": 2}  # one layer sees all, one its neighbours
    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}
    distil = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": max_tokens}
    made: dict[str, tuple[str, dict[str, Any]]] = {
        "bert": ("Bert", small),
        "electra": ("Electra", small | {"embedding_size": 8}),
        "albert": ("Albert", small | {"embedding_size": 8}),
        "distilbert": ("DistilBert", distil | more),
        "roberta": ("Roberta", padded | {"type_vocab_size": 1}),
        "longformer": ("Longformer", padded | {"type_vocab_size": 1, "sep_token_id": 2, "attention_window": 8}),
        "mpnet": ("MPNet", padded),
        "modernbert": ("ModernBert", small | special | local),
        "deberta-v2": ("DebertaV2", small | relative | {"type_vocab_size": 0}),
        "fnet": ("FNet", small | {"tpu_short_seq_length": max_tokens}),
    }
    name, options = made[family]
    return getattr(hf, f"{name}Config")(**options)


MORE_FAMILIES = ("deberta-v2", "mpnet")
FAMILIES = ("bert", "roberta", "albert", "electra", "distilbert", "modernbert", "longformer")


def _save(folder: Path, family: str, make: Callable[[Any], Any], max_tokens: int = MAX_TOKENS, **more: Any) -> Path:
    import torch

    tokenizer = _tokenizer("roberta" if family in {"roberta", "longformer", "mpnet"} else "bert")
    tokenizer.model_max_length = max_tokens
    if family in {"distilbert", "modernbert", "deberta-v2"}:
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    torch.set_num_threads(1)  # so small that threads would only wait for each other
    torch.manual_seed(7)
    network = make(_configuration(family, max_tokens, vocab_size=len(tokenizer), **more))
    with torch.no_grad():
        for values in network.parameters():
            if values.ndim > 1:  # large enough for outputs to differ; the norms' weights stay 1
                values.normal_(0, 0.5)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_cross_encoder(folder: Path, family: str = "bert", n_outputs: int = 2, **more: Any) -> Path:
    """Write a sequence-classification model; return its folder."""
    from transformers import AutoModelForSequenceClassification

    return _save(folder, family, AutoModelForSequenceClassification.from_config, num_labels=n_outputs, **more)


def save_next_sentence(folder: Path) -> Path:
    """Write a next-sentence model, as the released Birch models are; return its folder."""
    from transformers import AutoModelForNextSentencePrediction

    return _save(folder, "bert", AutoModelForNextSentencePrediction.from_config)


def save_masked_language_model(folder: Path, seed: int = 7) -> Path:
    """Write a BERT that predicts masked tokens; return its folder."""
    import torch
    from transformers import AutoModelForMaskedLM

    _save(folder, "bert", AutoModelForMaskedLM.from_config)
    network = AutoModelForMaskedLM.from_pretrained(folder)
    torch.manual_seed(seed)
    with torch.no_grad():
        network.cls.predictions.bias.normal_(-1.5, 0.5)  # so that most weights are 0
        network.cls.predictions.transform.dense.weight.normal_(0, 0.3)
    network.save_pretrained(folder)
    return folder


def save_encoder(folder: Path, family: str = "bert", prompts: dict[str, str] | None = None) -> Path:
    """Write a model of sentence-transformers: mean pooling, no normalisation; return its folder."""
    from transformers import AutoModel

    _save(folder, family, AutoModel.from_config)
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True, "include_prompt": not prompts}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(kinds.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32, "do_lower_case": False}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts or {}}))
    return folder


def save_document_network(
    folder: Path,
    name: str = "parade-transformer",
    family: str = "bert",
    encoder_seed: int = 11,
    *,
    sealed: bool = False,
    **options: Any,
) -> Path:
    """Write an untrained document network whose weights are large enough for scores to differ; the encoder's first.

    Unless it is sealed, it has no checksums, so a test may change its files.
    """
    import torch
    from transformers import AutoModel

    from longrank.models.create import create_network
    from longrank.models.folders import save_network

    tokenizer = _tokenizer("roberta" if family == "roberta" else "bert")
    torch.manual_seed(encoder_seed)
    encoder = AutoModel.from_config(_configuration(family, MAX_TOKENS, vocab_size=len(tokenizer)))
    network = create_network(name, encoder, options, tokenizer=tokenizer, seed=3)
    with torch.no_grad():
        for values in network.parameters():
            if values.ndim > 1:
                values.normal_(0, 0.5)
    save_network(folder, network, tokenizer)
    if not sealed:
        (folder / "manifest.json").unlink()
    return folder


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the tensors of a model's file in place."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "manifest.json").unlink(missing_ok=True)
    return folder


def drop_dense(tensors: dict[str, Any]) -> None:
    """Leave out what Capreolus' ELECTRAs do not have."""
    del tensors["classifier.dense.weight"], tensors["classifier.dense.bias"]
