"""From files to an index in one call: reading and building share one idea of the fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from longrank.collections.documents import locate_documents
from longrank.formats.corpora import CorpusOptions
from longrank.formats.expansions import read_expansions
from longrank.formats.lines import TextOptions
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
    expansions: Sequence[Path] = (),
    original_copies: int = 1,
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
        expansions: JSONL files of queries predicted for the documents (doc2query), see `read_expansions`;
            indexed with them, never part of their text. The limits of `corpus` hold for them, too.
        original_copies: how often a document's own text counts where a predicted query counts once.
        notes: counts what was accepted with a remark.
        progress: as `build_index`.
        workers: processes to use besides this one; see `build_index`.

    Raises:
        InputError, MissingExtra: as `read_documents`, `read_expansions` and `build_index`.
        LongRankError: writing failed.
    """
    corpus, notes = corpus or CorpusOptions(), Notes() if notes is None else notes
    options = IndexOptions(analyzer, "title" in corpus.fields, corpus.fields, original_copies)
    documents = locate_documents(sources, notes, corpus)
    predicted = read_expansions(expansions, notes, TextOptions(limits=corpus.text.limits)) if expansions else None
    return build_index(
        documents, folder, options=options, expansions=predicted, notes=notes, progress=progress, workers=workers
    )
