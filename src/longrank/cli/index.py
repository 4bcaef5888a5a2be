"""``longrank index`` and ``longrank check``: build an index, and see whether it is undamaged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longrank.formats.corpora import CorpusOptions
    from longrank.index import Index
    from longrank.types import Notes


def index(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Documents: JSONL, TSV, TREC SGML, HTML or text files, folders of them, a collection folder, "
            "or irds:ID; with --vectors alone, an existing INDEX.",
            metavar="SOURCE",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The index: a new folder, or an index to replace.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="Format of the documents, if the file names do not tell.")
    ] = None,
    fields: Annotated[
        str, typer.Option("--fields", help="Fields to index, between commas; without title it is kept, not indexed.")
    ] = "title,text",
    encoding: Annotated[str, typer.Option("--encoding", help="Encoding of the documents.")] = "utf-8",
    encoding_errors: Annotated[
        str, typer.Option("--encoding-errors", help="Undecodable bytes: strict refuses them, replace counts them.")
    ] = "strict",
    max_uncompressed: Annotated[
        int | None, typer.Option("--max-uncompressed", help="Refuse a .gz file that unpacks to more bytes.")
    ] = None,
    analyzer: Annotated[
        str, typer.Option("--analyzer", help="porter: stop words and stemming, as Lucene; none: words as they are.")
    ] = "porter",
    expansions: Annotated[
        list[Path] | None,
        typer.Option(
            "--expansions",
            help="Queries predicted for the documents (doc2query): JSONL of doc_id and queries; indexed, never shown. "
            "Several files, each with its own --expansions, are united.",
            metavar="FILE",
        ),
    ] = None,
    original_copies: Annotated[
        int,
        typer.Option("--original-copies", help="How often a document's own words count beside --expansions.", min=1),
    ] = 1,
    workers: Annotated[
        int, typer.Option("--workers", help="Processes that analyse text; the result is the same.", min=1)
    ] = 2,
    vectors: Annotated[
        str | None, typer.Option("--vectors", help="Also store passage vectors of this bi-encoder, e.g. minilm.")
    ] = None,
    passages: Annotated[
        str, typer.Option("--passages", help="How documents are split for --vectors: a preset's name.")
    ] = "windows",
) -> None:
    """Index documents for retrieving and for showing passages.

    Nothing is written until all is read; an index that is replaced stays valid until the new one is complete.

    Examples: longrank index docs.jsonl -o my.index

    longrank index docs.jsonl -o expanded.index --expansions doc2query.jsonl.gz
    """
    from longrank.errors import InputError
    from longrank.types import Notes

    notes = Notes()
    if output is not None:
        from longrank.cli.inputs import choice
        from longrank.formats.corpora import CorpusOptions
        from longrank.formats.lines import Limits, TextOptions

        choice("--encoding-errors", encoding_errors, ("strict", "replace"))
        text = TextOptions(encoding, encoding_errors, Limits(max_uncompressed=max_uncompressed))
        names = tuple(name.strip() for name in fields.split(","))
        if vectors is not None:
            from longrank.ranking.build import check_vectors

            check_vectors(vectors, passages, Notes())
        if original_copies > 1 and not expansions:
            raise InputError(
                "--original-copies weighs documents against --expansions", fix="name some, or leave it out"
            )
        how = {"analyzer": analyzer, "expansions": expansions or (), "original_copies": original_copies}
        _build(sources, output, CorpusOptions(format, names, text), {**how, "workers": workers}, notes)
    elif vectors is None or expansions or len(sources) != 1:
        raise InputError("where should the index go?", fix="longrank index SOURCE... -o INDEX")
    if vectors is not None:
        _add_vectors(output or Path(sources[0]), vectors, passages, notes)
    console.show_notes(notes)


def _build(sources: list[str], output: Path, corpus: CorpusOptions, how: dict[str, Any], notes: Notes) -> None:
    from longrank.index import index_files
    from longrank.index.space import check_space

    if (size := _plain_bytes([*sources, *how["expansions"]])) is not None:
        needed = check_space(output, size)
        if needed >= 1 << 30:
            console.note(f"building takes up to {needed / (1 << 30):.1f} GiB of disk")
    unit = "lines of expansions and documents" if how["expansions"] else "documents"
    with console.progress("indexing", None, unit) as advance:
        built = index_files(sources, output, corpus=corpus, notes=notes, progress=advance, **how)
    _print_summary(built)


def _plain_bytes(sources: Sequence[str | Path]) -> int | None:
    """Return the size of all files together; None if some are packed, or no files."""
    files: list[Path] = []
    for source in map(Path, sources):
        files += (path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
    if any(path.suffix.lower() == ".gz" or not path.is_file() for path in files):
        return None
    return sum(path.stat().st_size for path in files)


def _add_vectors(path: Path, model: str, preset: str, notes: Notes) -> None:
    from longrank.index import Index
    from longrank.ranking.build import add_vectors

    n_docs = Index.open(path).n_docs
    with console.progress("encoding passages", n_docs, "documents") as advance:
        add_vectors(path, model, preset, notes, advance)
    print(f"vectors\t{model} {preset}")


def _print_summary(index: Index) -> None:
    size = sum(path.stat().st_size for path in index.path.rglob("*") if path.is_file())
    print(f"index\t{index.path}\ndocuments\t{index.n_docs}\nunique terms\t{index.n_terms}\nterms\t{index.total_terms}")
    _print_expansions(index)
    print(f"bytes\t{size}\ndigest\t{index.digest}")


def _print_expansions(index: Index) -> None:
    for file in index.options.expansions:
        print(f"expansions\t{file.used} of {file.lines} lines used, sha256 {file.sha256}")


def check(
    path: Annotated[Path, typer.Argument(help="The index to check.", metavar="INDEX")],
) -> None:
    """Compare every file of an index with its checksum. A damaged one is named (exit code 3).

    Example: longrank check my.index
    """
    from longrank.index import Index, verify_index

    print(f"{path}: {verify_index(path)} files, all as written")
    _print_expansions(Index.open(path))
