"""Build an index with a record of its source files, which updates compare with the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.collections.documents import locate_documents, places_of
from longrank.collections.files import check_patterns
from longrank.formats.corpora import Located
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.index.languages import keeping
from longrank.index.sources import Sources
from longrank.storage.remote import changing
from longrank.types import Notes
from longrank.verbs.collection_changes import beside_documents
from longrank.verbs.rows_digest import RowsDigest, digested
from longrank.verbs.source_states import (
    SizeAndTime,
    absolute,
    mark_unread,
    noting_visits,
    recorded,
    states_of,
    unlisted,
)

_IDS = 1 << 14  # ids read at a time


def build_from_files(
    sources: Iterable[str | Path], folder: Path | str, *, corpus: CorpusOptions, notes: Notes, **options: Any
) -> Index:
    """Build an index as `Index.build`, and record the sources if all are files, folders and databases.

    Args:
        sources: files, folders, databases, collections or ``irds:ID``.
        folder: as for `Index.build`.
        corpus: format, fields and encoding of the documents.
        notes: counts remarks on accepted input.
        options: further options of `Index.build`.

    Raises:
        InputError, MissingExtra, LongRankError: as `Index.build`.
    """
    given = [str(source) for source in sources]
    places = places_of(given)
    check_patterns(places, corpus)
    with changing(folder, notes, anew=True) as local:
        _build(given, places, local, corpus=corpus, notes=notes, **options)
    index = Index(folder)
    index.notes = notes
    return index


def _build(
    sources: Sequence[str],
    places: Sequence[str],
    folder: Path,
    *,
    corpus: CorpusOptions,
    notes: Notes,
    **options: Any,
) -> None:
    corpus = keeping(corpus, options.get("analyzer_field", ""))
    names = tuple(name for source in sources for name in recorded(source))
    sizes: dict[str, SizeAndTime] = {}
    files = states_of(places, corpus, notes, sizes)
    runs: list[tuple[str, int]] = []
    digests: dict[str, RowsDigest] = {}
    visited: dict[str, bool] = {}
    located = locate_documents(list(places), notes, noting_visits(corpus, visited, sizes))

    def record(digest: str, doc_ids: Callable[[NDArray[np.integer]], list[str]]) -> Sources | None:
        if files is None:
            return None
        mark_unread(files, files, visited, {})
        states = files | {path: rows.state(path) for path, rows in digests.items()}
        end = 0
        for path, n in runs:
            name = absolute(path)
            state = states.get(name) or unlisted(name)
            cuts = [*range(end, end + n, _IDS), end + n]
            ids = (doc_id for a, b in pairwise(cuts) for doc_id in doc_ids(np.arange(a, b)))
            states[name] = state._replace(ids=(*state.ids, *ids))
            end += n
        return Sources(names, corpus, states, digest, beside=beside_documents(map(absolute, places), corpus))

    counted = _counted(digested(located, digests), runs)
    Index.build(counted, folder, corpus=corpus, notes=notes, recording=record, **options)


def _counted(documents: Iterator[Located], runs: list[tuple[str, int]]) -> Iterator[Located]:
    """Yield documents; count them in `runs`, file by file."""
    for located in documents:
        if runs and runs[-1][0] == located.path:
            runs[-1] = (located.path, runs[-1][1] + 1)
        else:
            runs.append((located.path, 1))
        yield located
