"""What a ranking task learns from: queries, judgments, a first stage and an index become samples; no torch."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from longrank.aggregation import make_aggregator
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.storage import digest_of
from longrank.training.candidates import CandidateOptions, Candidates, Sources, find_candidates, with_both_sides
from longrank.training.checks import check_losses
from longrank.training.loss_terms import loss_kind
from longrank.training.samples import LCE_NEGATIVES, Samples, make_samples
from longrank.training.settings import TeacherSettings, DocumentTraining
from longrank.types import Notes, Qrels, Query, Run

_ONE_PROBABILITY = ("document", "maxp", "firstp")  # aggregators whose score is the probability of one reading


@dataclass(frozen=True, slots=True)
class Data:
    """What a ranking task learns from and is validated on.

    Attributes:
        index: where documents are.
        queries: query_id -> query.
        qrels: the judgments to learn from and to validate by.
        run: the first stage.
        train: the queries to learn from.
        dev: the queries to validate on.
        dropped: judgments that sampling took away.
        model_run: another run that negatives come from.
    """

    index: Index
    queries: Mapping[str, Query]
    qrels: Qrels
    run: Run
    train: Sequence[str]
    dev: Sequence[str]
    dropped: Qrels = field(default_factory=dict)
    model_run: Run | None = None


def make_training_samples(settings: DocumentTraining, data: Data, notes: Notes) -> Samples:
    """Return what is learned from, after checking that the losses can learn from it.

    Args:
        settings: the whole training.
        data: what it is drawn from.
        notes: counts dropped queries and documents, and why.

    Raises:
        InputError: as `make_samples` and `check_losses`.
    """
    sources, options = _sources(settings, data, notes)
    kind, seed, n_negatives = settings.samples.kind, settings.loop.seed, settings.samples.n_negatives
    samples = make_samples(kind, data.train, sources, options, seed=seed, notes=notes, n_negatives=n_negatives)
    check_losses(settings, len(samples[0].doc_ids))
    return samples


def sampled_from(settings: DocumentTraining, data: Data) -> list[Candidates]:
    """Return what the samples are drawn from, of the queries that have enough.

    Raises:
        InputError: as `make_training_samples`.
    """
    wanted, notes = settings.samples, Notes()
    found = find_candidates(data.train, *_sources(settings, data, notes), notes)
    if wanted.kind == "pointwise":
        return found
    n_negatives = (wanted.n_negatives or LCE_NEGATIVES) if wanted.kind == "groups" else 1
    return with_both_sides(found, n_negatives, notes)


def _sources(settings: DocumentTraining, data: Data, notes: Notes) -> tuple[Sources, CandidateOptions]:
    wanted = settings.samples
    options = CandidateOptions(
        relevance_level=wanted.relevance_level,
        depth=wanted.depth,
        in_run=wanted.in_run,
        negatives=wanted.negatives,
        ranks=None if wanted.ranks is None else (wanted.ranks[0], wanted.ranks[1]),
        unjudged=wanted.unjudged,
        dropped=wanted.dropped,
    )
    doc_ids = data.index.doc_ids(np.arange(len(data.index))) if wanted.negatives == "random" else None
    qrels = data.qrels if wanted.in_run else _judged_here(data, notes)
    return Sources(qrels, data.run, data.dropped, data.model_run, doc_ids), options


def _judged_here(data: Data, notes: Notes) -> Qrels:
    """Return the training queries' judgments of documents that the index has; qrels may be of a larger collection."""
    here: dict[str, dict[str, int]] = {}
    for query_id in data.train:
        judged = data.qrels.get(query_id, {})
        here[query_id] = {doc_id: grade for doc_id, grade in judged.items() if doc_id in data.index}
        lacking = next((doc_id for doc_id in judged if doc_id not in here[query_id]), "")
        notes.add("judged documents that the index lacks, left out", lacking, len(judged) - len(here[query_id]))
    return here


def learns_two_outputs(settings: DocumentTraining) -> bool:
    """Say whether a loss learns both outputs of a teacher, of which evidence holds the second's log-probability."""
    return any(loss_kind(term).outputs == (2,) for term in settings.loss)


def taught_scores(
    settings: DocumentTraining, index: Index, queries: Mapping[str, Query], query_ids: Container[str], notes: Notes
) -> dict[tuple[str, str], float]:
    """Return what the teacher of a training says of each document of these queries, (query_id, doc_id) -> score.

    Args:
        settings: the training; it has a teacher.
        index: the documents; evidence of another index is taken to be of the same ones by their ids, which is said.
        queries: query_id -> query; evidence of others, or of more, is taken to be of these by their ids: also said.
        query_ids: those wanted.
        notes: see above.

    Raises:
        InputError: an unknown aggregator, one that needs options, no evidence file, or scores that a loss cannot learn.
        IntegrityError: the evidence is damaged or unfinished.
    """
    teacher = settings.teacher or TeacherSettings(evidence="")
    aggregate = make_aggregator(teacher.aggregator)
    if not Path(teacher.evidence).exists():
        fix = "rerank what is learned from with the teacher, and --set teacher.evidence=ITS.run.evidence"
        raise InputError("the teacher's evidence: no such file", path=Path(teacher.evidence), fix=fix)
    header, evidence = read_evidence(Path(teacher.evidence))
    if header.get("collection") != index.digest:
        notes.say("the teacher has read another index: its documents are taken for these by their ids")
    if learns_two_outputs(settings) and (header["unit"] != "logprob" or teacher.aggregator not in _ONE_PROBABILITY):
        raise InputError(
            "a loss learns two outputs of the teacher, which the log-probability of a document or of one passage gives",
            path=Path(teacher.evidence),
            got=f"unit {header['unit']}, aggregator {teacher.aggregator}",
            fix="a network of one output learns any score by mse",
        )
    read, scores = dict[str, str](), dict[tuple[str, str], float]()
    for one in evidence:
        read[one.query_id] = queries[one.query_id].text if one.query_id in queries else ""
        if one.query_id in query_ids:
            scores[one.query_id, one.doc_id] = aggregate(one)
    if header.get("queries") != digest_of([list(pair) for pair in read.items()]):
        notes.say("the teacher has read other queries, or more than these: they are taken for these by their ids")
    return scores
