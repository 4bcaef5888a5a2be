"""Weights tried on evidence, against aggregate and evaluate, setting by setting; and the errors of grids and files."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longrank
from evidences import evidence
from longrank.aggregation import make_aggregator
from longrank.aggregation.run import aggregate_run
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate
from longrank.evaluation.tuning.formula import Formula, make_formula
from longrank.evaluation.tuning.protocols import frozen
from longrank.evaluation.tuning.reranked import Reranked, open_reranked
from longrank.evaluation.tuning.weights import Weighing, weighed_run
from longrank.formats.evidence import EvidenceWriter, evidence_header
from longrank.formats.trec import write_run
from longrank.types import Evidence, Missing, Notes, Run, ScoredDoc

ALPHAS = (0.0, 0.3, 0.5, 1.0)
QUERIES = [f"q{n}" for n in range(6)]


def drawn(seed: int = 1) -> tuple[Run, dict[str, list[Evidence]], dict[str, dict[str, int]]]:
    """A first stage of 9 documents a query, evidence of 6 of them (none for q5), and judgments (none for q4)."""
    rng = random.Random(seed)
    rows, said, qrels = [], {}, {}
    for query_id in QUERIES:
        first = {f"d{n}": round(rng.uniform(0, 9), 1) for n in range(9)}
        rows += [ScoredDoc(query_id, doc_id, score) for doc_id, score in first.items()]
        said[query_id] = [
            evidence(doc_id, [round(rng.gauss(0, 3), 2) for _ in range(rng.randint(1, 5))], query_id=query_id)
            for doc_id in sorted(first, key=first.__getitem__)[3:]
        ]
        qrels[query_id] = {doc_id: rng.choice([0, 0, 1, 2]) for doc_id in first}
    said["q5"] = []
    del qrels["q4"]
    return Run("first", rows), said, qrels


def write_evidence(
    path: Path, said: Mapping[str, Sequence[Evidence]], *missing: Sequence[str], unit: str = "logit"
) -> Path:
    about: dict[str, Any] = {"unit": unit, "scorer": "s", "collection": "c", "queries": "q", "candidates": "x"}
    options = dict(zip(("missing", "kept"), map(list, missing), strict=False))
    with EvidenceWriter(path, evidence_header(n_queries=len(said), options=options, **about)) as writer:
        for query_id, some in said.items():
            writer.write_query(query_id, some)
        writer.commit()
    return path


def opened(folder: Path, said: Mapping[str, Sequence[Evidence]], first: Run, *missing: Sequence[str]) -> Reranked:
    write_run(first, folder / "first.run")
    path = write_evidence(folder / "e", said, *missing)
    return open_reranked(folder / "first.run", [path], depth=None, notes=Notes())


def reference(
    said: Mapping[str, Sequence[Evidence]], first: Run, setting: Mapping[str, float], formula: Formula, **options: Any
) -> Run:
    """What rerank and aggregate make of the same settings."""
    weights = [1.0, *(value for name, value in setting.items() if name != "alpha")] if formula.n_passages > 1 else None
    return aggregate_run(
        (one for some in said.values() for one in some),
        make_aggregator(formula.aggregator, weights=weights),
        first_stage=first,
        alpha=setting.get("alpha"),
        normalize=formula.normalize,
        tail="keep",
        tag="longrank",
        **options,
    )


@pytest.mark.parametrize("measure", ["AP", "nDCG@5", "Rprec"])
@pytest.mark.parametrize(
    ("axes", "aggregator", "normalize"),
    [
        ({"alpha": ALPHAS}, None, "none"),
        ({"alpha": ALPHAS}, "avgp", "minmax"),
        ({"alpha": ALPHAS, "w2": (0.0, 0.4, 1.0), "w3": (0.0, 0.7)}, None, "none"),
        ({"alpha": ALPHAS, "w2": (0.1,), "w3": (0.2,), "w4": (0.0, 0.9)}, None, "minmax"),
        ({"w2": (0.0, 0.5)}, None, "none"),
    ],
)
def test_every_setting_has_the_values_of_its_own_aggregate_and_evaluate(
    axes: dict[str, tuple[float, ...]], aggregator: str | None, normalize: str, measure: str, tmp_path: Path
) -> None:
    first, said, qrels = drawn()
    formula = make_formula(axes, aggregator, normalize)
    weighing = Weighing(opened(tmp_path, said, first), qrels, formula, measure)
    table = weighing.table(axes, Notes())
    assert table.query_ids == ("q0", "q1", "q2", "q3", "q5")
    for setting, values in zip(table.settings, table.values, strict=True):
        run = reference(said, first, setting, formula)
        assert values.tolist() == list(evaluate(qrels, run, [measure])[measure].values())


def test_documents_that_the_index_lacked_stay_below_all_others(tmp_path: Path) -> None:
    first, said, qrels = drawn(2)
    gone = next(row.doc_id for row in first["q0"] if row.doc_id not in {one.doc_id for one in said["q0"]})
    formula = make_formula({"alpha": ALPHAS}, None, "none")
    some = {query_id: [one for one in of if one.doc_id != gone] for query_id, of in said.items()}
    table = Weighing(opened(tmp_path, some, first, [gone]), qrels, formula, "AP").table({"alpha": ALPHAS}, Notes())
    for setting, values in zip(table.settings, table.values, strict=True):
        run = reference(some, first, setting, formula, missing=Missing(frozenset([gone])))
        assert values.tolist() == list(evaluate(qrels, run, ["AP"])["AP"].values())


def test_a_query_that_was_not_reranked_keeps_the_place_of_documents_that_the_index_lacked(tmp_path: Path) -> None:
    first, said, qrels = drawn()
    gone, formula = first["q5"][0].doc_id, make_formula({"alpha": ALPHAS}, None, "none")
    qrels["q5"] = {gone: 1}
    some = {query_id: [one for one in of if one.doc_id != gone] for query_id, of in said.items()}
    weighing = Weighing(opened(tmp_path, some, first, [gone], ["q5"]), qrels, formula, "AP")
    table = weighing.table({"alpha": ALPHAS}, Notes())
    assert table.values[:, table.query_ids.index("q5")].tolist() == [1.0] * len(ALPHAS)
    assert next(iter(weighed_run(weighing, {"q5": {"alpha": 0.3}}))) == list(first["q5"])


def test_the_run_gives_each_query_its_own_weights_as_aggregate_does(tmp_path: Path) -> None:
    first, said, qrels = drawn()
    axes = {"alpha": ALPHAS, "w2": (0.0, 0.5)}
    formula = make_formula(axes, None, "none")
    weighing = Weighing(opened(tmp_path, said, first), qrels, formula, "AP")
    one, other = {"alpha": 0.3, "w2": 0.5}, {"alpha": 1.0, "w2": 0.0}
    setting_of = {"q0": one, "q2": other, "q3": one, "q5": other}
    found = {ranking[0].query_id: ranking for ranking in weighed_run(weighing, setting_of)}
    assert list(found) == ["q0", "q2", "q3", "q5"]
    for query_id, setting in setting_of.items():
        assert found[query_id] == list(reference(said, first, setting, formula)[query_id])


def test_a_reranked_run_is_evidence_of_one_score_to_its_depth(tmp_path: Path) -> None:
    """The documents below were not reranked: their scores in the run only say that they follow."""
    first, said, qrels = drawn()
    ranked = {"q0": said["q0"], "q1": said["q1"]}
    formula = make_formula({"alpha": ALPHAS}, None, "none")
    setting: dict[str, float] = {"alpha": 0.3}
    whole = Run("r", (row for query_id in ranked for row in reference(ranked, first, {}, formula)[query_id]))
    write_run(whole, tmp_path / "r.run")
    write_run(first, tmp_path / "first.run")
    by_run = open_reranked(tmp_path / "first.run", [tmp_path / "r.run"], depth=6, notes=Notes())
    found = list(weighed_run(Weighing(by_run, qrels, formula, "AP"), {"q0": setting, "q1": setting}))
    expected = reference(ranked, first, setting, formula)
    assert [[row.doc_id for row in ranking] for ranking in found] == [
        [row.doc_id for row in expected[query_id]] for query_id in ranked
    ]


def test_weights_of_another_set_are_kept_and_measured_here(tmp_path: Path) -> None:
    axes = {"alpha": ALPHAS}
    formula = make_formula(axes, None, "none")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    sets = [
        (Weighing(opened(tmp_path / name, drawn(seed)[1], drawn(seed)[0]), drawn(seed)[2], formula, "AP"))
        for name, seed in (("a", 1), ("b", 2))
    ]
    there = sets[0].table(axes, Notes())
    place = there.best(there.query_ids)
    here = sets[1].table({name: (value,) for name, value in there.settings[place].items()}, Notes())
    outcome = frozen(there._replace(query_ids=tuple(f"a-{q}" for q in there.query_ids)), place, here)
    assert (outcome.name, outcome.held_out, outcome.setting) == ("frozen", True, there.settings[place])
    assert not frozen(there, place, here).held_out  # the ids of both sets are the same
    assert outcome.value == pytest.approx(np.mean(here.values))
    assert outcome.value == sets[1].figure(there.settings[place], here.query_ids)


def test_what_has_no_value_is_counted(tmp_path: Path) -> None:
    first, said, qrels = drawn()
    notes = Notes()
    axes = {"alpha": ALPHAS}
    more = {**qrels, "q9": {"d1": 1}}
    Weighing(opened(tmp_path, said, first), more, make_formula(axes, None, "none"), "AP").table(axes, notes)
    assert notes["queries without judgments, left out of the choice"] == 1
    assert notes["judged queries that the first stage lacks, left out"] == 1


@pytest.mark.parametrize(
    ("axes", "aggregator", "normalize", "said"),
    [
        ({"alpha": (0.5, 1.5)}, None, "none", r"the weight of the first stage must be between 0 and 1 \(got 1.5\)"),
        ({"w3": (0.5,)}, None, "none", "the grid has w3, but not w2; add --grid w2="),
        ({"alpha": (0.5,), "w2": (1.0,)}, "maxp", "none", "passages with weights take no other aggregator"),
        ({"alpha": (0.5,)}, "birch", "none", "the weights of birch are learned; add"),
        ({"alpha": (0.5,)}, "mxp", "none", "unknown aggregator .*did you mean 'maxp'"),
        ({"alpha": (0.5,)}, None, "mimax", "unknown normalisation .*did you mean 'minmax'"),
        ({"w2": (0.5,)}, None, "minmax", "`normalize` has an effect on interpolation only"),
    ],
)
def test_a_grid_that_makes_no_score_is_refused(
    axes: dict[str, tuple[float, ...]], aggregator: str | None, normalize: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        make_formula(axes, aggregator, normalize)


def test_evidence_that_does_not_belong_to_the_first_stage_is_refused(tmp_path: Path) -> None:
    first, said, qrels = drawn()
    axes = {"alpha": ALPHAS}
    formula = make_formula(axes, None, "none")
    write_run(first, tmp_path / "first.run")
    path = write_evidence(tmp_path / "a", said)
    twice = open_reranked(tmp_path / "first.run", [path, path], depth=None, notes=Notes())
    with pytest.raises(InputError, match=r"document 'd\d' of query 'q0' is reranked twice"):
        Weighing(twice, qrels, formula, "AP").table(axes, Notes())
    (tmp_path / "b").mkdir()
    other = opened(tmp_path / "b", {"q0": [evidence("d77", [1.0], query_id="q0")]}, first)
    with pytest.raises(InputError, match="has a document that the first stage does not rank"):
        Weighing(other, qrels, formula, "AP").table(axes, Notes())
    with pytest.raises(InputError, match="have no query in common"):
        Weighing(twice, {"z": {"d1": 1}}, formula, "AP").table(axes, Notes())


def test_evidence_that_is_written_again_between_two_readings_is_refused(tmp_path: Path) -> None:
    first, said, _ = drawn()
    reranked = opened(tmp_path, said, first)
    assert list(reranked.evidence()) and list(reranked.evidence())
    write_evidence(tmp_path / "other", drawn(2)[1]).replace(tmp_path / "e")
    for _ in range(2):
        with pytest.raises(InputError, match=r"/e: has changed since it was opened"):
            list(reranked.evidence())
        (tmp_path / "e").unlink(missing_ok=True)


@pytest.mark.parametrize(("unit", "is_said"), [("logit", False), ("BM25", True)])
def test_evidence_in_several_units_is_said(tmp_path: Path, unit: str, is_said: bool) -> None:
    first, said, _ = drawn()
    write_run(first, tmp_path / "first.run")
    one = write_evidence(tmp_path / "one", {"q1": said["q1"]})
    other = write_evidence(tmp_path / "other", {"q2": said["q2"]}, unit=unit)
    open_reranked(tmp_path / "first.run", [one, other], depth=None, notes=(notes := Notes()))
    line = "evidence in several units (logit, BM25): a single weight is learned for all of them"
    assert (line in notes.lines()) == is_said


def test_a_depth_is_for_runs_and_at_least_one(tmp_path: Path) -> None:
    first, said, _ = drawn()
    write_run(first, tmp_path / "first.run")
    path, notes = write_evidence(tmp_path / "e", said), Notes()
    open_reranked(tmp_path / "first.run", [path, tmp_path / "first.run"], depth=5, notes=notes)
    assert notes["evidence files, which the depth does not limit"] == 1
    with pytest.raises(InputError, match="at least 1"):
        open_reranked(tmp_path / "first.run", [tmp_path / "first.run"], depth=0, notes=Notes())
    with pytest.raises(InputError, match="nowhere: no such file"):
        open_reranked(tmp_path / "first.run", [tmp_path / "nowhere"], depth=None, notes=Notes())


@pytest.mark.parametrize(("n", "said"), [(1, ["w2"]), (2, []), (3, [])])
def test_weights_of_passages_that_no_document_has_are_said(n: int, said: list[str]) -> None:
    first = Run("first", [ScoredDoc("q", doc_id, 1.0) for doc_id in "ab"])
    some = [evidence(doc_id, [1.0, 2.0, 3.0][:n], query_id="q") for doc_id in "ab"]
    weighed = longrank.weigh({"q": {"a": 1}}, first, some, {"alpha": [0.0, 0.5], "w2": [0.0, 0.5]})
    lines = [line for line in weighed.notes.lines() if "has no effect" in line]
    assert [line.split()[0] for line in lines] == said


def test_reranked_runs_may_be_mappings_and_numbers_of_numpy() -> None:
    qrels = {f"q{n}": {"d1": 1} for n in range(4)}
    first = {query_id: {"d2": 2.0, "d1": 1.0} for query_id in qrels}
    reranked = {query_id: {"d1": 2.0, "d2": 1.0} for query_id in qrels}
    halves = [{query_id: reranked[query_id] for query_id in half} for half in (("q0", "q1"), ("q2", "q3"))]
    whole = longrank.weigh(qrels, first, reranked, folds=2)
    assert longrank.weigh(qrels, first, halves, folds=np.int64(2)).value == whole.value == 1.0
    assert longrank.evaluate(qrels, first, "P@1", level=np.int64(1))["P@1"] == 0.0
