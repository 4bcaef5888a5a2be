"""Measure how well shown passages contain the answers, or the gold spans, of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from longrank.analysis.estimates import SAMPLES, SEED
from longrank.analysis.gold import Gold, GoldCollection, Pair, gold_collection
from longrank.analysis.orders import named_sources, read_orders
from longrank.analysis.result import Analysis
from longrank.analysis.shown_result import ShownResult, plot_shown, shown_result, shown_text
from longrank.analysis.sources import open_source
from longrank.collections import read_answers, read_gold_spans, read_qrels, read_queries
from longrank.collections.collection import Collection, places
from longrank.errors import InputError
from longrank.evaluation.systems import places_of
from longrank.index import Index
from longrank.registries import whole_numbers
from longrank.storage import unchanged
from longrank.types import Notes, Span
from longrank.verbs.naming import naming_files

KINDS = ("answers", "spans")


@naming_files
def evidence(
    evidence: Any,
    gold: Any,
    *,
    queries: Any = None,
    qrels: Any = None,
    spans: Any = None,
    answers: Any = None,
    by: str | None = None,
    k: int | Iterable[int] = (1, 3, 5),
    level: int = 1,
    index: Any = None,
    seed: int = SEED,
    notes: Notes | None = None,
) -> Analysis[ShownResult]:
    """Measure how well the passages of relevant documents show the answer, or the gold spans.

    A passage hits if it wholly contains an answer, or shares half of the shorter of both with a gold span. Figures are
    over the relevant documents that all inputs have, with confidence intervals (`longrank.analysis.shown`).

    Args:
        evidence: evidence files, JSONL files as ``longrank search --json`` prints them, or a mapping name -> input; an
            input in memory is a list of `Evidence`, or of objects with query_id (or query), doc_id and passages.
        gold: a collection folder, a name of the catalogue, an index, or documents in memory.
        queries: queries, for objects that name the query by its text. Default: those of the collection.
        qrels: judgments of documents. Default: those of the collection.
        spans: judgments of passages: a file, or query id -> doc id -> (start, end) pairs. Default: those of the
            collection.
        answers: a JSONL file of queries with a field ``answers``, or query id -> texts. Default: those of the
            collection.
        by: ``"answers"`` or ``"spans"``. Default: answers if there are any.
        k: a number of best passages, or several.
        level: lowest relevant grade, of documents and passages.
        index: index that evidence files must be of.
        seed: seed of the bootstrap.
        notes: counts remarks on the inputs; the result carries it.

    Raises:
        InputError: no answers or spans, wrong gold spans, evidence of another index or collection, no relevant document
            in common, or a fault of an input.
        IntegrityError: an evidence file or the index is damaged.
    """
    notes, cutoffs = Notes() if notes is None else notes, whole_numbers(k, "k")
    if not cutoffs:
        raise InputError("there is no k", fix="give a number of best passages, such as 1")
    if by is not None and by not in KINDS:
        raise InputError("unknown kind of gold", got=by, fix=f"one of {', '.join(KINDS)}")
    opened = open_source(gold, notes)
    queries = opened.queries if queries is None else queries
    answers = opened.queries if answers is None else answers
    judged = _given(read_gold_spans, opened.passage_qrels if spans is None else spans, notes, grade=level) or []
    relevant = opened.qrels if qrels is None else qrels
    if relevant is None:
        raise InputError(
            "there are no judgments of documents", about=("gold",), fix="give `qrels`, or a collection that has them"
        )
    with unchanged({*_files(queries), *_files(answers)}):  # queries are read for their answers, and for their texts
        texts = _given(read_answers, answers, notes) or {}
        by = by or ("answers" if texts else "spans")
        if not (texts if by == "answers" else judged):
            raise InputError(f"the collection has no {_GOLD[by]}", about=("gold",), fix=_MISSING[by])
        grades = read_qrels(relevant, notes)
        known = gold_collection(opened.documents(), grades, judged, texts, level=level, notes=notes)
        searched = None if index is None else Index.open(index)
        if searched is not None:
            _check_texts(searched, known)
        digest = None if searched is None else searched.digest
        read = cache(lambda: _queries(queries, notes))
        inputs = {
            name: read_orders(source, read, known.lengths, notes, digest=digest)
            for name, source in named_sources(evidence).items()
        }
    pairs = _with_gold(known, _common(inputs, known.pairs, notes), by, notes)
    result = shown_result(inputs, pairs, cutoffs, answers=by == "answers", seed=seed)
    record = {**places_of(gold=gold), "level": level, "samples": SAMPLES, "result": result}
    return Analysis(result, shown_text(result), record, lambda path: plot_shown(path, result), notes)


def _check_texts(index: Index, known: GoldCollection) -> None:
    """Refuse an index whose texts are other ones than the collection's, such as texts with titles.

    Raises:
        InputError: names the first relevant document whose text has another length.
    """
    for doc_id in dict.fromkeys(doc_id for _, doc_id in known.pairs if doc_id in index):
        length = len(index.document(doc_id, metadata=False).text)
        if length != known.lengths[doc_id]:
            what = f"its text has {length} characters in the index and {known.lengths[doc_id]} in the collection"
            fix = "offsets do not fit: measure evidence of an index of the collection's own texts"
            raise InputError(f"the index has other texts than the collection: {what}", got=doc_id, fix=fix)


_GOLD = {"answers": "answers", "spans": "judgments of passages"}
_MISSING = {
    "answers": "answers are the field 'answers' of queries.jsonl, a list of texts",
    "spans": "judgments of passages are passage_qrels.txt, answers the field 'answers' of queries.jsonl",
}


def _given(read: Any, source: Any, notes: Notes, **options: Any) -> Any:
    return None if source is None else read(source, notes, **options)


def _files(source: Any) -> list[Path]:
    """Return the files of queries; none of queries in memory."""
    return list(map(Path, places(source, "queries"))) if isinstance(source, str | Path | Collection) else []


def _queries(source: Any, notes: Notes) -> Sequence[Any]:
    if source is None:
        raise InputError("evidence names queries by their texts, and there are no queries", fix="give `queries`")
    return read_queries(source, notes)


def _common(inputs: Mapping[str, Mapping[Pair, Sequence[Span]]], pairs: Sequence[Pair], notes: Notes) -> list[Pair]:
    """Return the pairs that all inputs have; count the pairs that each input lacks."""
    for name, orders in inputs.items():
        without = [pair for pair in pairs if pair not in orders]
        if len(without) == len(pairs):
            fix = "check that evidence and judgments have the same query and document ids"
            raise InputError(f"{name} has no document that is relevant to its query", about=("evidence",), fix=fix)
        notes.add(f"{name}: relevant documents without evidence, left out of all rows", _where(without), len(without))
    common = [pair for pair in pairs if all(pair in orders for orders in inputs.values())]
    if not common:
        raise InputError(
            "the inputs have no relevant document in common", about=("evidence",), fix="measure them one by one"
        )
    return common


def _with_gold(known: GoldCollection, pairs: Sequence[Pair], by: str, notes: Notes) -> dict[Pair, Gold]:
    """Return the pairs that have an answer, or gold spans; count the others."""
    every = {pair: known.gold(pair) for pair in pairs}
    found = {pair: gold for pair, gold in every.items() if (gold.answers if by == "answers" else gold.spans)}
    without = [pair for pair in pairs if pair not in found]
    what = "whose answer does not occur" if by == "answers" else "without gold spans"
    notes.add(f"relevant documents {what}, left out", _where(without), len(without))
    if not found and by == "answers":
        raise InputError(
            "no answer occurs in a relevant document",
            about=("gold",),
            fix="take the judgments of passages as gold: spans",
        )
    if not found:
        raise InputError("no relevant document has a gold span", about=("gold",), fix="check the level and the ids")
    return found


def _where(pairs: Sequence[Pair]) -> str:
    return f"query {pairs[0][0]}, {pairs[0][1]}" if pairs else ""
