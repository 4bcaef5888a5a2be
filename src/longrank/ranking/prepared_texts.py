"""Texts of a request, ready for the scorer: checked, shortened to the limits, and split into passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from longrank.collections.documents import read_documents
from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.jsonl import SURROGATES
from longrank.formats.queries import query_text
from longrank.formats.records import ID_KEYS
from longrank.formats.spans import spans_of
from longrank.formats.strict_json import repaired
from longrank.protocols import Candidate, CollectionStatistics
from longrank.ranking.passages import PassageDocumentScorer, Prepared
from longrank.registries import check_at_least
from longrank.scoring.lexical import TextStatistics
from longrank.storage import digest_of
from longrank.text.analysis import Analyzer
from longrank.text.windows import OffsetTokenizer, Units, whitespace_words, wordpieces
from longrank.types import UNMATCHED, Document, Notes, Query, id_of, is_frame

_LABELS = Path("labels")
_CHARACTERS_PER_TOKEN = 100  # most tokens are shorter; only a beginning of the text is tokenised


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Limits of reading, 1 or more: tokens per document, passages per document, tokens of the query; None: no limit."""

    document_tokens: int | None = None
    passages: int | None = None
    query_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("document_tokens", "passages", "query_tokens"):
            if (limit := getattr(self, name)) is not None:
                check_at_least(name, limit, 1)


@dataclass(frozen=True, slots=True)
class PreparedTexts:
    """Documents ready for the scorer: see `prepared_texts`.

    `query_cut` names the limit that cut the query, empty if none did; `ids` are those that were given; `remarks` are on
    the texts.
    """

    query: Query
    block: Prepared
    cut: tuple[bool, ...]
    query_cut: str
    ids: tuple[str, ...] = ()
    remarks: Notes = field(default_factory=Notes)


def prepared_texts(
    scorer: PassageDocumentScorer,
    query: str,
    documents: Iterable[Any],
    limits: TextLimits,
    statistics: CollectionStatistics | None = None,
    *,
    analyzer: Analyzer | None = None,
) -> PreparedTexts:
    """Split documents into passages, and select the passages to score; the passage scorer is not called.

    Args:
        scorer: splits and selects.
        query: the query.
        documents: as for `Reranker.rank`; scores do not depend on their ids.
        limits: limits of reading; tokens are the scorer's, words if it has no model.
        statistics: statistics of a collection; None: those of the documents.
        analyzer: analysis chain of the documents; None: that of English. With `statistics`, theirs counts.

    Raises:
        InputError: the query is empty, there is no document, or `limits` is no `TextLimits`.
    """
    if not isinstance(limits, TextLimits):
        raise InputError(
            "limits must be TextLimits", got=limits, fix="from longrank.ranking.prepared_texts import TextLimits"
        )
    remarks = Notes()
    asked = query_text(query, remarks)
    documents = listed_texts(_labelled(documents), "texts")
    if not documents:
        raise InputError("list of documents must not be empty")
    tokenizer = tokenizer_of(scorer)
    text, is_shorter = _shortened(asked, limits.query_tokens, tokenizer)
    limit = "the limit of query tokens" if is_shorter else ""
    query_cut = "the scorer's limit" if scorer.cuts_query(text) else limit
    candidates, cut, given = [], [], [_document(document, number) for number, document in enumerate(documents, 1)]
    for document in given:
        (title, whole), replaced = repaired([document.title, document.text])
        remarks.add(SURROGATES, count=replaced)
        read, shortened = _shortened(whole, limits.document_tokens, tokenizer)
        known = _beginning(document, len(read)) if shortened else document
        named = _named(replace(known, title=title, text=read))
        candidates.append(Candidate(Query("q", text), named, 0.0))
        cut.append(shortened)
    statistics = statistics or TextStatistics([candidate.document for candidate in candidates], analyzer)
    block, fewer = _at_most(scorer.noting(remarks).prepare(candidates, statistics), limits.passages)
    unread = tuple(a or b for a, b in zip(cut, fewer, strict=True))
    ids = tuple(document.doc_id for document in given)
    return PreparedTexts(Query("q", text), block, unread, query_cut, ids, remarks.copy(places=False))


def _labelled(documents: Any) -> Any:
    """Return a Series of pandas as (label, text) pairs if all its labels can be ids. Other values stay as they are."""
    if not (hasattr(documents, "items") and hasattr(documents, "to_frame")):
        return documents
    labels, texts = list(documents.index), list(documents)
    fit = all(map(_can_be_id, labels)) and not any(map(_has_id, texts))
    return list(zip(labels, texts, strict=True)) if fit else texts


def _has_id(document: Any) -> bool:
    return isinstance(document, Document) or (isinstance(document, Mapping) and bool(document.keys() & {*ID_KEYS}))


def _can_be_id(label: Any) -> bool:
    try:
        return bool(check_id(id_of(label, "label"), "label", _LABELS))
    except InputError:
        return False


def tokenizer_of(scorer: PassageDocumentScorer) -> OffsetTokenizer | None:
    """Return the tokenizer of a scorer's model; None if there is none."""
    return getattr(scorer.scorer, "offset_tokenizer", None)


def units_of(text: str, tokenizer: OffsetTokenizer | None) -> Units:
    """Return the tokens of a text; words without a tokenizer."""
    return whitespace_words(text) if tokenizer is None else wordpieces(text, tokenizer)


def listed_texts(values: Any, kind: str) -> list[Any]:
    """Return values as a list.

    Args:
        values: the values.
        kind: their name in messages.

    Raises:
        InputError: a text, a mapping, a table, a set, which has no order, or nothing that has items.
    """
    if (
        isinstance(values, str | bytes | Mapping | set | frozenset)
        or is_frame(values)
        or not isinstance(values, Iterable)
    ):
        raise InputError(f"a list of {kind} is needed, not a {type(values).__name__}", got=values)
    return list(values)


def _shortened(text: str, n_tokens: int | None, tokenizer: OffsetTokenizer | None) -> tuple[str, bool]:
    """Return the first `n_tokens` tokens of a text, and whether the text is longer."""
    if n_tokens is None:
        return text, False
    length = _CHARACTERS_PER_TOKEN * (n_tokens + 1)
    while len(units := units_of(text[:length], tokenizer)) <= n_tokens and length < len(text):
        length *= 2
    return (text, False) if len(units) <= n_tokens else (text[: units.span(0, n_tokens)[1]], True)


def _beginning(document: Document, length: int) -> Document:
    """Keep the passages and headings that begin in the first `length` characters; a passage ends there."""
    passages = document.passages
    if UNMATCHED not in passages:
        passages = tuple((start, min(end, length)) for start, end in passages if start < length)
    headings = tuple(heading for heading in document.headings if heading[0] < length)
    return replace(document, passages=passages, headings=headings)


def _at_most(block: Prepared, n: int | None) -> tuple[Prepared, list[bool]]:
    """Keep the first `n` selected passages of each document, and tell which documents had more."""
    fewer = [n is not None and len(task.passages) > n for task in block.tasks]
    if not any(fewer):
        return block, fewer
    tasks = [task._replace(passages=task.passages[:n], texts=task.texts[:n]) for task in block.tasks]
    selected = [
        chosen._replace(positions=chosen.positions[:n], weights=chosen.weights[:n]) for chosen in block.selected
    ]
    return block._replace(tasks=tasks, selected=selected), fewer


def _named(document: Document) -> Document:
    """Return a document with an id that depends on the content alone: passages of long documents are drawn by it.

    Ids of an index have no blank, so this id never finds vectors stored with an index.
    """
    places = [repr((document.passages, document.headings))] if document.passages or document.headings else []
    return replace(document, doc_id=f"text {digest_of([document.title, document.text, *places])}")


def _document(document: Any, number: int) -> Document:
    if isinstance(document, Document):
        for name, text in (("title", document.title), ("text", document.text)):
            if not isinstance(text, str):
                raise InputError(f"the {name} of a document to rerank must be a text", got=type(text).__name__)
        return replace(document, passages=spans_of(document))
    if isinstance(document, Mapping) or (isinstance(document, tuple) and len(document) == 2):
        has_id = not isinstance(document, Mapping) or _has_id(document)
        try:
            read = next(read_documents([document if has_id else ("text", document)]))
        except InputError as error:
            raise InputError(error.what, path=error.path, line=number, got=error.got, fix=error.fix) from None
        return read if has_id else replace(read, doc_id="")
    if not isinstance(document, str):
        what = "a document to rerank must be a text, a Document, a mapping or an (id, text) pair"
        raise InputError(what, got=type(document).__name__)
    return Document("", "", document)
