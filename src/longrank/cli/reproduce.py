"""``longrank reproduce``: the tables and figures of five papers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.reproduction.reproduce import Collection
    from longrank.types import Notes


def reproduce(
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to obtain: a recipe, a paper (all of its recipes), or a TOML file.", metavar="RECIPE"
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List tables and figures and what each needs.")] = False,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            help="A collection folder, irds:ID, or a collection by its name; NAME=FOLDER says that a folder holds it.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for all; the same command again goes on in it.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help="ROLE=MODEL: a name of Hugging Face or a folder, instead of the paper's."),
    ] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", help="key=value, a setting of the recipe.")] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only print the commands, as a shell script.")] = False,
) -> None:
    """Obtain the tables and figures of five papers, beside what they published.

    Each is a recipe; its phases are longrank commands, which --dry-run prints. Writes runs, values by query and a
    report to FOLDER. Figures are judged only if collection, models and settings are the paper's.

    Example: longrank reproduce birch/robust04 --collection robust04=disks45 -o birch --dry-run
    """
    from longrank.reproduction.recipe import named
    from longrank.reproduction.reproduce import Reproduction
    from longrank.reproduction.reproduce import reproduce as run_recipe
    from longrank.types import Notes

    if listed:
        _list(named(recipes or ()) if recipes else None)
        return
    if not recipes:
        raise InputError("nothing is asked for", fix="name a recipe; longrank reproduce --list shows them")
    if collection is None or output is None:
        raise InputError("--collection and -o are needed", fix="longrank reproduce --list says what a recipe needs")
    roles = dict(_pair("--model", one) for one in models or ())
    for name in named(recipes):
        notes = Notes()
        asked = Reproduction(name, output, _opened(collection, notes), roles, tuple(assignments or ()))
        result, phases = run_recipe(asked, _run, notes, dry=dry)
        if dry:
            typer.echo(phases.script(), nl=False)
            continue
        console.show_notes(notes)
        from longrank.reproduction.report import as_markdown

        typer.echo(as_markdown(result))
        console.note(f"{output / name}: report.html, results.json")


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key or not value:
        raise InputError(f"{option} takes KEY=VALUE", got=text)
    return key, value


def _run(command: Sequence[str]) -> None:
    """Run a command of a recipe; what it prints goes where progress goes, since only the result is the output."""
    from longrank.cli.main import main

    console.note("longrank " + " ".join(command))
    with contextlib.redirect_stdout(sys.stderr):
        code = main(command)
    if code:
        raise SystemExit(code)


def _list(names: Sequence[str] | None) -> None:
    from longrank.reproduction.recipe import load_recipe, recipe_names

    rows = []
    for name in recipe_names() if names is None else names:
        recipe, _ = load_recipe(name)
        needs = [recipe.collection, *recipe.models] if recipe.program else ["-"]
        rows.append((name, recipe.item, ", ".join(needs), recipe.open or "-", recipe.about))
    head = ("recipe", "shows", "needs", "open", "about")
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head) - 1)]
    for row in (head, *rows):
        typer.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]))


def _opened(given: str, notes: Notes):  # type: ignore[no-untyped-def]
    """Return what reads the collection with a field of its queries."""

    def read(field: str | None) -> Collection:
        from longrank.cli.inputs import load_qrels, load_queries
        from longrank.formats.collection import open_collection
        from longrank.reproduction.reproduce import Collection

        key, _, source = given.rpartition("=")
        found = open_collection(source)
        if found.queries is None or found.qrels is None:
            raise InputError("the collection has no queries or no judgments", got=source)
        queries = load_queries(found.queries, notes)
        missing = field is not None and not any(field in query.fields for query in queries)
        if field is not None and not missing:
            queries = load_queries(found.queries, notes, None, field)
        folds = None if found.folds is None else Path(found.folds)
        return Collection(key or found.name, found.sources, queries, load_qrels(found.qrels, notes), folds, missing)

    return read
