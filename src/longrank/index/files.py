"""From files to an index in one call: reading and building share one idea of the fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from longrank.formats.corpora import CorpusOptions, read_documents
from longrank.index.builder import build_index
from longrank.index.options import IndexOptions
from longrank.index.reader import Index
from longrank.types import Notes


def index_files(
    sources: Sequence[str],
    folder: Path | str,
    *,
    corpus: CorpusOptions | None = None,
    analyzer: str = "porter",
    notes: Notes | None = None,
    progress: Callable[[int], None] | None = None,
    workers: int = 1,
) -> Index:
    """Index files, folders, collection folders or ``irds:ID`` into `folder`.

    Args:
        sources: where the documents are.
        folder: absent, empty, or an index, which is replaced when all is done.
        corpus: format, fields and encoding of the documents. The title is always kept, and indexed
            if it is among the fields.
        analyzer: a name in `longrank.text.analysis.ANALYZERS`.
        notes: counts what was accepted with a remark.
        progress: called now and then with the number of documents just indexed.
        workers: processes to use besides this one; see `build_index`.

    Raises:
        InputError, MissingExtra: as `read_documents` and `build_index`.
        LongRankError: writing failed.
    """
    corpus, notes = corpus or CorpusOptions(), Notes() if notes is None else notes
    options = IndexOptions(analyzer, "title" in corpus.fields, corpus.fields)
    documents = read_documents(sources, notes, corpus)
    return build_index(documents, folder, options=options, notes=notes, progress=progress, workers=workers)
