"""Predict queries for documents, to index with them (doc2query)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from longrank.collections.documents import paths_of
from longrank.config import Assignments, listed
from longrank.engines import Engine, EngineOptions
from longrank.errors import InputError
from longrank.expansion.decoding import Decoding
from longrank.expansion.expand import expand as predict
from longrank.expansion.expand import open_documents
from longrank.expansion.reading import Reading
from longrank.expansion.spread import Predicting, predicting_by
from longrank.formats.records import CorpusOptions
from longrank.storage.workplace import check_apart, check_outside
from longrank.types import Notes
from longrank.verbs.naming import naming_files


class Expansion(NamedTuple):
    """A file of predicted queries; `Index.build` takes it as ``expansions``."""

    path: Path
    n_queries: int
    n_documents: int
    notes: Notes


@naming_files
def expand(
    documents: Any,
    model: str,
    output: Path | str,
    *,
    method: str = "topk",
    n: int = 10,
    k: int | None = None,
    seed: int = 0,
    preset: str = "doct5query",
    assignments: Assignments = (),
    max_tokens: int | None = None,
    max_query_tokens: int = 64,
    batch: int = 64,
    device: str = "auto",
    dtype: str = "float32",
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    corpus: CorpusOptions | None = None,
    notes: Notes | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Expansion:
    """Predict queries for documents (doc2query); an interrupted call resumes.

    Args:
        documents: an index or its folder; or documents as `Index.build` takes them.
        model: a sequence-to-sequence model: a Hugging Face name or a folder.
        output: output file, JSONL: a document's id and the queries of all its passages per line.
        method: ``topk``: sampling from the k likeliest tokens; ``beam``: the n best queries of a beam of width n.
        n: queries per passage.
        k: tokens to sample from, with ``topk``; None: 10.
        seed: seed of the sampling.
        preset: text read per document: ``doct5query`` (windows of 10 sentences, one every 5, of the first 10,000
            characters, each after the title) or ``whole``.
        assignments: ``{"max_characters": 5000}`` or ``["max_characters=5000"]``: settings of the preset.
        max_tokens: tokens read per passage; None: the model's limit, or 512.
        max_query_tokens: maximum tokens of a query.
        batch: queries predicted at a time.
        device: a torch device; ``auto``: an accelerator if there is one.
        dtype: ``float32`` or ``bf16``.
        engine: where blocks of documents are read: ``local`` processes, ``ray`` or ``ray=ADDRESS``; as of
            `longrank.engines.open_engine`, as are `workers` and `resources`. The bytes are the same.
        workers: processes, or workers of the cluster, each with the model.
        resources: resources that each worker of a cluster holds, e.g. ``{"GPU": 1}``.
        corpus: format and fields of documents that are no index.
        notes: collects remarks; None: only ``expansion.notes`` has them.
        progress: called with the number of documents just done, and of all documents.

    Raises:
        InputError: a fault of the documents, documents that change meanwhile, a value out of range, a model that
            cannot be loaded, an unfinished file of other settings, or an output that is one of the inputs.
        MissingExtra: the model's libraries are not installed.
        LongRankError: out of memory, or no space for the file.

    Example:
        >>> longrank.expand("my.index", "./doc2query", "d2q.jsonl", n=5)
    """
    if method == "beam" and k is not None:
        raise InputError("`k` is for method topk", got=k, fix="a beam is as wide as n")
    if method == "beam" and seed:
        raise InputError("`seed` is for method topk", got=seed, fix="leave it out: a beam draws nothing")
    if corpus is not None and "title" not in corpus.fields:
        assignments = ["title=false", *listed(assignments)]
    given = documents if isinstance(documents, list | tuple) else [documents]
    check_outside(output)
    check_apart(Path(output), model, *paths_of(place for place in given if isinstance(place, str | Path)))
    if Path(output).name.lower().endswith(".gz"):
        raise InputError("the queries are not packed", path=output, fix="leave .gz out")
    notes = Notes() if notes is None else notes
    decoding = Decoding(method, n, 10 if k is None else k, seed, max_query_tokens)
    options = {"max_tokens": max_tokens, "batch": batch, "device": device, "dtype": dtype}
    predicting = Predicting(model, decoding, options)
    predictor = predicting.open(notes)
    reading = Reading(preset, assignments, predictor.offset_tokenizer)
    spread = EngineOptions(engine, workers, resources)
    with (
        open_documents(documents, corpus, notes) as collection,
        spread.open() if spread.given else nullcontext() as opened,
    ):
        n_documents = collection.n_documents

        def advance(n_done: int) -> None:
            if progress is not None:
                progress(n_done, n_documents)

        by_engine = None
        if opened is not None:
            worker = replace(predicting, threads=opened.threads, fingerprint=predictor.fingerprint)
            by_engine = predicting_by(opened, worker, notes)
        n_queries = predict(
            collection, predictor, reading, Path(output), notes=notes, progress=advance, predict=by_engine
        )
    return Expansion(Path(output), n_queries, n_documents, notes)
