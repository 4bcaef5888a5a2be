"""``longrank sync``: keep an index equal to folders of files and databases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console

if TYPE_CHECKING:
    from longrank.cli.passage_vectors import PassageVectors
    from longrank.verbs.updates import Changes


def sync(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders and databases (sqlite:///FILE?query=SELECT ..., postgresql://...).", metavar="SOURCE"
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the index: new, or built from SOURCE.")],
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: update the index when files change (extra watch).")
    ] = False,
    vectors: Annotated[
        str | None, typer.Option(help="Bi-encoder whose passage vectors are stored, too, e.g. minilm.")
    ] = None,
    passages: Annotated[str | None, typer.Option(help="Passage preset for --vectors. [default: tokens]")] = None,
    workers: Annotated[int, typer.Option(help="Processes that analyse text.", min=1)] = 2,
) -> None:
    """Keep an index equal to folders of files and databases.

    The first call builds the index, and later calls bring it up to date. An index that `longrank index` built from the
    same sources keeps its options. Each update is one step: searches use the old or the new index. With --watch,
    changes are indexed a second after the last of a burst, and all files are compared once a minute; Ctrl-C ends it.
    Databases cannot be watched: repeat the command.

    Example: longrank sync papers/ -o papers.index --watch
    """
    from longrank.cli.passage_vectors import PassageVectors
    from longrank.verbs.sync import check_watch, watched

    to_store = PassageVectors(vectors, passages=passages)
    to_store.check_options()
    to_store.check_models()
    if watch:
        check_watch(sources)
    said: set[str] = set()
    options = (sources, output, workers, to_store)
    _print(_sync(*options, said=said, anyway=True), output)
    if watch:
        console.note(f"watching {', '.join(sources)}; Ctrl-C ends it")
        failed = False
        for _ in watched(sources):
            failed = not _sync_again(*options, said=said, anyway=failed)


def _sync(
    sources: list[str],
    output: Path,
    workers: int,
    to_store: PassageVectors,
    *,
    said: set[str],
    anyway: bool = False,
) -> Changes:
    """Sync, store vectors if there is a change or `anyway`, and show notes.

    Without a change, only notes that are not in `said` are shown; `said` gets all.
    """
    from longrank.types import Notes
    from longrank.verbs.sync import sync

    notes = Notes()
    with console.progress("indexing", None, "documents") as advance:
        changes = sync(sources, output, notes=notes, progress=advance, workers=workers)
    try:
        if anyway or any(changes):
            to_store.store(output, notes)
    finally:
        if any(changes) or not said.issuperset(notes.lines()):
            console.show_notes(notes)
        said.update(notes.lines())
    return changes


def _sync_again(
    sources: list[str], output: Path, workers: int, to_store: PassageVectors, *, said: set[str], anyway: bool
) -> bool:
    """Update while watching: wrong input, such as a file that is half written, waits for the next change.

    Returns:
        False: not updated, or updated without vectors, which the next call with `anyway` stores.
    """
    from longrank.errors import InputError

    try:
        changes = _sync(sources, output, workers, to_store, said=said, anyway=anyway)
    except InputError as error:
        console.note(f"not updated: {error}")
        return False
    if any(changes):
        _print(changes, output)
    return True


def _print(changes: Changes, output: Path) -> None:
    """Print a line for a commit."""
    from longrank.index import Index

    files = ", ".join(
        f"{len(paths)} {kind}"
        for kind, paths in (("new", changes.new), ("changed", changes.changed), ("vanished", changes.vanished))
        if paths
    )
    documents = f"{changes.added} added, {changes.deleted} deleted, {Index(output).n_docs} in the index"
    print(f"files: {files or 'no change'}; documents: {documents}", flush=True)
