"""Analyzers of an index whose documents name their languages in a metadata field.

All languages share the dictionary of terms: a name is the same term in every language, and statistics are those of the
whole collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.formats.corpora import Located
from longrank.formats.records import CorpusOptions
from longrank.index.options import IndexOptions
from longrank.storage import digest_of
from longrank.text.analysis import ANALYZERS, Analyzer, check_analyzer
from longrank.text.language_tags import PLAIN, analyzer_of
from longrank.types import Notes, Query

if TYPE_CHECKING:
    from longrank.index.living_metadata import LivingMetadata
    from longrank.index.metadata import Metadata


def keeping(corpus: CorpusOptions, field: str) -> CorpusOptions:
    """Return options of reading that keep the language field, if it is not empty, with the documents.

    Raises:
        InputError: the field is a part of the text.
    """
    if field and field in corpus.fields:
        fix = "leave it out of --fields, or name another field"
        raise InputError("the language field is a part of the text", got=field, fix=fix)
    if not field or corpus.metadata is None or field in corpus.metadata:
        return corpus
    return replace(corpus, metadata=(*corpus.metadata, field))


def reading(options: IndexOptions, corpus: CorpusOptions | None = None) -> CorpusOptions:
    """Return options of reading documents for an index: `corpus`, with fields, texts and metadata as in the index.

    Raises:
        InputError: `corpus` has other ones, which are not the defaults either; or as `keeping`.
    """
    corpus = corpus or CorpusOptions()
    given, usual = keeping(corpus, options.analyzer_field), CorpusOptions()
    for name in ("fields", "index_only", "title_in_text", "metadata"):
        allowed = (getattr(usual, name), getattr(options, name))
        if comparable(name, getattr(given, name)) not in [comparable(name, value) for value in allowed]:
            fix = f"the index has {name}={getattr(options, name)!r}; leave it out, or build a new index"
            raise InputError(f"`{name}` is an option of a new index", got=getattr(corpus, name), fix=fix)
    own = replace(
        corpus,
        fields=options.fields,
        index_only=options.index_only,
        title_in_text=options.title_in_text,
        metadata=options.metadata,
        known=True,
    )
    return keeping(own, options.analyzer_field)


def comparable(name: str, value: Any) -> Any:
    """Return an option of reading for a comparison: lists equal tuples, and the order of metadata means nothing."""
    if name == "metadata" and value is not None:
        return frozenset(value)
    return tuple(value) if isinstance(value, list) else value


@dataclass
class LanguageReader:
    """Finds the analyzer of each document while documents are read.

    Attributes:
        options: options of the index.
        notes: counts documents of languages without an analyzer of their own.
        n_named: documents so far that name a language.
    """

    options: IndexOptions
    notes: Notes
    n_named: int = 0

    def analyzer(self, located: Located) -> str:
        """Return the name of a document's analyzer; empty: that of the index.

        Raises:
            InputError: the field is no text, or no language.
            MissingExtra: a package that the analyzer needs is not installed.
        """
        field = self.options.analyzer_field
        tag = located.document.metadata.get(field) if field else None
        if tag is None:
            return ""
        path, line = located.path, located.line
        if not isinstance(tag, str):
            fix = "give a code such as en or de"
            raise InputError(f"'{field}' is not a text", path=path, line=line, got=tag, fix=fix)
        try:
            name = analyzer_of(tag)
        except InputError as error:
            raise InputError(f"unknown language in '{field}'", path=path, line=line, got=tag, fix=error.fix) from None
        self.n_named += 1
        if name is None:
            return ""
        if _is_plain(name, tag):
            self.notes.add(f"documents in {tag!r}, which has no analyzer, indexed as plain words", path)
        check_analyzer(name)
        return name

    def checked(self, documents: Iterable[Located]) -> Iterator[Located]:
        """Yield all documents; then refuse a language field that none of them has: it is probably misspelt.

        Raises:
            InputError: names the field.
        """
        yield from documents
        if self.options.analyzer_field and not self.n_named:
            fix = "see --analyzer-field"
            raise InputError("no document has the language field", got=self.options.analyzer_field, fix=fix)


class Languages:
    """Analyzers of the documents and queries of an index."""

    def __init__(self, options: IndexOptions, stored: Metadata | LivingMetadata | None, n_docs: int) -> None:
        self._options, self._stored, self._n_docs = options, stored, n_docs

    @cached_property
    def _analyzers(self) -> tuple[list[str], NDArray[np.uint8]]:
        """Names of analyzers, and the place of each document's analyzer among them, uint8[D]."""
        names, places = [self._options.analyzer], np.zeros(self._n_docs, np.uint8)
        field = self._options.analyzer_field
        if not field or self._stored is None or field not in self._stored.fields:
            return names, places
        column = self._stored.column(field)
        own = [analyzer_of(value.value) or self._options.analyzer for value in column.values]
        names += sorted(set(own) - set(names))
        places[column.docs] = np.array([names.index(name) for name in own], np.uint8)[column.codes]
        return names, places

    @cached_property
    def _living(self) -> list[Analyzer]:
        names, places = self._analyzers
        return [ANALYZERS[names[place]] for place in np.unique(places)]

    def of_document(self, number: int) -> Analyzer:
        """Return the analyzer of the document with a number."""
        if not self._options.analyzer_field:
            return ANALYZERS[self._options.analyzer]
        names, places = self._analyzers
        return ANALYZERS[names[places[number]]]

    def query_terms(self, query: Query) -> Counter[str]:
        """Return the terms of a query with their numbers of occurrences.

        Several languages: the terms of all, each with its largest number of occurrences in a language.

        Raises:
            InputError: the query names a language that is no language.
        """
        counts = [Counter(analyzer(query.text)) for analyzer in self.of_query(query)]
        return reduce(Counter.__or__, counts)

    def of_query(self, query: Query) -> list[Analyzer]:
        """Return the analyzer of the language that the query names in the index's language field, or all analyzers.

        Raises:
            InputError, MissingExtra: as `query_terms`; a package is not installed.
        """
        field = self._options.analyzer_field
        if not field:
            return [ANALYZERS[self._options.analyzer]]
        name = _analyzer_of_query(query, field)
        if name is not None:
            check_analyzer(name)
        return self._living if name is None else [ANALYZERS[name]]


def _analyzer_of_query(query: Query, field: str) -> str | None:
    tag = query.fields.get(field, "")
    try:
        return analyzer_of(tag)
    except InputError as error:
        place = f"query {query.query_id!r}: unknown language in {field!r}"
        raise InputError(place, got=tag, fix=error.fix) from None


def in_language(queries: Iterable[Query], lang: str | None, options: IndexOptions, notes: Notes) -> list[Query]:
    """Return queries of a language, in place of the languages that they name; None: the queries as they are.

    Args:
        queries: the queries.
        lang: a language; None: each query's own.
        options: options of the index.
        notes: takes languages without an analyzer of their own: such queries are read as plain words.

    Raises:
        InputError: no language, or the documents of the index share an analyzer.
    """
    if lang is not None and not isinstance(lang, str):
        raise InputError("a language is a text", got=lang, fix="give a code such as en or de")
    field = options.analyzer_field
    if lang is None:
        queries = list(queries)
        for query in queries if field else ():
            if _is_plain(_analyzer_of_query(query, field), tag := query.fields.get(field, "")):
                notes.add(f"queries in {tag!r}, which has no analyzer, read as plain words", query.query_id)
        return queries
    if not field:
        fix = "leave out the language, or build the index with --analyzer-field"
        raise InputError(f"the documents of this index share the analyzer {options.analyzer}", got=lang, fix=fix)
    if _is_plain(analyzer_of(lang), lang):
        notes.say(f"{lang!r} has no analyzer: queries are read as plain words")
    return [replace(query, fields={**query.fields, field: lang}) for query in queries]


def digest_of_queries(queries: Iterable[Query], options: IndexOptions) -> str:
    """Return a digest of the ids, the texts and, for an index of several languages, the languages of queries.

    Results that are resumed name it: another language gives a query other terms.
    """
    field = options.analyzer_field
    return digest_of(
        [[query.query_id, query.text, *([query.fields[field]] if field in query.fields else [])] for query in queries]
        if field
        else [[query.query_id, query.text] for query in queries]
    )


def _is_plain(name: str | None, tag: str) -> bool:
    """Tell whether a language has plain words for want of an analyzer, not because they were asked for."""
    return name == PLAIN and tag.strip().lower() != PLAIN
