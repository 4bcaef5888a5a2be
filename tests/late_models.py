"""Tiny late-interaction models built on the spot, in the layouts of ColBERT, PyLate and sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tiny_models import rewrite, save_encoder

LAYOUTS = ("HF_ColBERT", "PyLate", "MultiVector")
QUERY_TOKENS, DOCUMENT_TOKENS, WIDTH = 12, 40, 8
_MARKERS = {"HF_ColBERT": ("[unused0]", "[unused1]")}


def save_colbert(folder: Path, layout: str = "HF_ColBERT", family: str = "bert", **settings: Any) -> Path:
    """Write a late-interaction model; `settings` replace keys of its file of settings."""
    import torch

    save_encoder(folder, family)
    query, document = _MARKERS.get(layout, ("[Q] ", "[D] "))
    _add_tokens(folder, [query, document, ".", ",", "?"])
    torch.manual_seed(5)
    weight = torch.randn(WIDTH, 16) / 4
    if layout == "HF_ColBERT":
        _as_stanford(folder, weight, {"query_token_id": query, "doc_token_id": document} | settings)
        return folder
    _save_dense(folder / "1_Dense", weight)
    kinds = {"": "sentence_transformers.models.Transformer", "1_Dense": "pylate.models.Dense.Dense"}
    own: dict[str, Any] = {"max_seq_length": 48, "do_lower_case": False}
    if layout == "PyLate":
        top = {"query_prefix": query, "document_prefix": document, "query_length": QUERY_TOKENS}
        top |= {"document_length": DOCUMENT_TOKENS, "attend_to_expansion_tokens": False, "model_type": "ColBERT"}
        top |= {"skiplist_words": [".", ",", "?"], "do_query_expansion": True} | settings
    else:
        top = {"prompts": {"query": query, "document": document}, "model_type": "MultiVectorEncoder"}
        expansion = {"strategy": "fixed", "attend": True, "token": None, "length": QUERY_TOKENS}
        own |= {"document_length": DOCUMENT_TOKENS, "query_expansion": expansion} | settings
        base = "sentence_transformers.base.modules"
        mask = "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
        kinds = {"": f"{base}.transformer.Transformer", "1_Dense": f"{base}.dense.Dense", "2_Mask": mask}
        kinds["3_Normalize"] = f"{base}.normalize.Normalize"
        _write(folder / "2_Mask" / "config.json", {"skiplist_words": [".", ","]})
        _write(folder / "3_Normalize" / "config.json", {"module_input_name": "token_embeddings"})
    _write(folder / "sentence_bert_config.json", own)
    _write(folder / "config_sentence_transformers.json", top)
    modules = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(kinds.items())]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


def _add_tokens(folder: Path, names: list[str]) -> None:
    """Add tokens to the tokenizer, and rows to the table of the encoder's words."""
    import torch
    from tokenizers import AddedToken
    from transformers import AutoModel, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    tokenizer.add_tokens([AddedToken(name, normalized=False) for name in names])
    torch.manual_seed(9)
    network.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    with torch.no_grad():
        network.get_input_embeddings().weight[-len(names) :].normal_(0, 0.5)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _as_stanford(folder: Path, weight: Any, metadata: dict[str, Any]) -> None:
    for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
        (folder / name).unlink()
    (folder / "1_Pooling" / "config.json").unlink()
    (folder / "1_Pooling").rmdir()

    def rename(tensors: dict[str, Any]) -> None:
        for name in list(tensors):
            tensors[f"bert.{name}"] = tensors.pop(name)
        tensors["linear.weight"] = weight

    rewrite(folder, rename)
    config = json.loads((folder / "config.json").read_text())
    _write(folder / "config.json", config | {"architectures": ["HF_ColBERT"]})
    usual = {"query_maxlen": QUERY_TOKENS, "doc_maxlen": DOCUMENT_TOKENS, "dim": WIDTH, "mask_punctuation": True}
    _write(folder / "artifact.metadata", usual | {"attend_to_mask_tokens": False} | metadata)


def _save_dense(folder: Path, weight: Any) -> None:
    from safetensors.torch import save_file

    config = {"in_features": 16, "out_features": WIDTH, "bias": False}
    _write(folder / "config.json", config | {"activation_function": "torch.nn.modules.linear.Identity"})
    save_file({"linear.weight": weight}, folder / "model.safetensors")


def _write(path: Path, values: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values))
