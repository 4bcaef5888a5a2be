"""Passage vectors that ``longrank index`` and ``longrank sync`` store with an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longrank.cli import console
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.types import Notes


class PassageVectors(NamedTuple):
    """Options of vectors on the command line: --vectors, --sparse, --passages, --vectors-dtype and --ann."""

    dense: str | None
    sparse: str | None = None
    passages: str | None = None
    dtype: str | None = None
    ann: str | None = None

    @property
    def any(self) -> bool:
        """True if vectors are to be stored."""
        return self.dense is not None or self.sparse is not None

    @property
    def preset(self) -> str:
        """The passage preset."""
        return self.passages or "tokens"

    def check_options(self) -> None:
        """Refuse options without the option that they are for.

        Raises:
            InputError: names the option.
            MissingExtra: faiss is not installed.
        """
        from longrank.verbs.index import check_search

        check_search(self.ann, self.dtype, self.dense)
        if self.passages is not None and not self.any:
            what = "--passages is the preset of stored vectors, which are not asked for"
            raise InputError(
                what, fix="add --vectors minilm, or leave --passages out: pipelines have their own passages"
            )

    def check_models(self) -> None:
        """Refuse models that make no vectors, before a long build.

        Raises:
            InputError: no such model or preset.
            MissingExtra, IntegrityError: as `check_vectors` of the build.
        """
        from longrank.types import Notes

        if self.dense is not None:
            from longrank.ranking.build import check_vectors

            check_vectors(self.dense, self.preset, Notes())
        if self.sparse is not None:
            from longrank.ranking.build_sparse import check_sparse

            check_sparse(self.sparse, self.preset, Notes())

    def store(self, path: Path, notes: Notes, *spread: Any) -> None:
        """Store the vectors with an index, and show progress; `spread`: values of `EngineOptions`."""
        from longrank.engines import EngineOptions
        from longrank.index import Index
        from longrank.verbs.index import add_sparse, add_vectors

        options: dict[str, Any] = {"notes": notes, **EngineOptions(*spread)._asdict()}
        if self.dense is not None:
            with console.progress("encoding passages", len(Index(path)), "documents") as advance:
                search: dict[str, Any] = {"dtype": self.dtype, "ann": self.ann}
                add_vectors(path, self.dense, self.preset, **search, progress=advance, **options)
        if self.sparse is not None:
            with console.progress("encoding passages", len(Index(path)), "documents") as advance:
                add_sparse(path, self.sparse, self.preset, progress=advance, **options)
