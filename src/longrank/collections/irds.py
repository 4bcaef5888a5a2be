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
from longrank.formats.queries import check_language, texts_of
from longrank.formats.records import NAMES_OF_TEXT, Record
from longrank.formats.topics import Topic
from longrank.types import Notes, id_of

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
    """Yield the documents of a dataset as records with its fields.

    ``text`` is the field text, body or contents if that is a text, else ir_datasets' default text. A document that
    comes in spans has them as its passages.

    Raises:
        InputError: no such dataset, it has no documents, or they cannot be fetched.
    """
    dataset = _with(dataset_id, "docs")
    for doc in _each(dataset_id, dataset.docs_iter):
        values = {name: value for name, value in doc._asdict().items() if _is_read(name, value)}
        if isinstance(getattr(doc, "spans", None), tuple):
            values |= text_and_passages(values.pop("spans"))
        elif not any(name in values for name in NAMES_OF_TEXT):
            values = {"text": _quietly(dataset_id, doc.default_text)} | values
        yield Record(check_id(doc.doc_id, "doc_id", Path(f"irds:{dataset_id}")), values, None)


def _is_read(name: str, value: Any) -> bool:
    """Tell whether a field is read: parts of a text are in ir_datasets' default text, and bytes are raw pages."""
    is_text = name in (*NAMES_OF_TEXT, "passages")
    return not isinstance(value, bytes) and (not is_text or isinstance(value, str))


def irds_topics(dataset_id: str, notes: Notes) -> list[tuple[Topic, str]]:
    """Return the queries of a dataset, and ir_datasets' default text of each, which is the title of a TREC topic.

    Args:
        dataset_id: the id, without ``irds:``.
        notes: counts fields that are no texts.

    Raises:
        InputError: no such dataset, it has no queries, they cannot be fetched, or a language is no text.
    """
    dataset, place = _with(dataset_id, "queries"), Path(f"irds:{dataset_id}")
    topics = []
    for number, query in enumerate(_each(dataset_id, dataset.queries_iter), 1):
        fields = query._asdict()
        check_language(fields, place, number)
        texts = texts_of(fields, f"{place}:{number}", notes)
        topics.append((Topic(number, id_of(query.query_id, "query id"), texts), query.default_text()))
    if not topics:
        raise InputError("holds no query", path=place)
    return topics


def irds_judgments(dataset_id: str) -> Iterator[tuple[str, str, int]]:
    """Yield the judgments of a dataset: query id, doc id and grade, of stretches of a document the highest.

    Raises:
        InputError: no such dataset, it has no judgments, or they cannot be fetched.
    """
    dataset = _with(dataset_id, "qrels")
    if has_spans(dataset):
        for query_id, judged in highest_grades(_stretches(dataset_id, dataset)).items():
            yield from ((query_id, doc_id, grade) for doc_id, grade in judged.items())
        return
    for qrel in _each(dataset_id, dataset.qrels_iter):
        yield qrel.query_id, qrel.doc_id, qrel.relevance


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
