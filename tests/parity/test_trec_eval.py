"""Against trec_eval: its own expected outputs, its library called directly, and slow obvious definitions."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, summarise
from longrank.evaluation.names import parse_measure
from longrank.evaluation.trec_names import TREC_CUT, TREC_NOT_COVERED, TREC_PLAIN
from longrank.formats.trec import read_qrels, read_run
from longrank.types import Notes, Run, ScoredDoc

# --- trec_eval's own test files ----------------------------------------------------------------

CASES = {
    "out.test": ("qrels.test", "results.test", {}),
    "out.test.a": ("qrels.test", "results.test", {}),
    "out.test.aq": ("qrels.test", "results.test", {}),
    "out.test.aqc": ("qrels.test", "results.trunc", {}),
    "out.test.aqcM": ("qrels.test", "results.trunc", {"max_depth": 100}),
    "out.test.aql": ("qrels.rel_level", "results.test", {"level": 2}),
}

NOT_COVERED = {
    "out.test": {"runid", "gm_map"},
    "all_trec": {
        *("runid", "gm_map", "gm_bpref", "Rprec_mult", "utility", "11pt_avg", "binG", "G", "ndcg_rel", "Rndcg"),
        *("relative_P", "num_nonrel_judged_ret", "rbp", "rbp_resid", "unj"),
    },
}
"""What trec_eval prints for its group all_trec that we do not compute; `TREC_NOT_COVERED` says why."""


@pytest.fixture
def trec_files(shared_data: Path) -> Path:
    return shared_data / "trec_eval-test" / "test"


def _run(path: Path, tmp_path: Path) -> Run:
    """Read a run; the words that results.trunc has after the tag of four rows are cut here, in the test."""
    rows = [line.split()[:6] for line in path.read_text().splitlines()]
    cut = tmp_path / path.name
    cut.write_text("".join("\t".join(row) + "\n" for row in rows))
    return read_run(cut, Notes())


def _family(name: str) -> str:
    return next(
        (f for f in ("Rprec_mult", "relative_P", "unj", "relstring", *TREC_CUT) if name.startswith(f"{f}_")), name
    )


@pytest.mark.parametrize("output", CASES)
def test_every_covered_number_in_trec_evals_expected_output_is_ours(
    output: str, trec_files: Path, tmp_path: Path
) -> None:
    qrels_name, run_name, options = CASES[output]
    qrels = read_qrels(trec_files / qrels_name, Notes())
    run = _run(trec_files / run_name, tmp_path)
    expected = [line.split() for line in (trec_files / output).read_text().splitlines()]
    names = {name for name, *_ in expected}
    covered = {name for name in names if _family(name) in {*TREC_PLAIN, *TREC_CUT}}
    measures = {name: str(parse_measure(name, options.get("level"))) for name in sorted(covered)}
    values = evaluate(qrels, run, sorted(covered), **options)
    compared = 0
    for name, topic, figure in expected:
        if name in covered:
            per_query = values[measures[name]]
            ours = summarise(measures[name], per_query.values()) if topic == "all" else per_query[topic]
            assert f"{ours:.4f}" == f"{float(figure):.4f}", (name, topic)
            compared += 1
    assert compared == {"out.test": 28, "out.test.a": 65}.get(output, 257)
    left = {_family(name) for name in names - covered}
    relstring = {"relstring"} if compared == 257 else set()  # printed topic by topic only
    assert left == (NOT_COVERED["out.test"] if output == "out.test" else NOT_COVERED["all_trec"] | relstring)


def test_the_table_of_uncovered_measures_is_what_the_outputs_leave() -> None:
    assert set(TREC_NOT_COVERED) == NOT_COVERED["all_trec"] | {"relstring"}
    for name in TREC_NOT_COVERED:
        with pytest.raises(InputError, match="is not computed"):
            parse_measure(name)


def test_rows_with_words_after_the_tag_are_refused(trec_files: Path) -> None:
    with pytest.raises(InputError, match=r"results\.trunc:1: "):
        read_run(trec_files / "results.trunc", Notes())


# --- random judgments and runs -----------------------------------------------------------------


def _random_pair(seed: int) -> tuple[dict[str, dict[str, int]], Run]:
    """Grades -1 to 4, unjudged documents, many ties, missing and unjudged topics, topics without relevant documents."""
    rng = random.Random(seed)
    documents = [f"d{n}" for n in range(rng.randint(2, 40))]
    qrels, rows = {}, []
    for number in range(rng.randint(2, 6)):
        topic = f"t{number}"
        grades = rng.choice([[0], [-1], [0, 1], [-1, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
        if number == 0 or rng.random() < 0.9:
            qrels[topic] = {d: rng.choice(grades) for d in rng.sample(documents, rng.randint(1, len(documents)))}
        if number == 0 or rng.random() < 0.8:
            levels = rng.choice([1, 3, 1000])
            rows += [
                ScoredDoc(topic, d, rng.randint(1, levels) / 7)
                for d in rng.sample(documents, rng.randint(1, len(documents)))
            ]
    return qrels, Run("random", rows)


def _grades(qrels: dict[str, dict[str, int]], run: Run, topic: str) -> Iterator[int | None]:
    """The grades down the ranking; None for a document nobody judged."""
    ranking = sorted(run.get(topic), key=lambda row: row.doc_id.encode(), reverse=True)
    for row in sorted(ranking, key=lambda row: -row.score):  # stable: ties stay in descending order of doc_id
        grade = qrels[topic].get(row.doc_id, -1)
        yield None if grade < 0 else grade


def _obvious(qrels: dict[str, dict[str, int]], run: Run, topic: str, level: int) -> dict[str, float]:
    """The textbook definitions, one loop each."""
    ranked = list(_grades(qrels, run, topic))
    judged = [grade for grade in qrels[topic].values() if grade >= 0]
    relevant = sum(grade >= level for grade in judged)
    nonrelevant = len(judged) - relevant
    hits = [grade is not None and grade >= level for grade in ranked]
    precision = [sum(hits[:rank]) / rank for rank in range(1, len(hits) + 1)]
    ideal = sorted(judged, reverse=True)
    bpref = 0.0
    for rank, hit in enumerate(hits):
        if hit:
            above = sum(grade is not None and grade < level for grade in ranked[:rank])
            bpref += 1 - min(above, relevant) / min(relevant, nonrelevant) if above else 1
    return {
        "AP": sum(p for p, hit in zip(precision, hits, strict=True) if hit) / relevant if relevant else 0.0,
        "RR": next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0),
        "RR@3": next((1 / rank for rank, hit in enumerate(hits[:3], 1) if hit), 0.0),
        "P@5": sum(hits[:5]) / 5,
        "R@5": sum(hits[:5]) / relevant if relevant else 0.0,
        "Bpref": bpref / relevant if relevant else 0.0,
        "nDCG": _dcg(ranked) / _dcg(ideal) if any(ideal) else 0.0,
        "nDCG@5": _dcg(ranked[:5]) / _dcg(ideal[:5]) if any(ideal) else 0.0,
        "Judged@5": sum(grade is not None for grade in ranked[:5]) / min(5, len(ranked)) if ranked else 0.0,
        "NumRel": relevant,
        "NumRet": len(ranked),
        "NumRelRet": sum(hits),
    }


def _dcg(grades: list[int | None]) -> float:
    return sum((grade or 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


@pytest.mark.parametrize("level", [1, 2])
def test_values_are_those_of_the_definitions_on_random_judgments(level: int) -> None:
    for seed in range(250):
        qrels, run = _random_pair(seed)
        names = _obvious(qrels, run, "t0", level)
        values = evaluate(qrels, run, names, level=level)
        for topic in qrels:
            for name, expected in _obvious(qrels, run, topic, level).items():
                ours = values[str(parse_measure(name, level))][topic]
                assert ours == pytest.approx(expected, abs=1e-9), (seed, topic, name)


DIRECT = {
    "map": "AP",
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
    "map_cut_5": "AP@5",
    "P_5": "P@5",
    "recall_10": "R@10",
    "success_1": "Success@1",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "set_F": "SetF",
}
"""What pytrec_eval, which is trec_eval's own C code, calls some measures."""


def test_values_and_means_are_those_of_trec_evals_code_with_c_l_and_m_on_500_random_pairs() -> None:
    """Ties, topics that the run misses, unjudged topics, negative grades; -c or not, -l 1 to 3, -M or not."""
    seen: Counter[str] = Counter()
    for seed in range(500):
        qrels, run = _random_pair(seed)
        level, depth, complete = 1 + seed % 3, [None, 1, 3, 10][seed % 4], seed % 2 == 0
        expected = _by_pytrec_eval(qrels, run, level, depth)
        topics = [topic for topic in qrels if complete or topic in run]
        how = "complete" if complete else "intersection"
        values = evaluate(qrels, run, DIRECT.values(), level=level, max_depth=depth, queries=how)
        for theirs, name in DIRECT.items():
            measure = str(parse_measure(name, level))
            assert list(values[measure]) == topics
            per_topic = [expected.get(topic, {}).get(theirs, 0.0) for topic in topics]
            assert list(values[measure].values()) == pytest.approx(per_topic, abs=1e-9), (seed, name)
            mean = sum(per_topic) / len(topics)
            assert summarise(measure, values[measure].values()) == pytest.approx(mean, abs=1e-9), (seed, name)
        seen += Counter(_peculiarities(qrels, run, level, depth))
    assert min(seen.values()) > 50 and len(seen) == 6, seen


def _by_pytrec_eval(
    qrels: dict[str, dict[str, int]], run: Run, level: int, depth: int | None
) -> dict[str, dict[str, float]]:
    """Call the library. It has no -M, so that rankings are cut here; topics without any grade of 0 or more crash it."""
    import pytrec_eval

    safe = {topic: judged for topic, judged in qrels.items() if max(judged.values()) >= 0}
    cut = {}
    for topic in run:
        down = sorted(run[topic], key=lambda row: (row.score, row.doc_id), reverse=True)
        cut[topic] = {row.doc_id: row.score for row in down[:depth]}
    evaluator = pytrec_eval.RelevanceEvaluator(safe, set(DIRECT), relevance_level=level)
    found: dict[str, dict[str, float]] = evaluator.evaluate(cut)
    return found


def _peculiarities(qrels: dict[str, dict[str, int]], run: Run, level: int, depth: int | None) -> set[str]:
    rows = [row for topic in qrels for row in run.get(topic)]
    found = {
        "ties": len({(row.query_id, row.score) for row in rows}) < len(rows),
        "topics missed": any(topic not in run for topic in qrels),
        "topics unjudged": any(topic not in qrels for topic in run),
        "negative grades": any(grade < 0 for judged in qrels.values() for grade in judged.values()),
        "nothing relevant": any(max(judged.values()) < level for judged in qrels.values()),
        "rankings cut": depth is not None and any(len(run.get(topic)) > depth for topic in qrels),
    }
    return {what for what, is_so in found.items() if is_so}


def test_the_documented_table_of_uncovered_measures_is_current() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    rows = [f"| `{name}` | {why} |" for name, why in TREC_NOT_COVERED.items()]
    assert "\n".join(["| trec_eval | reason |", "|---|---|", *rows]) + "\n\n" in page
