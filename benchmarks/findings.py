"""Test the differences of docs/findings.md: paired t-tests, Holm-corrected for each question.

    python -m benchmarks.findings [--gains work/gains] [--open work/open] [--results docs/results]

Reads what `benchmarks.gains`, `benchmarks.end_to_end` and `benchmarks.open_recipes` have kept, and computes no ranking.
Questions whose rankings are not all there keep their earlier figures.
Figures go to RESULTS/findings.json, and as tables to findings-tests.md above it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gains_tasks import TASKS
from longrank.evaluation.measures import evaluate
from longrank.evaluation.render import markdown_text, pipes
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.formats.folds import read_folds
from longrank.formats.trec import read_qrels, read_run
from longrank.types import Notes

POOLS = tuple(f"{pool} {how}" for pool in ("FIRST", "TERMF", "FIRST+TERMF") for how in ("Max", "Sum", "W.Mean"))
PASSAGES, DOCUMENTS = "cranfield/h2oloo/table1-passage", "time/h2oloo/table2-document"
NOT_TRAINED = ("minilm.run", "bm25-tuned/run.txt", "rm3-tuned/run.txt")
BIRCH = {
    "time/birch/results-robust04": "MSM",
    "time/birch/first-version-five-folds": "MB",
    "time/birch/first-version-two-folds": "MB",
}


class Ranked(NamedTuple):
    """A ranking that was kept: a recipe's row, or a run of a collection of `benchmarks.gains` (its file)."""

    place: str
    name: str


class Comparison(NamedTuple):
    """Is `system` better than `base` by a measure?"""

    measure: str
    system: Ranked
    base: Ranked


def main() -> None:
    """Compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gains", type=Path, default=Path("work/gains"))
    parser.add_argument("--open", type=Path, default=Path("work/open"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    if not args.gains.is_dir() and not args.open.is_dir():
        parser.error(f"{args.gains}, {args.open}: no folder of benchmarks.gains or benchmarks.open_recipes")
    path = args.results / "findings.json"
    earlier = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {answer["question"]: answer["rows"] for answer in earlier}

    @cache
    def values(ranked: Ranked, measure: str) -> Mapping[str, float]:
        return kept_values(ranked, measure, args.gains, args.open)

    found = []
    for name, comparisons in ((name, list(each)) for name, each in questions().items()):
        rankings = [ranked for each in comparisons for ranked in (each.system, each.base)]
        is_kept = name not in known or all(file_of(ranked, args.gains, args.open).exists() for ranked in rankings)
        found.append({"question": name, "rows": tested(comparisons, values) if is_kept else known[name]})
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (args.results.parent / "findings-tests.md").write_text(as_markdown(found), encoding="utf-8")


def questions() -> dict[str, Iterator[Comparison]]:
    """Return the comparisons by question; p is corrected over a question's comparisons."""
    readings = {f"MaxP against other aggregations, {name}": _readings(name) for name in TASKS}
    return {
        **readings,
        "PARADE on the frozen encoder against its MaxP": _parade(),
        "PARADE-Transformer against PARADE-Max": _transformer(),
        "with and without pre-fine-tuning": _pre_fine_tuned(),
        "sentences against the full text": _sentences(""),
        "sentences against the full text, both fused with BM25 by MAPFuse": _sentences(" + MAPFuse"),
        "MAPFuse against BM25, one of its parts": _fused(lambda _: "BM25+Porter"),
        "MAPFuse against the reranked run, one of its parts": _fused(lambda name: name),
        "Birch against BM25+RM3": _birch(("1S", "2S", "3S"), lambda _: "BM25+RM3"),
        "Birch's three sentences against one": _birch(("3S",), lambda model: f"{model} 1S"),
        "Birch against BM25 alone": _birch_and_bm25(),
        "with and without RM3": _rm3(),
        "h2oloo's runs": _h2oloo(),
        "passages in training and in use": _passages(),
        "end to end, first fold of the sections, against untrained systems": _end_to_end(),
        "systems that dev chose, on all folds": _all_folds(),
    }


def _readings(collection: str) -> Iterator[Comparison]:
    for name in ("firstp", "avgp", "sump"):
        yield _gained(collection, "maxp.run", f"{name}.run")


def _gained(collection: str, system: str, base: str) -> Comparison:
    return Comparison(TASKS[collection].measure, Ranked(collection, system), Ranked(collection, base))


def _of_recipe(recipe: str, measure: str, system: str, base: str) -> Comparison:
    return Comparison(measure, Ranked(recipe, system), Ranked(recipe, base))


def _parade() -> Iterator[Comparison]:
    for collection in TASKS:
        for name in ("max", "attn", "transformer"):
            yield _gained(collection, f"parade-{name}/test.run", "maxp.run")


def _transformer() -> Iterator[Comparison]:
    for collection in TASKS:
        yield _gained(collection, "parade-transformer/test.run", "parade-max/test.run")
    for recipe in ("time/parade/table2-gov2-title", "qmsum/parade/table3-genomics"):
        yield _of_recipe(recipe, "nDCG@20", "PARADE-Transformer", "PARADE-Max")


def _pre_fine_tuned() -> Iterator[Comparison]:
    yield _of_recipe("time/maxp/table2-robust04-title", "nDCG@20", "BERT-Base (pFT)", "BERT-Base")
    yield _gained("squad-dev-sections", "end-to-end/maxp/s1/maxp.run", "end-to-end/maxp-no-pre-fine-tuning/s1/maxp.run")


def _sentences(suffix: str) -> Iterator[Comparison]:
    for name in POOLS:
        yield _of_recipe("time/santos/table2-2002", "nDCG@10", f"{name}{suffix}", f"FullText{suffix}")


def _fused(base: Callable[[str], str]) -> Iterator[Comparison]:
    for name in ("FullText", *POOLS):
        yield _of_recipe("time/santos/table2-2002", "nDCG@10", f"{name} + MAPFuse", base(name))


def _birch(systems: tuple[str, ...], base: Callable[[str], str]) -> Iterator[Comparison]:
    for recipe, model in BIRCH.items():
        for system in systems:
            yield _of_recipe(recipe, "AP", f"{model} {system}", base(model))


def _birch_and_bm25() -> Iterator[Comparison]:
    bm25 = Ranked("time/parade/table2-gov2-title", "BM25")
    for measure in ("AP", "nDCG@20"):
        yield Comparison(measure, Ranked("time/birch/results-robust04", "MSM 3S"), bm25)


def _rm3() -> Iterator[Comparison]:
    for collection in TASKS:
        yield _gained(collection, "rm3-tuned/run.txt", "bm25-tuned/run.txt")
    yield _of_recipe(PASSAGES, "nDCG@10", "bm25tuned_rm3_p", "bm25tuned_p")
    yield _of_recipe(DOCUMENTS, "nDCG@10", "bm25tuned_rm3", "bm25tuned")
    yield _of_recipe(PASSAGES, "nDCG@10", "p_exp_rm3_bert", "p_exp_bert")


def _h2oloo() -> Iterator[Comparison]:
    yield _of_recipe(DOCUMENTS, "nDCG@10", "bm25_marcomb", "bm25tuned_rm3")
    yield _of_recipe(DOCUMENTS, "nDCG@10", "bm25_marcomb", "bm25tuned")
    yield _of_recipe(PASSAGES, "nDCG@10", "p_bert", "bm25tuned_p")
    yield _of_recipe(PASSAGES, "nDCG@10", "p_exp_bert", "p_bert")
    yield _of_recipe(PASSAGES, "nDCG@10", "p_exp_rm3_bert", "p_bert")


def _passages() -> Iterator[Comparison]:
    both, few = "trained with 8, used with 8", "trained with 2, used with 2"
    learned, used = "trained with 8, used with 2", "trained with 2, used with 8"
    for system, base in ((both, few), (learned, few), (used, few), (both, learned), (both, used)):
        yield _of_recipe("time/parade/table8-gov2-title", "nDCG@20", system, base)


def _end_to_end() -> Iterator[Comparison]:
    for system in ("knrm", "parade-max", "parade-transformer"):
        for base in NOT_TRAINED:
            yield _gained("squad-dev-sections", f"end-to-end/{system}/s1/document.run", base)


def _all_folds() -> Iterator[Comparison]:
    for base in NOT_TRAINED:
        yield _gained("squad-dev-sections", "end-to-end/parade-max/test.run", base)


def file_of(ranked: Ranked, gains: Path, recipes: Path) -> Path:
    """Return the file that holds a ranking, or a recipe's values by query."""
    if ranked.place in TASKS:
        return gains / ranked.place / ranked.name
    return recipes / ranked.place / "per-query.json"


def kept_values(ranked: Ranked, measure: str, gains: Path, recipes: Path) -> Mapping[str, float]:
    """Return query_id -> value: of a recipe's queries, of a collection's, or of its first fold's; not ranked is 0."""
    if ranked.place not in TASKS:
        kept = json.loads(file_of(ranked, gains, recipes).read_text(encoding="utf-8"))
        found: dict[str, float] = kept[ranked.name][measure]
        return found
    folder = gains / ranked.place
    judged = read_qrels(folder / "qrels.txt", Notes())
    if "/s1/" in ranked.name:
        judged = {query_id: judged[query_id] for query_id in read_folds(folder / "folds.json", Notes())["s1"].test}
    (values,) = evaluate(judged, read_run(file_of(ranked, gains, recipes), Notes()), [measure]).values()
    return dict(values)


def tested(comparisons: list[Comparison], values: Callable[[Ranked, str], Mapping[str, float]]) -> list[dict[str, Any]]:
    """Return a row for each comparison, on the queries of its system, which its base must have."""
    rows, p_values = [], []
    for measure, system, base in comparisons:
        asked = sorted(values(system, measure))
        ours, theirs = ({query_id: values(one, measure)[query_id] for query_id in asked} for one in (system, base))
        p_values.append(t_test(differences(ours, theirs)))
        means = [round(sum(one.values()) / len(asked), 4) for one in (ours, theirs)]
        where = {"place": system.place, "measure": measure, "queries": len(asked)}
        rows.append({**where, "system": system.name, "base": base.name, "value": means[0], "against": means[1]})
    holm = corrected(p_values, "holm", len(p_values))
    return [row | {"p": p, "p_holm": h} for row, p, h in zip(rows, p_values, holm, strict=True)]


def as_markdown(found: list[dict[str, Any]]) -> str:
    """Return a table for each question."""
    parts = [INTRODUCTION]
    for one in found:
        head = ["in", "system", "against", "measure", "queries", "value", "against", "p", "p, Holm"]
        body = [
            [
                markdown_text(row["place"]),
                markdown_text(_plain(row["system"])),
                markdown_text(_plain(row["base"])),
                row["measure"],
                str(row["queries"]),
                f"{row['value']:.4f}".lstrip("0"),
                f"{row['against']:.4f}".lstrip("0"),
                _p(row["p"]),
                _p(row["p_holm"]),
            ]
            for row in one["rows"]
        ]
        marks = [*["---"] * 4, *["---:"] * 5]
        parts.append(f"## {one['question'][0].upper()}{one['question'][1:]}\n\n{pipes([head, marks, *body])}")
    return "\n".join(parts)


INTRODUCTION = """# The tests behind the findings

Made by `python -m benchmarks.findings` from the results of the commands of [findings](findings.md). Test:
two-sided paired t-test over queries; Holm's correction is over the comparisons of a table. The first column names a
collection or a recipe, the next two columns its runs or rows. SQuAD's questions are clustered (several on one
paragraph), so their p is too small.
"""


def _plain(name: str) -> str:
    """Return a run's path without the part that all runs share."""
    return name.removesuffix(".run").removesuffix("/run.txt").removesuffix("/test").removesuffix("/document")


def _p(value: float) -> str:
    return "<.0001" if value < 0.0001 else "1" if value >= 0.99995 else f"{value:.4f}".lstrip("0")


if __name__ == "__main__":
    main()
