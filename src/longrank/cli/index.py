"""``longrank index``: build an index, or change an index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console
from longrank.cli.check import print_expansions
from longrank.cli.options import Engine, Resources

if TYPE_CHECKING:
    from longrank.formats.records import CorpusOptions
    from longrank.index import Index
    from longrank.types import Notes


_WORKERS = 2


def index(
    ctx: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Documents: PDF, office, HTML, Markdown, mail, text, JSONL, TSV or TREC files, folders of them, "
            "a quoted pattern such as 'docs/*.jsonl.gz', Parquet, a collection folder, "
            "sqlite:///FILE?query=SELECT ..., postgresql://..., or irds:ID; with --vectors or --sparse alone, "
            "an existing INDEX; an INDEX to upload, with -o s3://BUCKET/NAME.",
            metavar="SOURCE",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder of the index or s3://BUCKET/NAME: new, or an index to replace."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="Document format, if the file names do not tell.")] = None,
    fields: Annotated[
        str, typer.Option(help="Fields to index, between commas; without title, titles are stored but not indexed.")
    ] = "title,text",
    metadata: Annotated[
        str, typer.Option(help="Other fields to keep for filters and results: all, none, or names between commas.")
    ] = "all",
    index_only: Annotated[
        str | None, typer.Option(help="Fields to index that are no part of the text, between commas, e.g. url.")
    ] = None,
    title_in_text: Annotated[
        bool, typer.Option("--title-in-text", help="Begin each text with the title, so that models read it.")
    ] = False,
    encoding: Annotated[str, typer.Option(help="Encoding of the document files.")] = "utf-8",
    encoding_errors: Annotated[
        str, typer.Option(help="Undecodable bytes: strict (error) or replace (count them).")
    ] = "strict",
    max_uncompressed: Annotated[
        int | None, typer.Option(help="Largest unpacked size of a .gz file, in bytes. [default: no limit]")
    ] = None,
    max_ratio: Annotated[
        int, typer.Option(help="Largest ratio of unpacked to packed size of a .gz file over 16 MiB.", min=1)
    ] = 200,
    ignore_passages: Annotated[
        bool, typer.Option("--ignore-passages", help="Leave the documents' own passages out.")
    ] = False,
    analyzer: Annotated[
        str,
        typer.Option(
            help="Analyzer: porter (English stop words and stemming, as Lucene), none (plain words), a language "
            "(german, french, ...; extra languages), cjk (Chinese, Japanese, Korean) or icu (Thai, Lao, Khmer, "
            "Burmese; extra icu)."
        ),
    ] = "porter",
    analyzer_field: Annotated[
        str,
        typer.Option(
            help="Field that names the language of each document, e.g. lang: en, de, pt-BR, german. Documents without "
            "it have --analyzer. [default: --analyzer for all]",
            show_default=False,
            metavar="FIELD",
        ),
    ] = "",
    expansions: Annotated[
        list[Path] | None,
        typer.Option(
            help="Predicted queries (doc2query) to index with the documents: JSONL of doc_id and queries. Repeat the "
            "option for several files.",
            metavar="FILE",
        ),
    ] = None,
    original_copies: Annotated[
        int, typer.Option(help="Weight of title and text beside --expansions and fields of --index-only.", min=1)
    ] = 1,
    shards: Annotated[
        int, typer.Option(help="Segments of the new index, which workers write side by side.", min=1, max=256)
    ] = 1,
    compress: Annotated[
        bool, typer.Option("--compress", help="Store the texts compressed, in about a third of the bytes (extra zstd).")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes or workers that analyse text and encode passages. [default: 2 and 1; of a cluster, all]",
            min=1,
        ),
    ] = None,
    engine: Engine = None,
    resources: Resources = None,
    vectors: Annotated[
        str | None, typer.Option(help="Bi-encoder whose passage vectors are stored, too, e.g. minilm.")
    ] = None,
    sparse: Annotated[
        str | None,
        typer.Option(help="SPLADE model whose sparse passage vectors are stored, too.", metavar="MODEL"),
    ] = None,
    passages: Annotated[
        str | None, typer.Option(help="Passage preset for --vectors and --sparse. [default: tokens]")
    ] = None,
    vectors_dtype: Annotated[
        str | None,
        typer.Option(
            help="Numbers that a search of --vectors compares: float32, or int8 (a quarter of the bytes; the best are "
            "scored again from float32, so results stay the same). [default: as stored before, else float32]",
            metavar="TYPE",
        ),
    ] = None,
    ann: Annotated[
        str | None,
        typer.Option(
            help="Approximate search over --vectors: hnsw or ivf-pq. [default: exact; that of unchanged vectors stays]",
            metavar="METHOD",
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Pattern of the files to read in folders, e.g. '*.pdf'; repeatable. [default: all]"),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Pattern of files and folders to leave out, e.g. 'drafts/'; repeatable."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a file that cannot be read, instead of skipping it.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="TSV file to write: each skipped file and the reason.", metavar="FILE")
    ] = None,
    ocr: Annotated[
        str | None,
        typer.Option(
            help="Command that prints the text of a PDF without any text layer, whose path is its last argument.",
            metavar="COMMAND",
        ),
    ] = None,
    add: Annotated[bool, typer.Option("--add", help="Add the documents of the sources to INDEX.")] = False,
    replace_documents: Annotated[
        bool, typer.Option("--replace", help="With --add: replace documents of INDEX that have the same ids.")
    ] = False,
    delete: Annotated[
        Path | None, typer.Option(help="Delete documents of INDEX: a file with one doc_id a line.", metavar="FILE")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Bring INDEX up to date with the files that it was built from.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --update: list new, changed and vanished files only.")
    ] = False,
    merge: Annotated[bool, typer.Option("--merge", help="Merge all segments of INDEX.")] = False,
) -> None:
    """Build an index of documents, or change an index.

    An existing index is replaced when the new index is complete. With --add, --delete, --update or --merge, the last
    argument is an index, which changes in one step.

    Examples: longrank index docs.jsonl -o my.index

    longrank index docs.jsonl -o expanded.index --expansions doc2query.jsonl.gz

    longrank index 'corpus/*.jsonl.gz' -o my.index --shards 16 --engine ray

    longrank index --add new.jsonl my.index

    longrank index --update my.index

    longrank index docs.jsonl -o s3://bucket/my.index
    """
    from longrank.cli.change_index import Actions, change, check_options
    from longrank.cli.inputs import given_options
    from longrank.cli.passage_vectors import PassageVectors
    from longrank.cli.skipped import SkippedFiles
    from longrank.errors import InputError
    from longrank.types import Notes

    notes, to_store = Notes(), PassageVectors(vectors, sparse, passages, vectors_dtype, ann)
    to_store.check_options()
    actions = Actions(add, replace_documents, delete, update, dry_run, merge)
    actions.check(sources, output, shards)
    inputs = () if report is None else (output, *actions.inputs(sources, report), *(expansions or ()), delete)
    skipped = SkippedFiles(report, *inputs)
    names, unread = (tuple(map(str.strip, part.split(","))) if part else () for part in (fields, index_only))
    options: dict[str, Any] = {
        "analyzer": analyzer,
        "analyzer_field": analyzer_field,
        "expansions": tuple(expansions or ()),
        "original_copies": original_copies,
        "compress": compress,
    }
    read = {"fields": names, "index_only": unread, "title_in_text": title_in_text, "metadata": _metadata(metadata)}
    of_index = {} if to_store.any else {"engine": engine, "resources": resources}  # an engine encodes passages, too
    given = given_options(ctx)
    of_builds = {**options, **read, "shards": shards, **of_index}
    of_builds = {name: value for name, value in of_builds.items() if name in given}
    if _is_upload(sources, output) if output else actions.any or (to_store.any and len(sources) == 1):
        check_options(Path(sources[-1]), of_builds, {name: ctx.params[name] for name in given}, actions)
    if output is not None or actions.any:
        limits = {"max_uncompressed": max_uncompressed, "max_ratio": max_ratio}
        files = skipped.options(include or (), exclude or (), strict, ocr)
        corpus = replace(
            _corpus(format, names, encoding, encoding_errors, limits, ignore_passages),
            files=files,
            metadata=_metadata(metadata),
            index_only=unread,
            title_in_text=title_in_text,
        )
        to_store.check_models()
        with skipped.written():
            if output is None:
                change(sources, actions, corpus, workers or _WORKERS, notes)
            else:
                where = {"workers": workers or (_WORKERS if engine is None else None), "engine": engine}
                if _is_upload(sources, output):
                    _upload(Path(sources[0]), output, notes)
                else:
                    options |= {"corpus": corpus, "shards": shards, "resources": resources, **where}
                    _build(sources, output, options, notes)
    elif not to_store.any or len(sources) != 1:
        raise InputError("-o is needed", fix="longrank index SOURCE... -o INDEX")
    to_store.store(output or Path(sources[-1]), notes, engine, workers, resources)
    for kind, model in (("vectors", vectors), ("sparse vectors", sparse)):
        if model is not None:
            print(f"{kind}\t{model} {to_store.preset}")
    console.show_notes(notes)


def _is_upload(sources: list[str], output: Path) -> bool:
    """Tell whether the source is an index and the output is an address."""
    from longrank.collections.databases import is_address
    from longrank.storage.remote import address_of
    from longrank.verbs.check import is_index

    return len(sources) == 1 and address_of(output) != "" and not is_address(sources[0]) and is_index(Path(sources[0]))


def _upload(source: Path, output: Path, notes: Notes) -> None:
    from longrank.index import Index
    from longrank.storage.remote import address_of
    from longrank.verbs.index import upload_index

    upload_index(source, address_of(output), notes=notes)
    _print_summary(Index(source), address_of(output))


def _metadata(value: str) -> tuple[str, ...] | None:
    names = {"all": None, "none": ()}
    return names[value] if value in names else tuple(name.strip() for name in value.split(","))


def _corpus(
    format: str | None,
    fields: tuple[str, ...],
    encoding: str,
    errors: str,
    limits: dict[str, Any],
    ignore_passages: bool,
) -> CorpusOptions:
    from longrank.cli.inputs import choice
    from longrank.formats.lines import TextOptions
    from longrank.formats.opening import Limits
    from longrank.formats.records import CorpusOptions

    choice("--encoding-errors", errors, ("strict", "replace"))
    text = TextOptions(encoding, errors, Limits(**limits))
    return CorpusOptions(format, fields, text, ignore_passages)


def _build(sources: list[str], output: Path, options: dict[str, Any], notes: Notes) -> None:
    from longrank.verbs.index import needed_bytes
    from longrank.verbs.recorded_build import build_from_files

    needed = needed_bytes([*sources, *options["expansions"]], output, options["shards"])
    if needed is not None and needed >= 1 << 30:
        console.note(f"building takes up to {needed / (1 << 30):.1f} GiB of disk")
    unit = "lines of expansions and documents" if options["expansions"] else "documents"
    n_bytes = 0
    read = console.progress("indexing", None, unit, lambda: f", {n_bytes / (1 << 20):.0f} MiB read")
    with console.telling_compilation(), read as advance:

        def count(n: int) -> None:
            nonlocal n_bytes
            n_bytes += n
            advance(0)

        corpus = options["corpus"]
        options["corpus"] = replace(corpus, text=replace(corpus.text, on_bytes=count))
        built = build_from_files(sources, output, **options, notes=notes, progress=advance)
    _print_summary(built, built.place)


def _print_summary(index: Index, place: Path | str) -> None:
    size = sum(path.stat().st_size for path in index.path.rglob("*") if path.is_file())
    print(f"index\t{place}")
    if len(index.parts) > 1:
        print(f"shards\t{len(index.parts)}")
    print(f"documents\t{index.n_docs}\nunique terms\t{index.n_terms}\nterms\t{index.total_terms}")
    print_expansions(index)
    print(f"bytes\t{size}\ndigest\t{index.digest}")
