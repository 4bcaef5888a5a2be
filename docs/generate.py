"""Write the pages of ``docs/`` that are made from the code; ``--check`` fails when one is stale.

python docs/generate.py            writes api.md, cli.md, names.md and the tables of collections.md and pipelines.md
python docs/generate.py --check    exit 1 if a page differs from the code
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from longrank.formats.parsed import PARSERS
from longrank.registries import defaults_of
from longrank.retrieval import similarity_options
from longrank.scoring import scorer_class

DOCS = Path(__file__).parent


def cli_page() -> str:
    """Return the help of every command, as the terminal shows it at 100 columns."""
    from typer.testing import CliRunner

    from longrank.cli.main import COMMANDS, build_app

    parts = [
        "# Commands\n\nMade from the code by `python docs/generate.py`.\n\n"
        "Exit codes: 0 done; 1 failed at run time; 2 bad input or usage; 3 a damaged file; 130/143 interrupted.\n"
    ]
    os.environ.update(COLUMNS="100", TERM="dumb", NO_COLOR="1")
    for name in COMMANDS:
        app = build_app([name])
        for command in _commands(app, name):
            result = CliRunner().invoke(app, [*command, "--help"], prog_name="longrank", terminal_width=100)
            text = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
            parts.append(f"\n## longrank {' '.join(command)}\n\n```text\n{text}\n```\n")
    return "".join(parts)


def _commands(app: typer.Typer, name: str) -> list[list[str]]:
    """Return the words of a command, or of each one in a group."""
    grouped = [one.name for group in app.registered_groups for one in group.typer_instance.registered_commands]
    return [[name, str(one)] for one in grouped] or [[name]]


_REGISTRIES = {
    "Aggregators": "longrank.aggregation:AGGREGATORS",
    "Passage scorers": "longrank.scoring:PASSAGE_SCORERS",
    "Document networks": "longrank.models:DOCUMENT_NETWORKS",
    "Segmentation rules": "longrank.text.segment:RULES",
    "Segmentation presets": "longrank.text.segment:PRESETS",
    "Readings of documents for expansion": "longrank.expansion.reading:READINGS",
    "Selectors": "longrank.text.select:SELECTORS",
    "Selectors by a cheap scorer": "longrank.ranking.cascade:CHEAP_SELECTORS",
    "Retrieval presets": "longrank.retrieval.presets:PRESETS",
    "Similarities": "longrank.retrieval:SIMILARITIES",
    "Feedback models": "longrank.retrieval.feedback:FEEDBACKS",
    "Engines": "longrank.retrieval:ENGINES",
    "Stores": "longrank.retrieval:STORES",
    "Fusions": "longrank.fusion:FUSIONS",
    "Analyzers": "longrank.text.analysis:ANALYZERS",
    "Document formats": "longrank.formats.corpora:READERS",
    "Query formats": "longrank.formats.queries:QUERY_FORMATS",
    "Training samples": "longrank.training.samples:SAMPLES",
    "Negatives of training samples": "longrank.training.candidates:NEGATIVES",
    "Passages of training samples": "longrank.training.passages:PASSAGE_CHOICES",
    "Judgment sampling": "longrank.training.judgments:SCHEMES",
    "Losses": "longrank.training.loss_terms:LOSSES",
    "Schedules of learning rates": "longrank.training.schedules:SCHEDULES",
}


def names_page() -> str:
    """Return one table per registry: the names that commands, pipeline files and Python accept."""
    from longrank.training.settings import shipped_protocols

    trainings = "".join(f"- `{name}`: {_first_comment('training/protocols', name)}\n" for name in shipped_protocols())
    parts = [
        "# Names\n\nMade from the code by `python docs/generate.py`; each table is one dict in the code.\n"
        f"\n## Trainings\n\n{trainings}"
    ]
    for title, place in _REGISTRIES.items():
        module, _, attribute = place.partition(":")
        registry: Mapping[str, object] = getattr(import_module(module), attribute)
        options = _OPTIONS.get(title, lambda name, entry: "")
        rows = "".join(f"| `{name}` | {_about(entry)}{options(name, entry)} |\n" for name, entry in registry.items())
        parts.append(f"\n## {title}\n\n`{module}.{attribute}`\n\n| name | description |\n|---|---|\n{rows}")
    return "".join(parts)


def _first_comment(folder: str, name: str) -> str:
    path = DOCS.parent / "src" / "longrank" / folder / f"{name}.toml"
    return path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def _about(entry: object) -> str:
    if isinstance(entry, partial):  # the reader of a format whose parser runs in a child process
        entry = PARSERS[entry.args[0]].function
    if isinstance(entry, str) and ":" in entry:
        module, _, attribute = entry.partition(":")
        entry = getattr(import_module(module), attribute)
    if isinstance(entry, tuple) and callable(entry[0]):  # a function and its default
        entry = entry[0]
    if isinstance(entry, Mapping):
        about = ", ".join(f"{key} = {value}" for key, value in entry.items())
    else:
        about = (getattr(entry, "about", "") or inspect.getdoc(entry) or "").partition("\n")[0]
    if isinstance(entry, type) and is_dataclass(entry):
        about += " Options: " + ", ".join(f"`{one.name}` = {one.default}" for one in fields(entry)) + "."
    return about.replace("|", "\\|")


def _of_network(name: str, place: object) -> str:
    from longrank.models.create import options_of

    return _listed(options_of(name))


def _of_loss(name: str, kind: Any) -> str:
    besides = f", and {kind.needs}" if kind.needs else ""
    return f" Reads {kind.reads}{besides}.{_listed(kind.options)}"


def _of_schedule(name: str, kind: Any) -> str:
    options = {option: "needed" if one.is_required() else one.default for option, one in kind.model_fields.items()}
    return _listed(options)


def _listed(options: Mapping[str, object]) -> str:
    listed = ", ".join(f"`{name}` = {default}" for name, default in options.items())
    return f" Options: {listed}." if options else ""


_OPTIONS: dict[str, Callable[[str, Any], str]] = {
    "Aggregators": lambda _, entry: _listed(
        defaults_of(entry.function) | {name: f"(needed) e.g. {value}" for name, value in entry.example.items()}
    ),
    "Segmentation rules": lambda _, rule: _listed(defaults_of(rule)),
    "Similarities": lambda name, _: _listed(similarity_options(name)),
    "Passage scorers": lambda name, _: _listed(defaults_of(scorer_class(name))),
    "Document networks": _of_network,
    "Losses": _of_loss,
    "Schedules of learning rates": _of_schedule,
}


CATALOGUE = "## The catalogue\n"


def collections_page() -> str:
    """Return the page of collections: its hand-written part, then the catalogue."""
    from longrank.collections.catalogue import catalogue

    by_hand = (DOCS / "collections.md").read_text(encoding="utf-8").partition(CATALOGUE)[0]
    rows, details = [], []
    for key, entry in catalogue().items():
        counts = [entry.documents, entry.queries, entry.judged, entry.judgments]
        irds = ", ".join(f"`{one}`" for one in (entry.irds, *entry.irds_queries) if one) or "-"
        cells = [f"`{key}`", entry.name, *(f"{n:,}" if n is not None else "-" for n in counts), irds]
        rows.append(f"| {' | '.join(cells)} |\n")
        about = {
            entry.licence.capitalize(): entry.obtain,
            "Fields": ", ".join(entry.query_fields) if entry.query_fields != ("text",) else "",
            "Folds": f"`{entry.folds}`, {entry.folds_about}" if entry.folds else "",
            "Folder": entry.layout,
        }
        details.append(f"- `{key}`. " + " ".join(f"{name}: {text}." for name, text in about.items() if text) + "\n")
    columns = ("name", "collection", "documents", "queries", "judged", "judgments", "ir_datasets")
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"
    made = "Made from `src/longrank/collections/catalogue.toml` by `python docs/generate.py`.\n\n"
    return f"{by_hand}{CATALOGUE}\n{made}{head}{''.join(rows)}\n{''.join(details)}"


PIPELINES, AFTER = "`longrank pipelines` prints this table.", "## Pipeline files\n"


def pipelines_page() -> str:
    """Return the page of pipelines: the text before the table, the table, the text after it."""
    from longrank.ranking.settings import overview

    before, _, rest = (DOCS / "pipelines.md").read_text(encoding="utf-8").partition(PIPELINES)
    rows = "".join(
        f"| `{row.name}` | {row.about} | {row.scorer or '-'} | {row.aggregator or '-'} "
        f"| {'`--model`' if row.needs_model else row.model or '-'} |\n"
        for row in overview()
    )
    made = f"{PIPELINES} Made from `src/longrank/ranking/pipelines` by `python docs/generate.py`.\n\n"
    head = "| pipeline | description | scorer | aggregation | model |\n|---|---|---|---|---|\n"
    return f"{before}{made}{head}{rows}\n{AFTER}{rest.partition(AFTER)[2]}"


def api_page() -> str:
    """Return the Python reference."""
    from api import page  # beside this file

    return page()


PAGES = {
    "api.md": api_page,
    "cli.md": cli_page,
    "names.md": names_page,
    "collections.md": collections_page,
    "pipelines.md": pipelines_page,
}


def main() -> int:
    """Write or check every generated page."""
    stale = []
    for name, render in PAGES.items():
        page = render()
        if "--check" not in sys.argv:
            (DOCS / name).write_text(page, encoding="utf-8")
        elif (DOCS / name).read_text(encoding="utf-8") != page:
            stale.append(name)
    if stale:
        print(f"stale: {', '.join(stale)}; run python docs/generate.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
