"""Measure the upper bound of doc2query: other people's questions about the same paragraphs as predictions.

    python -m benchmarks.doc2query_ceiling DATA [--folder work/ceiling] [--results docs/results]

The 10,570 questions about squad-dev-sections make five folds. The questions that a fold trains on (three fifths, about
three of each paragraph) are indexed as predictions for the documents that they are about, its dev questions choose
BM25's k1 and b, its test questions are searched for; all test questions together are one run. Nothing is learned, so
that all articles count.

People asked some questions twice. Questions about one article that share half or more of their terms (Jaccard, after
stop words and stemming), or that are equal as text anywhere, are one group, directly or by others in between, and a
group is never divided: no index holds a near-duplicate of what is searched for in it. How much is left of the gain
where not even something alike was indexed is said besides.

What is compared: no predictions; those; and the same ones given to other documents. Each with k1 .9 and b .4, and
tuned.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gains_tasks import articles_of, run, write_queries
from benchmarks.training_pools import read_collection
from longrank.draws import shuffled
from longrank.evaluation.folds import make_folds
from longrank.evaluation.measures import evaluate
from longrank.evaluation.significance import corrected, differences, t_test
from longrank.formats.expansions import expansion_line
from longrank.formats.folds import Fold
from longrank.formats.trec import read_run
from longrank.text.analysis import ANALYZERS
from longrank.types import Notes, Qrels, Query

COLLECTION, N_FOLDS, SEED = "squad-dev-sections", 5, 42
MEASURES = ("RR@10", "nDCG@10")
SAME, ALIKE = 0.5, 0.25  # Jaccard of terms: from SAME on a near-duplicate; below ALIKE nothing alike
GRID = ("k1=0.3,0.6,0.9,1.5,2.5", "b=0.2:1:0.2")
WAYS = ("none", "questions", "elsewhere")

Values = Mapping[str, Mapping[str, float]]  # by measure and query


class Questions(NamedTuple):
    """By question id: texts, judgments, groups of near-duplicates, terms, and the articles that questions are about."""

    texts: Mapping[str, str]
    qrels: Qrels
    groups: Mapping[str, str]
    terms: Mapping[str, frozenset[str]]
    articles: Mapping[str, str]


def main() -> None:
    """Index, tune and search fold by fold; compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/ceiling"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    questions = read_questions(args.data)
    folds = make_folds(sorted(questions.texts), N_FOLDS, SEED, questions.groups)
    found: dict[tuple[str, str], dict[str, dict[str, float]]] = defaultdict(lambda: {name: {} for name in MEASURES})
    chosen = {}
    for name, fold in folds.items():
        for way in WAYS:
            folder = args.folder / name / way
            folder.mkdir(parents=True, exist_ok=True)
            chosen[f"{name} {way}"] = setting = tuned(args.data, folder, questions, fold, way)
            for how, options in (("default", {"k1": 0.9, "b": 0.4}), ("tuned", setting)):
                for measure, own in searched(folder, questions, fold, options).items():
                    found[way, how][measure].update(own)
    report = {
        "collection": COLLECTION,
        "questions": len(questions.texts),
        "groups": len(set(questions.groups.values())),
    }
    report |= {
        "rows": rows(found),
        "tuned_against_default": tuned_against_default(found),
        "chosen": chosen,
        **by_likeness(found, questions, folds),
    }
    path = args.results / "doc2query-ceiling.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


def read_questions(data: Path) -> Questions:
    """Read the collection, and group questions that are near-duplicates."""
    _, queries, qrels = read_collection(data / COLLECTION)
    articles = articles_of(data, queries)
    analyzed = ANALYZERS["porter"]
    terms = {one.query_id: frozenset(analyzed(one.text)) for one in queries}
    return Questions(
        {one.query_id: one.text for one in queries}, qrels, groups_of(queries, articles, terms), terms, articles
    )


def groups_of(
    queries: Sequence[Query], articles: Mapping[str, str], terms: Mapping[str, frozenset[str]]
) -> dict[str, str]:
    """Return query_id -> the id of its group of near-duplicates."""
    leader = {one.query_id: one.query_id for one in queries}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    first_of_text: dict[str, str] = {}
    of_article: dict[str, list[str]] = defaultdict(list)
    for one in queries:
        leader[find(one.query_id)] = find(first_of_text.setdefault(one.text.lower(), one.query_id))
        for other in of_article[articles[one.query_id]]:
            if jaccard(terms[one.query_id], terms[other]) >= SAME:
                leader[find(one.query_id)] = find(other)
        of_article[articles[one.query_id]].append(one.query_id)
    return {name: find(name) for name in leader}


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of terms that two questions have in common; 0 if they have none."""
    return len(one & other) / len(one | other) if one or other else 0.0


def tuned(data: Path, folder: Path, questions: Questions, fold: Fold, way: str) -> dict[str, float]:
    """Index with the train questions as predictions, and return the k1 and b that are best on the dev questions."""
    expansions: list[object] = []
    if way != "none":
        write_predictions(questions, fold.train, folder / "predictions.jsonl", elsewhere=way == "elsewhere")
        expansions = ["--expansions", folder / "predictions.jsonl"]
    run("index", data / COLLECTION, "-o", folder / "index", *expansions)
    inputs = write_part(questions, fold.dev, folder / "dev")
    grid = [part for axis in GRID for part in ("--grid", axis)]
    run("tune", folder / "index", *inputs, "-o", folder / "tuned", *grid, "-m", MEASURES[0], "-k", 10)
    return best_of(folder / "tuned")


def best_of(folder: Path) -> dict[str, float]:
    """Return the setting that `longrank tune` has found."""
    found = json.loads((folder / "tuning.json").read_text(encoding="utf-8"))
    return dict(found["choices"][0]["setting"])


def searched(folder: Path, questions: Questions, fold: Fold, options: Mapping[str, float]) -> Values:
    """Search for the test questions; return values by measure and query."""
    queries, _ = write_part(questions, fold.test, folder / "test")
    settings = [part for key, value in options.items() for part in (f"--{key}", value)]
    run("retrieve", folder / "index", queries, "-o", folder / "test.run", "-k", 10, *settings)
    return evaluate({one: questions.qrels[one] for one in fold.test}, read_run(folder / "test.run", Notes()), MEASURES)


def write_predictions(questions: Questions, names: Iterable[str], path: Path, *, elsewhere: bool) -> None:
    """Write questions as predictions for the documents that they are about, or (`elsewhere`) each for the next one."""
    about: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        about[next(iter(questions.qrels[name]))].append(questions.texts[name])
    order = shuffled(about, "doc2query ceiling")
    place = dict(zip(order, order[1:] + order[:1], strict=True)) if elsewhere else {doc_id: doc_id for doc_id in order}
    path.write_text("".join(expansion_line(place[one], about[one]) for one in sorted(about)), encoding="utf-8")


def write_part(questions: Questions, names: Sequence[str], path: Path) -> tuple[Path, Path]:
    """Write some questions and their judgments; return the two files."""
    queries, qrels = path.with_suffix(".jsonl"), path.with_suffix(".qrels")
    write_queries([Query(name, questions.texts[name]) for name in names], queries)
    lines = [f"{name} 0 {doc_id} {grade}\n" for name in names for doc_id, grade in questions.qrels[name].items()]
    qrels.write_text("".join(lines), encoding="utf-8")
    return queries, qrels


def rows(found: Mapping[tuple[str, str], Values]) -> list[dict[str, Any]]:
    """Return a row for each way and setting, with Holm's p against the same setting without predictions."""
    made: list[dict[str, Any]] = []
    p: list[float | None] = []
    for (way, how), own in found.items():
        values = {measure: round(mean(own[measure].values()), 4) for measure in MEASURES}
        made.append({"predictions": way, "BM25": how, **values})
        if way != "none":
            p.append(t_test(differences(own[MEASURES[0]], found["none", how][MEASURES[0]])))
    holm = iter(corrected(p, "holm", len(p)))
    return [row if row["predictions"] == "none" else row | {f"p_holm {MEASURES[0]}": next(holm)} for row in made]


def tuned_against_default(found: Mapping[tuple[str, str], Values]) -> dict[str, dict[str, float | None]]:
    """Return the gains of tuning with and without predictions, with Holm-corrected p."""
    gains = [differences(found[way, "tuned"][MEASURES[0]], found[way, "default"][MEASURES[0]]) for way in WAYS]
    p = corrected([t_test(one) for one in gains], "holm", len(WAYS))
    return {
        way: {"gain": round(float(one.mean()), 4), "p_holm": value}
        for way, one, value in zip(WAYS, gains, p, strict=True)
    }


def by_likeness(
    found: Mapping[tuple[str, str], Values], questions: Questions, folds: Mapping[str, Fold]
) -> dict[str, Any]:
    """Return the gain, tuned, where something alike was indexed for the document's article and where nothing was."""
    parts: dict[str, list[str]] = {f"below {ALIKE}": [], f"{ALIKE} to {SAME}": []}
    for fold in folds.values():
        indexed: dict[str, list[frozenset[str]]] = defaultdict(list)
        for name in fold.train:
            indexed[questions.articles[name]].append(questions.terms[name])
        for name in fold.test:
            own = questions.terms[name]
            likest = max((jaccard(own, other) for other in indexed[questions.articles[name]]), default=0.0)
            assert likest < SAME, name
            parts[f"below {ALIKE}" if likest < ALIKE else f"{ALIKE} to {SAME}"].append(name)
    without, having = (found[way, "tuned"][MEASURES[0]] for way in ("none", "questions"))
    return {
        "likest_indexed_question": {
            part: {
                "questions": len(names),
                "none": round(mean(without[name] for name in names), 4),
                "with": round(mean(having[name] for name in names), 4),
                "p": t_test(differences({n: having[n] for n in names}, {n: without[n] for n in names})),
            }
            for part, names in parts.items()
        }
    }


def mean(values: Iterable[float]) -> float:
    """Return the mean of values, at least one."""
    listed = list(values)
    return sum(listed) / len(listed)


if __name__ == "__main__":
    main()
