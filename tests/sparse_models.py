"""Tiny sparse encoders built on the spot: SPLADE, and the inference-free kind with a router."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_models import save_masked_language_model


def save_splade(folder: Path, seed: int = 7, **more: Any) -> Path:
    """Write a model of sentence-transformers' ``SparseEncoder``; return its folder."""
    network = _network(folder, seed)
    _encoder([*network], **more).save(str(folder))
    return folder


def save_inference_free(folder: Path) -> Path:
    """Write a model whose router reads queries by a table of weights."""
    import torch
    from sentence_transformers.sparse_encoder.modules import Router, SparseStaticEmbedding

    transformer, pooling = _network(folder, 7)
    torch.manual_seed(3)
    table = SparseStaticEmbedding(transformer.tokenizer, torch.rand(len(transformer.tokenizer)) + 0.1)
    routes = Router.for_query_document(query_modules=[table], document_modules=[transformer, pooling])
    _encoder([routes]).save(str(folder))
    return folder


def _network(folder: Path, seed: int) -> tuple[Any, Any]:
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    base = save_masked_language_model(folder.parent / f"{folder.name}-network", seed)
    transformer = Transformer(str(base), transformer_task="fill-mask", max_seq_length=40)
    return transformer, SpladePooling(pooling_strategy="max")


def _encoder(modules: list[Any], **more: Any) -> Any:
    from sentence_transformers import SparseEncoder

    return SparseEncoder(modules=modules, device="cpu", similarity_fn_name="dot", **more)
