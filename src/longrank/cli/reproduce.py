"""``longrank reproduce``: the tables and figures of five papers."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.completion import recipes as known_recipes
from longrank.cli.options import Engine, Resources, Workers
from longrank.errors import InputError

_STOPPED = {130, 143}  # exit codes of a process that was told to stop


def reproduce(
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            help="A recipe, a table (all of its conditions), a paper, or a TOML file.",
            metavar="RECIPE",
            autocompletion=known_recipes,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List tables and figures with their needs.")] = False,
    collection: Annotated[
        str | None,
        typer.Option(
            help="A collection folder, irds:ID, a collection's name, or NAME=FOLDER, a named collection in a folder."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Output folder; the same command again resumes.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="ROLE=MODEL: a folder or Hugging Face name that replaces the published model; repeatable."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: a setting of the recipe; repeatable.")
    ] = None,
    engine: Engine = None,
    workers: Workers = None,
    resources: Resources = None,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands as a shell script, and run nothing.")
    ] = False,
) -> None:
    """Obtain the tables and figures of five papers.

    A recipe holds the published figures of a table or figure; its phases are longrank commands, which --dry-run
    prints. Writes runs, values by query and a report to FOLDER. Figures are compared with the paper's only if
    collection, models and settings are the paper's. With --engine, workers run a recipe each.

    Example: longrank reproduce birch/results-robust04 --collection robust04=disks45 -o birch --dry-run
    """
    from longrank.verbs.reproduce import reproduce as obtain
    from longrank.verbs.reproduce import reproduction_script

    if listed:
        _list(recipes)
        return
    if not recipes:
        raise InputError("no recipe is named", fix="longrank reproduce --list shows the recipes")
    if collection is None or output is None:
        raise InputError("--collection and -o are needed", fix="longrank reproduce --list says what a recipe needs")
    roles = dict(_pair("--model", model) for model in models or ())
    if dry:
        script = reproduction_script(
            recipes, collection, output, models=roles, settings=assignments or (), tell=console.note
        )
        typer.echo(script, nl=False)
        return
    done = obtain(
        recipes,
        collection,
        output,
        models=roles,
        settings=assignments or (),
        run=_run if engine is None and workers is None and resources is None else _run_quietly,
        engine=engine,
        workers=workers,
        resources=resources,
        tell=console.note,
    )
    typer.echo(str(done), nl=False)
    for error in done.failures.values():
        raise typer.Exit(error.exit_code)


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key or not value:
        raise InputError(f"{option} takes KEY=VALUE", got=text)
    return key, value


def _run(command: Sequence[str], number: str) -> None:
    """Run a command of a recipe in this process, with its output on stderr, since stdout is for the result."""
    import shlex

    from longrank.cli.main import main
    from longrank.reproduction.phases import CommandFailed

    console.note(f"phase {number}: longrank {shlex.join(command)}")
    with contextlib.redirect_stdout(sys.stderr):
        code = main(command)
    if code in _STOPPED:
        raise SystemExit(code)
    if code:
        raise CommandFailed(command, code)


def _run_quietly(command: Sequence[str], number: str) -> None:
    """Run a command of a recipe in this process, a worker, which prints nothing."""
    from longrank.cli.main import main
    from longrank.reproduction.phases import CommandFailed

    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main(command)
    if code:
        raise CommandFailed(command, code, errors.getvalue().strip().rpartition("\n")[2])


def _list(recipes: Sequence[str] | None) -> None:
    from longrank.reproduction.listing import listing
    from longrank.reproduction.recipe_files import load_recipe, named, recipe_names

    names = named(recipes) if recipes else recipe_names()
    typer.echo(listing([(name, load_recipe(name)[0]) for name in names]), nl=False)
