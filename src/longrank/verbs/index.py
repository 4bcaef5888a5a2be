"""Build an index of files and store passage vectors with an index: the work of ``longrank index``.

In Python, `longrank.Index.build` builds an index of files or of values in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.errors import InputError
from longrank.index import Index
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.formats.corpora import CorpusOptions


def index(
    sources: Sequence[str | Path],
    output: str | Path,
    *,
    corpus: CorpusOptions | None = None,
    analyzer: str = "porter",
    expansions: Sequence[str | Path] = (),
    original_copies: int = 1,
    workers: int = 1,
    vectors: str | None = None,
    passages: str = "windows",
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Index:
    """Build an index of files, after a check that `add_vectors` can work on it later.

    Args:
        sources: files, folders, collections or ``irds:ID``.
        output: absent, empty, or an index, which is replaced when all is done.
        corpus: as for `Index.build`.
        analyzer: as for `Index.build`.
        expansions: as for `Index.build`.
        original_copies: as for `Index.build`.
        workers: as for `Index.build`.
        vectors: the bi-encoder that `add_vectors` will use on this index; it is loaded once, for the check.
        passages: the preset that `add_vectors` will use.
        notes: counts remarks on accepted input; the index carries it.
        progress: as for `Index.build`.

    Raises:
        InputError: as `Index.build` and `add_vectors`; `original_copies` without expansions.
        MissingExtra, IntegrityError, LongRankError: as `Index.build` and `add_vectors`.

    Example:
        >>> index(["docs.jsonl"], "my.index")  # doctest: +SKIP
        Index('my.index', documents=3, terms=5)
    """
    if vectors is not None:
        from longrank.ranking.build import check_vectors

        check_vectors(vectors, passages, Notes())
    if original_copies > 1 and not expansions:
        fix = "name files of expansions, or leave it out"
        raise InputError("original copies are weighed against expansions, and there are none", fix=fix)
    return Index.build(
        sources,
        output,
        corpus=corpus,
        analyzer=analyzer,
        expansions=expansions,
        original_copies=original_copies,
        notes=notes,
        progress=progress,
        workers=workers,
    )


def needed_bytes(sources: Iterable[str | Path], output: str | Path) -> int | None:
    """Return about how many bytes of disk a build takes at its peak; None if files are gzipped or fetched.

    Raises:
        InputError: the disk of `output` has too little space.
    """
    from longrank.index.space import check_space

    files: list[Path] = []
    for source in map(Path, sources):
        files += (path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
    if any(path.suffix.lower() == ".gz" or not path.is_file() for path in files):
        return None
    return check_space(Path(output), sum(path.stat().st_size for path in files))


def add_vectors(
    index: Index | str | Path,
    model: str,
    passages: str = "windows",
    *,
    notes: Notes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Index:
    """Store the vectors of all passages with an index; vectors that are there already are kept.

    Args:
        index: an index or its folder.
        model: a bi-encoder: an alias such as ``minilm``, a folder or a Hugging Face name.
        passages: how documents are split: a key of `longrank.text.segment.PRESETS`.
        notes: counts passages longer than the model can read; the index carries it.
        progress: called with the number of documents just done.

    Returns:
        The index, opened again.

    Raises:
        InputError: no such index, model or preset, or the index cannot be written to.
        MissingExtra: the extras for neural networks are not installed.
        IntegrityError: a file of the index or of the model is damaged.
    """
    from longrank.ranking import build

    folder, notes = index.path if isinstance(index, Index) else Path(index), Notes() if notes is None else notes
    build.add_vectors(folder, model, passages, notes, progress or (lambda n: None))
    opened = Index(folder)
    opened.notes = notes
    return opened
