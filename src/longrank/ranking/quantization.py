"""Quantise models to int8, calibrated on passages that BM25 finds for some queries.

The calibration pairs are a function of the seed and of ids alone. Use other text than the text to be ranked: the
chosen ranges would fit it better than other text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.draws import digest
from longrank.errors import InputError
from longrank.index import Index
from longrank.networks.backends.exported import exported_folder
from longrank.networks.backends.quantized import write_quantized
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask, Segmenter
from longrank.registries import check_at_least
from longrank.retrieval import make_retriever
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.storage import digest_of
from longrank.storage.folders import atomic_folder
from longrank.storage.workplace import check_outside
from longrank.text.segment import make_segmenter
from longrank.types import Notes, Passage, Query

SCORERS: dict[str, type[CrossEncoder | BiEncoder]] = {"cross-encoder": CrossEncoder, "bi-encoder": BiEncoder}
"""Scorers whose models can be quantised; the encoder's input depends on the scorer."""

_DEPTH = 10  # candidates per query
_BACKEND = "openvino"


def quantize_model(
    model: str,
    scorer: str,
    index: Index,
    queries: Sequence[Query],
    output: Path,
    *,
    pairs: int = 300,
    seed: int = 0,
    passages: str = "windows",
    notes: Notes,
) -> None:
    """Write a model folder with an int8 graph of the encoder, calibrated on pairs of queries and passages.

    Args:
        model: as `longrank.networks.model_files.find_model` takes it.
        scorer: a key of `SCORERS`.
        index: source of the passages.
        queries: the queries; pairs are spread over as many of them as possible.
        output: the folder; must not exist, or be empty.
        pairs: number of (query, passage) pairs.
        seed: seed of the random choice of queries and passages.
        passages: segmentation preset, a key of `longrank.text.segment.PRESETS`.
        notes: counts truncated passages, and says if there are fewer pairs.

    Raises:
        InputError: the folder is not empty, there are no pairs, or the model cannot be loaded or exported.
        MissingExtra: OpenVINO or NNCF are not installed.
        IntegrityError: files of the model or the index are damaged.
    """
    check_at_least("pairs", pairs, 1)
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise InputError("exists already", path=output, fix="choose another folder")
    check_outside(output)
    with atomic_folder(output, replace=False) as work:
        _quantize_model(model, scorer, index, queries, work, pairs=pairs, seed=seed, passages=passages, notes=notes)


def _quantize_model(
    model: str,
    scorer: str,
    index: Index,
    queries: Sequence[Query],
    work: Path,
    *,
    pairs: int,
    seed: int,
    passages: str,
    notes: Notes,
) -> None:
    files = find_model(model)
    scoring = SCORERS[scorer](files, backend=_BACKEND, batch_tokens=1, notes=notes)  # one text per batch
    segmenter = make_segmenter(passages, tokenizer=scoring.offset_tokenizer)
    tasks = list(calibration_tasks(index, queries, segmenter, pairs=pairs, seed=seed, notes=notes))
    if not tasks:
        raise InputError("no query retrieves a passage to calibrate on", path=index.place)
    record = {
        "model": files.fingerprint,
        "scorer": scorer,
        "index": index.digest,
        "queries": digest_of([[query.query_id, query.text] for query in queries]),
        "passages": segmenter.fingerprint,
        "pairs": len(tasks),
        "seed": seed,
        "weight_bits": 7,
        "versions": {name: version(name) for name in ("openvino", "nncf", "torch", "transformers")},
    }
    graph = exported_folder(scoring.encoder, files, _BACKEND, notes)
    write_quantized(files, graph, _inputs(scoring, tasks), record, work)


def calibration_tasks(
    index: Index, queries: Sequence[Query], segmenter: Segmenter, *, pairs: int, seed: int, notes: Notes
) -> Iterator[ScoringTask]:
    """Yield at most `pairs` tasks of one passage each, spread evenly over the queries.

    Queries are drawn in random order, and passages at random from the first 10 documents that BM25 finds. The share of
    queries without enough passages goes to the first queries that have more.
    """
    retriever = make_retriever(index, notes=Notes())
    each, left = math.ceil(pairs / max(1, len(queries))), pairs
    others: list[ScoringTask] = []
    for query in sorted(queries, key=lambda query: digest(seed, query.query_id)):
        candidates = [
            passage
            for hit in retriever.retrieve(query, _DEPTH)
            for passage in segmenter.segment(index.document(hit.doc_id)).passages
        ]
        candidates.sort(key=lambda passage: digest(seed, query.query_id, passage.doc_id, passage.index))
        tasks = [_task(query, passage) for passage in candidates[:pairs]]
        yield from tasks[: min(each, left)]
        left -= min(each, left, len(tasks))
        others += tasks[each : each + pairs - len(others)]
        if left == 0:
            return
    yield from others[:left]
    left -= min(left, len(others))
    if left == 0:
        return
    notes.say(f"calibrated on {pairs - left} pairs of query and passage instead of {pairs}: there are no more")


def _task(query: Query, passage: Passage) -> ScoringTask:
    return ScoringTask(query, passage.doc_id, (passage,), (passage.text,))


def _inputs(scoring: CrossEncoder | BiEncoder, tasks: Sequence[ScoringTask]) -> list[dict[str, Any]]:
    """Return the encoder's inputs when the tasks are scored, in an order that depends on their content alone."""
    import torch

    batches: list[dict[str, NDArray[np.int64]]] = []
    encoder = scoring.encoder
    forward, names = encoder.forward, encoder.forward.inputs

    def recording(input_ids: Any, attention_mask: Any, token_type_ids: Any = None, **others: Any) -> Any:
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        tensors = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": types}
        batches.append({name: tensors[name].numpy() for name in names})
        return forward(input_ids, attention_mask, token_type_ids, **others)

    encoder.forward = recording
    try:
        scoring.score(tasks)
    finally:
        encoder.forward = forward
    return sorted(batches, key=lambda batch: (batch["input_ids"].shape[1], batch["input_ids"].tobytes()))
