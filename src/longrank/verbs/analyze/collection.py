"""Describe collections: counts and lengths of documents and queries, judgments, relevant passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.analysis import collection as counting
from longrank.analysis import plots
from longrank.analysis import relevant_passages as passages
from longrank.analysis.render import collection_text, examples_text, relevant_passages_text
from longrank.analysis.result import Analysis
from longrank.analysis.sources import open_source, wordpieces
from longrank.collections import read_qrels, read_queries
from longrank.collections.gold import read_passage_qrels
from longrank.errors import InputError
from longrank.evaluation.systems import places_of
from longrank.formats.passage_documents import read_passage_documents
from longrank.formats.webap import is_webap, passage_grades
from longrank.storage import unchanged
from longrank.types import Notes
from longrank.verbs.naming import naming_files

_SEPARATOR = "#"

if TYPE_CHECKING:
    from longrank.analysis.distribution import Distribution
    from longrank.types import Document


@naming_files
def collection(
    source: Any,
    queries: Any = None,
    qrels: Any = None,
    *,
    model: str | None = None,
    level: int = 1,
    field: str | None = None,
    show_text: bool = False,
    seed: int = 42,
    progress: Callable[[int], object] | None = None,
    notes: Notes | None = None,
) -> Analysis[dict[str, Any]]:
    """Count documents, queries, their lengths and judgments.

    Lengths are of title and text: words between blanks, terms as an index counts them (without stop words), and with
    `model` wordpieces. Judged documents that are missing are named, and one judged document of each grade.

    Args:
        source: an index, a collection folder or ``irds:ID``.
        queries: as `longrank.read_queries` takes them. Default: those of the collection.
        qrels: judgments, as `longrank.evaluate` takes them. Default: those of the collection.
        model: name or folder of a model whose wordpieces are counted.
        level: lowest relevant grade.
        field: topic field that is the query: title, description, ...
        show_text: add queries and documents of the examples to the table.
        seed: seed of the examples.
        progress: called with the number of documents just measured.
        notes: counts remarks on the inputs; the result carries it.

    Raises:
        InputError: no document, or a fault of an input.
        IntegrityError: the index is damaged.
    """
    notes = Notes() if notes is None else notes
    opened = open_source(source, notes)
    queries = opened.queries if queries is None else queries
    qrels = opened.qrels if qrels is None else qrels
    counts = dict(opened.counts)
    topics = None if queries is None else read_queries(queries, notes, field=field)
    grades = None if qrels is None else read_qrels(qrels, notes)
    if show_text and grades is None:
        raise InputError("only judged documents are shown", fix="name the judgments, too")
    if model is not None:
        counts["wordpieces"] = wordpieces(model)
    kept = frozenset() if grades is None else counting.judged_documents(grades)
    with unchanged(opened.files() if show_text else ()):  # which are read twice
        documents, lengths = counting.measured(_counted(opened.documents(), progress), counts, kept)
        about = None if topics is None else counting.query_statistics(topics, grades)
        judged = None if grades is None else counting.judgments(grades, lengths, topics, level=level, seed=seed)
        text = collection_text(documents, about, judged)
        if show_text and judged is not None:
            texts = {query.query_id: query.text for query in topics or ()}
            text += "\n" + examples_text(judged, opened.documents(), texts)
    drawn: dict[str, Distribution] = {f"{unit} of a document": of for unit, of in documents.lengths.items()}
    units = dict.fromkeys(drawn, "documents")
    if judged is not None:
        drawn["judgments of a query"] = judged.per_query
        units["judgments of a query"] = "queries"
    values = {"documents": documents, "queries": about, "judgments": judged}
    record = {**places_of(source=source), "model": model, **values}
    return Analysis(values, text, record, lambda path: plots.plot_distributions(path, drawn, units), notes)


def _counted(documents: Iterable[Document], progress: Callable[[int], object] | None) -> Iterator[Document]:
    for document in documents:
        yield document
        if progress is not None:
            progress(1)


@naming_files
def relevant_passages(
    passage_qrels: Any,
    *,
    separator: str = _SEPARATOR,
    mapping: str | Path | Mapping[str, str] | None = None,
    level: int = 1,
    qrels: Any = None,
    document_level: int | None = None,
    notes: Notes | None = None,
) -> Analysis[passages.RelevantPassages]:
    """Count the relevant passages of relevant documents (PARADE, table 9).

    Args:
        passage_qrels: judgments of passages, or a collection that has some; or WebAP's file, whose neighbouring
            sentences of `level` or more are merged to passages of at most 130 words.
        separator: text between a document's id and the passage's number in a passage id.
        mapping: a file of passage and document ids, or passage id -> doc id, for passages with ids of their own.
        level: lowest relevant grade of a passage.
        qrels: judgments of documents; only documents that they call relevant count.
        document_level: lowest relevant grade of `qrels`. Default: 1.
        notes: counts remarks on the inputs; the result carries it.

    Raises:
        InputError: no passage that counts, an id without its document's, or a fault of an input.
    """
    notes = Notes() if notes is None else notes
    if document_level is not None and qrels is None:
        raise InputError("`document_level` is an option of `qrels`", got=document_level, fix="give `qrels`")
    if mapping is not None and separator != _SEPARATOR:
        raise InputError("`separator` has no effect beside `mapping`", got=separator, fix="leave one of the two out")
    document_level = 1 if document_level is None else document_level
    if isinstance(passage_qrels, str | Path) and is_webap(Path(passage_qrels)):
        judged = passage_grades(Path(passage_qrels), notes, level)
    elif isinstance(passage_qrels, str | Path):
        judged = read_passage_qrels(passage_qrels, notes)
    else:
        judged = read_qrels(passage_qrels, notes)
    if mapping is None:
        document_of = passages.before(separator)
    elif isinstance(mapping, Mapping):
        document_of = passages.mapped(mapping)
    else:
        ids = {passage for grades in judged.values() for passage in grades}
        document_of = passages.mapped(read_passage_documents(Path(mapping), ids, notes))
    grades = None if qrels is None else read_qrels(qrels, notes)
    counted = passages.relevant_passages(judged, document_of, level=level, qrels=grades, document_level=document_level)
    record = places_of(passage_qrels=passage_qrels) | {"level": level} | places_of(qrels=qrels)
    title, across = f"{counted.n:,} relevant documents", "relevant passages of a document"
    return Analysis(
        counted,
        relevant_passages_text(counted, qrels is not None),
        {**record, "document_level": document_level, "result": counted},
        lambda path: plots.plot_counts(path, counted.counts, title=title, across=across),
        notes,
    )
