"""Weak labels for sentences: the best sentence of a judged document stands for it (Santos et al., section on training).

1  Each document that the un-tuned model has scored is represented by its sentence of highest score.
2  A positive is the sentence of a relevant document. A negative is the sentence of a document drawn from the first 50
   of BM25 that are not relevant to the query.
3  Each relevant document gives 5 triplets with different negatives. A tenth of the triplets, drawn, validates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longrank.collections.judgments import note_topics
from longrank.draws import distinct, permutation
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.formats.folds import read_folds
from longrank.index import Index
from longrank.ranking.evidence_blocks import check_queries
from longrank.registries import lookup
from longrank.storage import read_header
from longrank.training.passage_data.examples import Example, group
from longrank.types import Evidence, Notes, Qrels, Query, Run


class Sentence(NamedTuple):
    """A sentence of a document: its text is ``document.text[start:end]``."""

    doc_id: str
    passage: int
    start: int
    end: int


class Triplet(NamedTuple):
    """A query, a sentence taken to be relevant to it, and a sentence taken not to be."""

    query_id: str
    positive: Sentence
    negative: Sentence


class WeakLabels(NamedTuple):
    """Triplets to train and to validate on."""

    train: tuple[Triplet, ...]
    dev: tuple[Triplet, ...]


@dataclass(frozen=True, slots=True)
class WeakLabelOptions:
    """The paper's numbers.

    Attributes:
        relevance_level: least grade of a relevant document, 1 or more.
        depth: documents of the run, not relevant, that negatives are drawn from, 1 or more.
        repeats: triplets of each relevant document, 1 or more.
        unjudged: whether a document without a judgment may be a negative. Grades below zero are no judgments.
        dev: share of the triplets to validate on, 0 to 1, rounded down.
    """

    relevance_level: int = 1
    depth: int = 50
    repeats: int = 5
    unjudged: bool = True
    dev: float = 0.1

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            InputError: a number is out of range.
        """
        for name in ("relevance_level", "depth", "repeats"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1", got=getattr(self, name))
        if not 0 <= self.dev < 1:
            raise InputError("dev is a share, at least 0 and less than 1", got=self.dev)


def best_sentences(evidence: Iterable[Evidence]) -> dict[tuple[str, str], Sentence]:
    """Return the sentence of highest score of each (query_id, doc_id); of equal ones the first in the document."""
    best = {}
    for document in evidence:
        i = int(np.argmax(document.passage_score))
        places = (document.passage_index, document.passage_start, document.passage_end)
        best[document.query_id, document.doc_id] = Sentence(document.doc_id, *(int(column[i]) for column in places))
    return best


def evidence_of(index: Index, path: Path) -> Iterator[Evidence]:
    """Return the evidence in a file, after checking that its offsets are of the index's documents.

    Raises:
        InputError, IntegrityError: as `read_evidence`; or it is of another collection.
    """
    header, evidence = read_evidence(path)
    if header.get("collection") != index.digest:
        raise InputError("is evidence of other documents than the index holds", path=path, fix="rerank with this index")
    return evidence


def _noting_others(
    path: Path, evidence: Iterable[Evidence], queries: Mapping[str, Query], index: Index, notes: Notes
) -> Iterator[Evidence]:
    """Yield evidence; note if it is of other queries, as when the text of a query has changed since."""
    read: dict[str, Query | None] = {}
    for document in evidence:
        read[document.query_id] = queries.get(document.query_id)
        yield document
    known = [query for query in read.values() if query is not None]
    check_queries(read_header(path), index, known, notes=notes)


def weak_labels(
    query_ids: Iterable[str],
    qrels: Qrels,
    run: Run,
    evidence: Iterable[Evidence],
    options: WeakLabelOptions,
    *,
    seed: int,
    notes: Notes,
) -> WeakLabels:
    """Return the triplets of the training queries, in a drawn order.

    A relevant document need not be in the run, but relevant documents and negatives need evidence.

    Args:
        query_ids: the queries to train on, in any order.
        qrels: judgments of documents.
        run: BM25's, where negatives come from.
        evidence: of the un-tuned model; in the paper, on FIRST+TERMF sentences.
        options: numbers.
        seed: another seed draws other negatives and another tenth.
        notes: counts documents without evidence, relevant documents with fewer different negatives than
            `repeats`, which give fewer triplets, and queries without triplets.

    Raises:
        InputError: no triplet at all.
    """
    best = best_sentences(evidence)
    triplets: list[Triplet] = []
    for query_id in sorted(set(query_ids)):
        ids = _sides(qrels.get(query_id, {}), [row.doc_id for row in run.get(query_id)], options)
        positives, negatives = (_with_evidence(query_id, side, best, notes) for side in ids)
        few = f"relevant documents with fewer than {options.repeats} negatives"
        notes.add(few, query_id, len(positives) if len(negatives) < options.repeats else 0)
        notes.add("queries that give no weak labels", query_id, not (positives and negatives))
        for positive in positives:
            n = min(options.repeats, len(negatives))
            drawn = distinct(len(negatives), n, seed, query_id, positive.doc_id)
            triplets += [Triplet(query_id, positive, negatives[i]) for i in drawn]
    if not triplets:
        raise InputError("no query has both a relevant document and another with evidence", about=("qrels", "evidence"))
    return _split(triplets, options, seed)


def triplet_examples(
    triplets: Iterable[Triplet], queries: Mapping[str, Query], index: Index, notes: Notes
) -> Iterator[Example]:
    """Yield triplets as groups of two texts, in their order.

    Args:
        triplets: of sentences of the index's documents.
        queries: query_id -> query.
        index: the documents.
        notes: counts triplets with a blank sentence, as an empty document has; they are left out.
    """
    for triplet in triplets:
        sentences = (triplet.positive, triplet.negative)
        texts = [index.document(sentence.doc_id).text[sentence.start : sentence.end] for sentence in sentences]
        blank = not all(text.strip() for text in texts)
        notes.add("triplets with a blank sentence, left out", triplet.query_id, blank)
        if not blank:
            yield group(queries[triplet.query_id].text, texts)


def weak_examples(
    query_ids: Iterable[str],
    *,
    queries: Mapping[str, Query],
    qrels: Qrels,
    run: Run,
    index: Index,
    evidence: Path,
    options: WeakLabelOptions,
    seed: int,
    notes: Notes,
) -> tuple[list[Example], list[Example]]:
    """Return the examples to train and to validate on; arguments as of `weak_labels` and `triplet_examples`.

    Raises:
        InputError: as `evidence_of` and `weak_labels`, or too few examples.
        IntegrityError: the evidence is damaged.
    """
    records = _noting_others(evidence, evidence_of(index, evidence), queries, index, notes)
    labels = weak_labels(query_ids, qrels, run, records, options, seed=seed, notes=notes)
    train, dev = (list(triplet_examples(part, queries, index, notes)) for part in labels)
    if not train or (options.dev and not dev):
        what, fix = "too few examples to train and to validate on", "give more judged documents or another --dev-share"
        raise InputError(what, about=("qrels", "evidence"), got=f"{len(train)} and {len(dev)}", fix=fix)
    return train, dev


def training_queries(
    queries: Collection[str], qrels: Collection[str], folds: Path | None, fold: str | None, notes: Notes
) -> Collection[str]:
    """Return the ids of the queries to label for: the train queries of a fold, or all judged queries.

    Raises:
        InputError: a file of folds without a fold's name or the reverse, no such fold, unknown queries, or no judged
            query.
    """
    if (folds is None) != (fold is None):
        raise InputError("--folds and --fold belong together")
    if folds is None or fold is None:
        query_ids: Collection[str] = [query_id for query_id in queries if query_id in qrels]
        note_topics(qrels, queries, notes)
        lacking = [query_id for query_id in queries if query_id not in qrels]
        notes.add("queries without judgments, left out", next(iter(lacking), ""), len(lacking))
    else:
        query_ids = lookup(read_folds(folds, notes), fold, "fold").train
    unknown = [query_id for query_id in query_ids if query_id not in queries]
    if unknown:
        raise InputError(
            f"fold '{fold}' trains on {len(unknown)} queries that the query file lacks",
            about=("folds",),
            got=unknown[0],
        )
    if not any(query_id in qrels for query_id in query_ids):
        raise InputError("no query to label for is judged", about=("qrels",), got=next(iter(qrels), None))
    return query_ids


def _sides(judged: Mapping[str, int], ranking: Sequence[str], options: WeakLabelOptions) -> tuple[list[str], list[str]]:
    """Return the relevant documents, and the first `depth` of the ranking that may be negatives."""
    relevant = sorted(doc_id for doc_id, grade in judged.items() if grade >= options.relevance_level)
    grades = ((doc_id, max(judged.get(doc_id, -1), -1)) for doc_id in ranking)
    least = -1 if options.unjudged else 0
    return relevant, [doc_id for doc_id, grade in grades if least <= grade < options.relevance_level][: options.depth]


def _with_evidence(
    query_id: str, doc_ids: Sequence[str], best: Mapping[tuple[str, str], Sentence], notes: Notes
) -> list[Sentence]:
    for doc_id in doc_ids:
        notes.add("documents without evidence, left out", f"{query_id} {doc_id}", (query_id, doc_id) not in best)
    return [best[query_id, doc_id] for doc_id in doc_ids if (query_id, doc_id) in best]


def _split(triplets: Sequence[Triplet], options: WeakLabelOptions, seed: int) -> WeakLabels:
    order = permutation(len(triplets), seed, "weak labels").tolist()
    n_dev = floor(Fraction(str(options.dev)) * len(triplets))
    mixed = tuple(triplets[i] for i in order)
    return WeakLabels(mixed[n_dev:], mixed[:n_dev])
