"""``longrank search``: documents for one query, with their best passages."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console
from longrank.cli.completion import pipelines
from longrank.cli.options import AllowUntrained, Convert, Filter, Lang, Model, PipelineSettings, ScoreCache, Where
from longrank.errors import InputError, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from longrank.ranking.found import Marked, Result, ShownPassage
    from longrank.ranking.results import Results


def search(
    index: Annotated[
        Path,
        typer.Argument(
            help="The index, or STORE:SETTINGS.toml for a store that finds the candidates.", metavar="INDEX"
        ),
    ],
    query: Annotated[str, typer.Argument(help="The query.", metavar="QUERY")],
    pipeline: Annotated[
        str | None,
        typer.Option(
            help="Pipeline name or TOML file. [default: mixed if MiniLM is installed, else lexical]",
            autocompletion=pipelines,
        ),
    ] = None,
    model: Model = None,
    convert: Convert = False,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of documents.")] = 10,
    passages: Annotated[int, typer.Option(min=0, help="Passages shown per document.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per document, with offsets.")] = False,
    score_cache: ScoreCache = None,
    allow_untrained: AllowUntrained = False,
    where: Where = None,
    filter: Filter = None,
    show: Annotated[str | None, typer.Option(help="Metadata fields to show, between commas: year,author.")] = None,
    deadline: Annotated[
        float | None,
        typer.Option(help="Seconds after which what is read by then is ranked; loading is not counted."),
    ] = None,
    lang: Lang = None,
    connect: Annotated[
        str | None,
        typer.Option(
            help="Ask a running longrank serve of this index instead of loading the index and models here.",
            metavar="URL",
        ),
    ] = None,
    assignments: PipelineSettings = None,
) -> None:
    """Search long documents and show the passages that matter.

    Example: longrank search my.index "how are hurricanes named" -k 3
    """
    from longrank.cli.inputs import check_decoded
    from longrank.ranking.found import result_json
    from longrank.registries import names_in

    check_decoded("the query", query)
    fields = None if show is None else names_in(show)
    own = {
        "--model": model,
        "--convert": convert,
        "--score-cache": score_cache,
        "--allow-untrained": allow_untrained,
        "--set": assignments,
    }
    shared: dict[str, Any] = {"k": k, "passages": passages, "deadline": deadline, "lang": lang, "show": fields or ()}
    if connect is not None:
        refused = next((name for name, value in own.items() if value), None)
        results = _asked(connect, refused, index, query, pipeline, shared | _filter_for_server(filter, where))
    else:
        shared["show"] = fields if as_json or fields else ()
        results = _searched(index, query, pipeline, _parsed(filter, where), own, shared)
    console.show_notes(results.notes)
    if as_json:
        partial = {} if results.partial is None else {"partial": results.partial.json()}
        for result in results:
            typer.echo(json.dumps({"query": query, **partial, **result_json(result)}, ensure_ascii=False))
    else:
        if results.partial is not None:
            typer.echo(f"{results.partial}\n")
        print_results(results)


def _parsed(filter: str | None, where: list[str] | None) -> Any:
    """Return the condition of --filter and --where; None: none."""
    if filter is None and not where:
        return None
    from longrank.index.filter_parsing import parsed_filter

    return parsed_filter(filter, where or ())


def _filter_for_server(filter: str | None, where: list[str] | None) -> dict[str, Any]:
    if filter is None and not where:
        return {}
    from longrank.index.filter_parsing import filter_json

    return {"filter": filter_json(filter, where or ())}


def _searched(
    index: Path, query: str, pipeline: str | None, condition: Any, own: dict[str, Any], shared: dict[str, Any]
) -> Results[Result]:
    """Search in this process."""
    from longrank.cli.inputs import model_to_read
    from longrank.types import Notes
    from longrank.verbs.search import search as run_search

    notes = Notes()
    with console.telling_compilation():
        return run_search(
            index,
            query,
            pipeline=pipeline,
            model=model_to_read(own["--model"], own["--convert"], notes),
            score_cache=own["--score-cache"],
            allow_untrained=own["--allow-untrained"],
            assignments=own["--set"] or (),
            filter=condition,
            notes=notes,
            **shared,
        )


def _asked(
    url: str, refused: str | None, index: Path, query: str, pipeline: str | None, shared: dict[str, Any]
) -> Results[Result]:
    """Ask a server, which must serve an index of this name.

    Raises:
        InputError: an option of models, which are the server's.
    """
    from longrank.service.client import search_at

    if refused is not None:
        raise InputError(f"{refused} cannot be combined with --connect: the server has its models and settings")
    request = {"query": query, "index": index.resolve().name, "pipeline": pipeline, **shared}
    key = os.environ.get("LONGRANK_API_KEY")
    given = {name: value for name, value in request.items() if value is not None}
    results, name = search_at(url, given, key=key)
    if pipeline is None:
        console.note(f"pipeline {name} of {url}")
    return results


def print_results(results: Sequence[Result]) -> None:
    """Print title, scores and best passages of each result, with the best sentence and the query's words marked."""
    from rich.console import Console
    from rich.text import Text

    out = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    if not results:
        out.print("no document was found")
    for result in results:
        head = Text(f"{result.rank:>2}. {_harmless(result.title or result.doc_id)}", style="bold")
        out.print(head.append(f"  [{_harmless(result.doc_id)}]" if result.title else "", style="dim"))
        out.print(Text(f"    score {result.score:.4f} | {result.detail}", style="dim"))
        for name, value in result.metadata.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            _print_text(out, "    ", Text(_flat(f"{name} {shown}"), style="dim"))
        for passage in result.passages:
            _print_passage(out, passage)
        out.print()


def _print_passage(out: Console, passage: ShownPassage) -> None:
    """Print a passage; the best sentence is bold on a terminal, else on lines of its own behind a sign."""
    from rich.text import Text

    from longrank.ranking.found import marked

    earned = "" if passage.contribution is None else f", contributes {passage.contribution:.4f}"
    where = f"    {_harmless(passage.place)} | " if passage.place else "    "
    where += f"passage {passage.index} [{passage.start}:{passage.end}] {passage.score:.4f}{passage.detail}{earned}"
    out.print(Text(where, style="cyan"))
    parts = marked(passage)
    if out.is_terminal:
        _print_text(out, "      ", Text.assemble(*map(_styled, parts)))
        return
    for best, some in groupby(parts, key=lambda part: part.best):
        text = "".join(f"*{_flat(part.text)}*" if part.word else _flat(part.text) for part in some).strip()
        if text:
            _print_text(out, "    > " if best else "      ", Text(text))


def _print_text(out: Console, margin: str, text: Text) -> None:
    from rich.text import Text

    for line in text.wrap(out, out.width - len(margin)):
        line.rstrip()
        out.print(Text(margin).append_text(line), soft_wrap=True)


def _styled(part: Marked) -> tuple[str, str]:
    styles = ["bold yellow"] if part.word else []
    return _flat(part.text), " ".join([*styles, "bold underline"] if part.best else styles)


def _flat(text: str) -> str:
    """Return a text with white space collapsed and control characters escaped."""
    return _harmless(re.sub(r"\s+", " ", text))


def _harmless(text: str) -> str:
    """Escape control characters of the terminal; characters that scripts need, such as joiners, stay."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda control: printable(control[0]), text)
