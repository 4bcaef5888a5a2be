"""Complete commands, options and names in the shell: ``longrank --install-completion``.

The shell calls ``longrank`` with the words typed so far in the environment, as Typer's scripts for bash, zsh and fish
pass them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable
from importlib.resources import files

COMPLETE = "_LONGRANK_COMPLETE"


def is_completing() -> bool:
    """Return True if the shell asks for completions."""
    return COMPLETE in os.environ


def typed_command(commands: Collection[str]) -> str | None:
    """Return the command that was typed before the word to complete; None: the word is the command itself."""
    words = _words_before()[1:]
    return next((word for word in words if word in commands), None)


def _words_before() -> list[str]:
    """Return the words before the word to complete."""
    if "COMP_CWORD" in os.environ:  # bash
        return _split(os.environ.get("COMP_WORDS", ""))[: int(os.environ["COMP_CWORD"])]
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _split(line)
    return words if line.endswith(" ") else words[:-1]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quotation mark
        return line.split()


def pipelines(incomplete: str) -> list[str]:
    """Return the shipped pipelines that begin so."""
    from longrank.ranking.settings import shipped_pipelines

    return _beginning(incomplete, shipped_pipelines())


def presets(incomplete: str) -> list[str]:
    """Return the first stages that begin so."""
    from longrank.retrieval.presets import PRESETS

    return _beginning(incomplete, PRESETS)


def aggregators(incomplete: str) -> list[str]:
    """Return the aggregators that begin so."""
    from longrank.aggregation import AGGREGATORS

    return _beginning(incomplete, AGGREGATORS)


def recipes(incomplete: str) -> list[str]:
    """Return the recipes that begin so: ``parade/table2-gov2-title``."""
    folder = files("longrank.reproduction").joinpath("recipes")
    papers = [paper for paper in folder.iterdir() if paper.is_dir()]
    names = (f"{paper.name}/{file.name.removesuffix('.toml')}" for paper in papers for file in paper.iterdir())
    return _beginning(incomplete, (name for name in names if not name.endswith("/paper")))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
