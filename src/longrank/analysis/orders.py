"""Passages that systems show for documents, best first: of evidence files, JSONL files, or values in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longrank.analysis.gold import Pair
from longrank.errors import InputError
from longrank.formats.evidence import open_evidence
from longrank.formats.shown_passages import is_evidence_file, read_shown_passages
from longrank.types import Evidence, Notes, Query, Span

_FIX = "evidence is a file, Evidence values, objects with query_id, doc_id and passages, or a mapping name -> evidence"


class Order(NamedTuple):
    """The passages of a document for a query, best first."""

    query_id: str
    doc_id: str
    spans: Sequence[Span]


def named_sources(sources: Any) -> dict[str, Any]:
    """Return name -> source of one input, a list of files, or a mapping name -> source; files by their shortest names.

    Raises:
        InputError: there is no input, or another kind of value.
    """
    if isinstance(sources, str | Path):
        sources = [sources]
    if isinstance(sources, Mapping) and "passages" not in sources:
        named = {str(name): source for name, source in sources.items()}
    elif not isinstance(sources, Iterable):
        raise InputError(f"no evidence can be read from a {type(sources).__name__}", got=sources, fix=_FIX)
    else:
        items = [sources] if isinstance(sources, Mapping) else list(sources)
        paths = [Path(item) for item in items if isinstance(item, str | Path)]
        short = Counter(path.name for path in paths)
        files = {path.name if short[path.name] == 1 else str(path): path for path in paths}
        named = files if len(paths) == len(items) else {"memory": items}
    if not named or named == {"memory": []}:
        raise InputError("there is no evidence", about=("evidence",), fix=_FIX)
    return named


def read_orders(
    source: Any,
    queries: Callable[[], Sequence[Query]],
    lengths: Mapping[str, int],
    notes: Notes,
    *,
    digest: str | None = None,
) -> dict[Pair, Sequence[Span]]:
    """Read an input.

    Args:
        source: a file, `Evidence` values, or objects as `read_shown_passages` takes them.
        queries: returns all queries; called if an object names a query by its text.
        lengths: doc_id -> characters of every document of the collection.
        notes: counts lines whose query the collection lacks.
        digest: digest of the index that an evidence file must be of; None: any.

    Returns:
        (query_id, doc_id) -> passages, best first.

    Raises:
        InputError: evidence of another index; a document that the collection lacks; a passage beyond the end of its
            document; a document twice for a query; or as the readers.
        IntegrityError: as `read_evidence`.
    """
    place = source if isinstance(source, str | Path) else Path("evidence")
    found: dict[Pair, Sequence[Span]] = {}
    for line, order in _orders(source, queries, notes, digest):
        fault, got = _fault(order, lengths), order.doc_id
        if (order.query_id, order.doc_id) in found:
            fault, got = f"document occurs twice for query {order.query_id}", order.doc_id
        if fault is not None:
            fix = "give the collection that was searched"
            raise InputError(fault, path=place, line=line, got=got, fix=fix if "twice" not in fault else None)
        found[order.query_id, order.doc_id] = order.spans
    return found


def _fault(order: Order, lengths: Mapping[str, int]) -> str | None:
    if order.doc_id not in lengths:
        return "the collection lacks a document of the evidence"
    last = max((end for _, end in order.spans), default=0)
    if last > (length := lengths[order.doc_id]):
        return f"a passage ends at character {last} of a document of {length}"
    return None


def _orders(
    source: Any, queries: Callable[[], Sequence[Query]], notes: Notes, digest: str | None
) -> Iterator[tuple[int | None, Order]]:
    """Yield the orders of a source, with the line in a JSONL file."""
    if isinstance(source, str | Path):
        source = Path(source)
        stored = is_evidence_file(source)
    else:
        source = list(source)
        stored = any(isinstance(item, Evidence) for item in source)
    if not stored:
        if digest is not None:
            notes.add(
                "inputs that do not name their index, so it is not compared",
                str(source) if isinstance(source, Path) else "",
            )
        yield from _of_lines(source, queries, notes)
        return
    header, records = open_evidence(source)
    if digest is not None and header and header["collection"] != digest:
        fix = "give the index that the evidence was scored on"
        raise InputError("this evidence is of another index", path=source, got=header["collection"], fix=fix)
    for evidence in records:
        best = evidence.best_first()
        spans = zip(evidence.passage_start[best].tolist(), evidence.passage_end[best].tolist(), strict=True)
        yield None, Order(evidence.query_id, evidence.doc_id, list(spans))


def _of_lines(
    source: Path | Sequence[Any], queries: Callable[[], Sequence[Query]], notes: Notes
) -> Iterator[tuple[int, Order]]:
    ids: dict[str, list[str]] | None = None
    for shown in read_shown_passages(source, notes):
        if shown.query_id is not None:
            yield shown.line, Order(shown.query_id, shown.doc_id, shown.spans)
            continue
        if ids is None:
            ids = {}
            for query in queries():
                ids.setdefault(_spaced(query.text), []).append(query.query_id)
        own = ids.get(_spaced(shown.query or ""), [])
        notes.add("lines of a query that the collection lacks", f"line {shown.line}", not own)
        yield from ((shown.line, Order(query_id, shown.doc_id, shown.spans)) for query_id in own)


def _spaced(text: str) -> str:
    return " ".join(text.split())
