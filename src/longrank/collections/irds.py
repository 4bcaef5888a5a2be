"""Documents, queries and judgments of ``irds:ID`` through ir_datasets (MacAvaney et al., SIGIR 2021; extra ``irds``).

Logs, progress bars and prompts of ir_datasets stay away from the user's terminal, and its failures (no network, no
licence, no disk space) become an InputError.
"""

from __future__ import annotations

import difflib
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from longrank.collections.irds_spans import Stretch, has_spans, highest_grades, passage_judgments, text_and_passages
from longrank.errors import InputError, MissingExtra
from longrank.formats.ids import check_id
from longrank.formats.passage_qrels import PassageJudgment
from longrank.formats.records import NAMES_OF_TEXT, Record
from longrank.formats.topics import field_among
from longrank.registries import suggestion
from longrank.types import Notes, Query

T = TypeVar("T")
_END = object()


def load(dataset_id: str) -> Any:
    """Return a dataset of ir_datasets; nothing is fetched yet.

    Raises:
        InputError: no such id; suggests the nearest.
        MissingExtra: ir_datasets is not installed.
    """
    ir_datasets = _quietly(dataset_id, _import)
    if ir_datasets is None:
        raise MissingExtra("reading irds:ID", "irds")
    try:
        return _quietly(dataset_id, lambda: ir_datasets.load(dataset_id))
    except InputError as error:
        if not isinstance(error.__cause__, KeyError):
            raise
    near = difflib.get_close_matches(dataset_id, list(ir_datasets.registry), n=3, cutoff=0.5)
    fix = f"did you mean {' or '.join(near)}?" if near else "the ids are listed on ir-datasets.com"
    raise InputError("ir_datasets has no such dataset", path=f"irds:{dataset_id}", fix=fix)


def irds_records(dataset_id: str) -> Iterator[Record]:
    """Yield the documents of a dataset as records; every field that is a string or a number is a field.

    ``text`` is the field text, body or contents, else ir_datasets' default text. A document that comes in spans has
    them as its passages.

    Raises:
        InputError: no such dataset, it has no documents, or they cannot be fetched.
    """
    dataset = _with(dataset_id, "docs")
    for doc in _each(dataset_id, dataset.docs_iter):
        fields = doc._asdict().items()
        values: dict[str, Any] = {name: value for name, value in fields if isinstance(value, str | int | float)}
        if isinstance(getattr(doc, "spans", None), tuple):
            values |= text_and_passages(doc.spans)
        elif not any(name in values for name in NAMES_OF_TEXT):
            values = {"text": _quietly(dataset_id, doc.default_text)} | values
        yield Record(check_id(doc.doc_id, "doc_id", Path(f"irds:{dataset_id}")), values, None)


def irds_queries(dataset_id: str, field: str | None = None) -> list[Query]:
    """Return the queries of a dataset.

    Args:
        dataset_id: the id, without ``irds:``.
        field: the field to search for, by any of its names; default: ir_datasets' default text, which is the title of a
            TREC topic.

    Raises:
        InputError: no such dataset, it has no queries, they cannot be fetched, or no query has the field.
    """
    dataset, place = _with(dataset_id, "queries"), Path(f"irds:{dataset_id}")
    queries = []
    for query in _each(dataset_id, dataset.queries_iter):
        fields = {name: value for name, value in query._asdict().items() if isinstance(value, str)}
        query_id = check_id(fields.pop("query_id"), "query id", place)
        name = None if field is None else field_among(field, fields)
        if field is not None and name is None:
            raise InputError(f"no field '{field}' in its queries", path=place, fix=suggestion(field, fields))
        text = query.default_text() if name is None else fields[name]
        if not text.strip():
            raise InputError(f"query {query_id} is empty", path=place, fix="choose another --field")
        queries.append(Query(query_id, text.strip(), fields))
    return queries


def irds_qrels(dataset_id: str) -> dict[str, dict[str, int]]:
    """Return the judgments of a dataset: query_id -> doc_id -> grade, of stretches of a document the highest.

    Raises:
        InputError: no such dataset, it has no judgments, they cannot be fetched, or two of them contradict.
    """
    dataset = _with(dataset_id, "qrels")
    if has_spans(dataset):
        return highest_grades(_stretches(dataset_id, dataset))
    qrels: dict[str, dict[str, int]] = {}
    for qrel in _each(dataset_id, dataset.qrels_iter):
        judged = qrels.setdefault(qrel.query_id, {})
        if judged.setdefault(qrel.doc_id, qrel.relevance) != qrel.relevance:
            what = f"document {qrel.doc_id} is judged twice, differently, for query {qrel.query_id}"
            raise InputError(what, path=f"irds:{dataset_id}")
    return qrels


def irds_passage_judgments(dataset_id: str, notes: Notes) -> list[PassageJudgment]:
    """Return the judgments of passages of a dataset that judges stretches of its documents.

    Args:
        dataset_id: the id, without ``irds:``.
        notes: counts judged stretches that lie in no passage.

    Raises:
        InputError: no such dataset, it judges whole documents only, or its parts cannot be fetched.
    """
    dataset, place = _with(dataset_id, "qrels"), Path(f"irds:{dataset_id}")
    if not has_spans(dataset):
        raise InputError("this dataset has no judgments of passages", path=place)
    store = _quietly(dataset_id, dataset.docs_store)

    def spans_of(doc_id: str) -> tuple[Any, ...] | None:
        found = _quietly(dataset_id, lambda: store.get_many([doc_id]))
        return found[doc_id].spans if doc_id in found else None

    return passage_judgments(_stretches(dataset_id, dataset), spans_of, place, notes)


def _stretches(dataset_id: str, dataset: Any) -> Iterator[Stretch]:
    for qrel in _each(dataset_id, dataset.qrels_iter):
        yield Stretch(qrel.query_id, qrel.doc_id, qrel.start, qrel.length, qrel.relevance)


def _import() -> Any:
    try:
        import ir_datasets
    except ImportError:
        return None
    return ir_datasets


def _with(dataset_id: str, part: str) -> Any:
    dataset = load(dataset_id)
    if not dataset.has(part):
        raise InputError(f"this dataset has no {part}", path=f"irds:{dataset_id}")
    return dataset


def _each(dataset_id: str, iterate: Callable[[], Any]) -> Iterator[Any]:
    items = _quietly(dataset_id, lambda: iter(iterate()))
    while (item := _quietly(dataset_id, lambda: next(items, _END))) is not _END:
        yield item


def _quietly(dataset_id: str, work: Callable[[], T]) -> T:
    """Call ir_datasets without its output; any failure becomes the cause of an InputError."""
    try:
        with _no_terminal():
            return work()
    except EOFError as error:  # a prompt for a name and a password
        what, fix = "needs a licence", f"see https://ir-datasets.com/{dataset_id.partition('/')[0]}.html"
        raise InputError(what, path=f"irds:{dataset_id}", fix=fix) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".split("\n")[0][:200]
        fix = "is the network there? its files may also be put where https://ir-datasets.com says"
        raise InputError(f"cannot be read ({reason})", path=f"irds:{dataset_id}", fix=fix) from error


@contextmanager
def _no_terminal() -> Iterator[None]:
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
