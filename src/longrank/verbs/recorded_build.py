"""Build an index with a record of its source files, which updates compare with the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from longrank.collections.documents import locate_documents, places_of
from longrank.collections.files import check_patterns
from longrank.errors import Changed, LongRankError
from longrank.formats.corpora import Located
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.index.languages import keeping
from longrank.index.locking import building
from longrank.index.sources import Sources, write_sources
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
    index = Index.build(_counted(digested(located, digests), runs), folder, corpus=corpus, notes=notes, **options)
    if files is not None:
        mark_unread(files, files, visited, {})
        files |= {path: digest.state(path) for path, digest in digests.items()}
        end = 0
        for path, n in runs:
            name = absolute(path)
            state = files.get(name) or unlisted(name)
            cuts = [*range(end, end + n, _IDS), end + n]
            ids = (doc_id for a, b in pairwise(cuts) for doc_id in index.doc_ids(np.arange(a, b)))
            files[name] = state._replace(ids=(*state.ids, *ids))
            end += n
        stands = "the index is valid, but updates need this record: build the index again"
        with telling_state(stands), building(folder):  # no other command changes the index
            if Index(folder).digest != index.digest:
                raise Changed("another command has changed the index since it was built", path=folder)
            beside = beside_documents(map(absolute, places), corpus)
            write_sources(folder, Sources(names, corpus, files, index.digest, beside=beside))


@contextmanager
def telling_state(state: str) -> Iterator[None]:
    """Add to the message of a failed write what stands."""
    try:
        yield
    except LongRankError as error:
        raise LongRankError(f"{error}; {state}") from error


def _counted(documents: Iterator[Located], runs: list[tuple[str, int]]) -> Iterator[Located]:
    """Yield documents; count them in `runs`, file by file."""
    for located in documents:
        if runs and runs[-1][0] == located.path:
            runs[-1] = (located.path, runs[-1][1] + 1)
        else:
            runs.append((located.path, 1))
        yield located
