"""The table of values: what it holds, how it is resumed, what is refused before any work."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tunable
from collections_of_words import LETTERS, located, random_documents
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate
from longrank.evaluation.tuning.grids import settings_of
from longrank.evaluation.tuning.protocols import OnAll
from longrank.evaluation.tuning.search import (
    Search,
    check_axes,
    judged_queries,
    rankings,
    tabulate,
    untried,
)
from longrank.evaluation.tuning.search import tunable as tunable_settings
from longrank.index import Index, build_index
from longrank.retrieval import make_retriever
from longrank.storage import Journal
from longrank.types import Notes, Qrels, Query, Run
from slow_values import slow

AXES = {"b": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}
TWO_AXES = {"k1": (0.5, 2.0), "b": (0.0, 0.5, 1.0)}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tunable.build(tmp_path_factory.mktemp("tunable"))


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Search:
    """600 queries, more than are evaluated at a time, some of which find nothing; grades from -1 to 2."""
    folder = tmp_path_factory.mktemp("words") / "index"
    documents = random_documents(120)
    build_index(located(documents), folder)
    rng = random.Random(4)
    queries = tuple(
        Query(f"q{i}", " ".join(rng.choices([*LETTERS, "nowhere"], k=rng.randrange(1, 4)))) for i in range(600)
    )
    ids = [document.doc_id for document in documents]
    qrels = {query.query_id: {doc_id: rng.randrange(-1, 3) for doc_id in rng.sample(ids, 20)} for query in queries}
    return Search(tunable.shared(folder), "bm25-anserini", {}, queries, qrels, "AP", 50)


@pytest.fixture(scope="module")
def lucene_run(words: Search) -> Run:
    """What one setting finds."""
    first_stage = make_retriever(words.index.open(), "bm25-lucene", doc_lengths="exact", b=0.3)
    return Run("", [row for query in words.queries for row in first_stage.retrieve(query, 50)])


def test_every_value_is_what_evaluate_gives(words: Search, tmp_path: Path) -> None:
    table = tabulate(words, TWO_AXES, tmp_path / "journal")
    assert table.settings == settings_of(TWO_AXES)
    for setting, values in zip(table.settings, table.values, strict=True):
        first_stage = make_retriever(words.index.open(), "bm25-anserini", **setting)
        run = Run("", [row for query in words.queries for row in first_stage.retrieve(query, 50)])
        assert len(run) < len(words.queries)  # some find nothing, and count 0
        assert dict(zip(table.query_ids, values.tolist(), strict=True)) == evaluate(words.qrels, run, ["AP"])["AP"]


@pytest.mark.parametrize("measure", ["R@1000", "RR@10", "nDCG@10", "Bpref", "Judged@5", "IPrec@0.1", "NumRet(rel=1)"])
def test_any_measure_can_be_tuned_for(words: Search, lucene_run: Run, measure: str) -> None:
    search = Search(words.index, "bm25-lucene", {"doc_lengths": "exact"}, words.queries, words.qrels, measure, 50)
    assert search({"b": 0.3}).tolist() == list(evaluate(words.qrels, lucene_run, [measure])[measure].values())


def test_the_optimum_that_can_be_worked_out_by_hand_is_found(index: Path, tmp_path: Path) -> None:
    table = tabulate(tunable.search_of(index), AXES, tmp_path / "journal")
    alpha, beta = (table.values[:, column].tolist() for column in (0, 1))
    assert alpha == [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]
    assert beta == [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]
    assert table.settings[OnAll().choose(table)[0].setting] == {"b": 0.6}


@pytest.mark.slow
def test_several_processes_leave_the_bytes_that_one_does(words: Search, tmp_path: Path) -> None:
    one = tabulate(words, TWO_AXES, tmp_path / "one", workers=1)
    two = tabulate(words, TWO_AXES, tmp_path / "two", workers=2)
    assert np.array_equal(one.values, two.values)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


# --- resuming -----------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import tunable
from longrank.evaluation.tuning.search import tabulate
from longrank.storage import Journal

commit = Journal.commit

def deadly(self):
    if {torn}:
        self._stream.flush()  # a record without its mark
    else:
        commit(self)
    if self.n_committed >= {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    if {torn}:
        commit(self)

Journal.commit = deadly
tabulate(tunable.search_of(Path({index!r})), {axes!r}, Path({journal!r}), workers={workers})
"""


@pytest.mark.parametrize(("after", "torn", "workers"), [(3, True, 1), *slow((1, False, 1), (2, False, 2))])
def test_killed_and_called_again_the_bytes_are_those_of_an_undisturbed_search(
    index: Path, tmp_path: Path, after: int, torn: bool, workers: int
) -> None:
    search = tunable.search_of(index)
    whole = tabulate(search, AXES, tmp_path / "whole")
    journal = tmp_path / "killed"
    places = {"tests": str(Path(tunable.__file__).parent), "index": str(index), "journal": str(journal), "axes": AXES}
    script = KILLED.format(after=after, torn=torn, workers=workers, **places)
    if workers > 1:  # what a process started with spawn imports must not start another
        (tmp_path / "script.py").write_text("if __name__ == '__main__':\n    " + script.replace("\n", "\n    "))
        command = [sys.executable, str(tmp_path / "script.py")]
    else:
        command = [sys.executable, "-c", script]
    assert subprocess.run(command, check=False, timeout=280).returncode == -9
    assert 0 < journal.stat().st_size < (tmp_path / "whole").stat().st_size
    seen: list[int] = []
    again = tabulate(search, AXES, journal, progress=seen.append)
    assert seen == [after, *([1] * (6 - after))]
    assert np.array_equal(again.values, whole.values)
    assert journal.read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_is_there_is_not_searched_for_again(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = tunable.search_of(index)
    first = tabulate(search, AXES, tmp_path / "journal")

    def searched(*_: Any) -> Iterator[Any]:
        raise AssertionError("searched again")

    monkeypatch.setattr(Search, "__call__", searched)
    assert np.array_equal(tabulate(search, AXES, tmp_path / "journal").values, first.values)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"preset": "bm25-lucene"}, "preset"),
        ({"fixed": {"k1": 2.0}}, "fixed settings"),
        ({"queries": (Query("a1", "beta"), *(Query(q, t) for q, t in list(tunable.QUERIES.items())[1:]))}, "queries"),
        ({"qrels": {**tunable.QRELS, "a1": {"short-a": 1}}}, "judgments"),
        ({"measure": "AP"}, "measure"),
        ({"k": 9}, "k"),
    ],
)
def test_a_changed_input_is_refused_by_name(index: Path, tmp_path: Path, changed: dict[str, Any], name: str) -> None:
    search = tunable.search_of(index)
    tabulate(search, AXES, tmp_path / "journal")
    before = (tmp_path / "journal").read_bytes()
    values = {one: getattr(search, one) for one in ("index", "preset", "fixed", "queries", "qrels", "measure", "k")}
    with pytest.raises(InputError, match=f"was begun with other {name}:"):
        tabulate(Search(**{**values, **changed}), AXES, tmp_path / "journal")
    assert (tmp_path / "journal").read_bytes() == before


def test_another_language_of_a_query_is_refused_since_its_terms_are_others(tmp_path: Path) -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    documents = [{"id": "de", "text": "alte Wagen", "lang": "de"}, {"id": "en", "text": "die", "lang": "en"}]
    index = Index.build(documents, tmp_path / "index", analyzer_field="lang")
    queries = [Query("q", "die alten Wagen", {"lang": lang}) for lang in ("de", "en")]
    state = tunable.shared(index.path)
    german, english = (Search(state, "bm25-anserini", {}, (one,), {"q": {"en": 1}}, "RR", 10) for one in queries)
    assert tabulate(german, AXES, tmp_path / "journal").values.max() == 0
    with pytest.raises(InputError, match="was begun with other queries:"):
        tabulate(english, AXES, tmp_path / "journal")
    assert tabulate(english, AXES, tmp_path / "english").values.min() > 0


def test_another_index_or_grid_is_refused_by_name(index: Path, tmp_path: Path, words: Search) -> None:
    search = tunable.search_of(index)
    tabulate(search, AXES, tmp_path / "journal")
    with pytest.raises(InputError, match="was begun with other grid"):
        tabulate(search, {"b": (0.0, 0.5)}, tmp_path / "journal")
    with pytest.raises(InputError, match="was begun with other index"):
        tabulate(tunable.search_of(words.index.path), AXES, tmp_path / "journal")


def test_every_record_is_safe_as_soon_as_it_is_made(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    commit = Journal.commit

    def watched(self: Journal) -> None:
        commit(self)
        kept.append(self.n_committed)

    monkeypatch.setattr(Journal, "commit", watched)
    tabulate(tunable.search_of(index), AXES, tmp_path / "journal")
    assert kept == [1, 2, 3, 4, 5, 6]


# --- what can be tuned, and what is refused -----------------------------------------------------


def test_the_numeric_settings_that_have_an_effect_can_be_tuned() -> None:
    assert tunable_settings("bm25-anserini", {}) == {"k1": float, "b": float}
    assert tunable_settings("ql", {}) == {"mu": float}
    assert tunable_settings("bm25-anserini", {"similarity": "ql"}) == {"mu": float}


def test_the_options_of_a_feedback_model_can_be_tuned() -> None:
    kinds = tunable_settings("bm25-anserini+rm3", {})
    assert {name: kinds[name] for name in ("k1", "b", "fb_docs", "fb_terms", "original_query_weight")} == {
        "k1": float,
        "b": float,
        "fb_docs": int,
        "fb_terms": int,
        "original_query_weight": float,
    }


def test_feedback_is_tuned_like_everything_else(words: Search, tmp_path: Path) -> None:
    search = Search(words.index, "bm25-anserini+rm3", {}, words.queries[:50], words.qrels, "AP", 50)
    axes = {"fb_terms": (2, 20), "original_query_weight": (0.2, 0.9)}
    table = tabulate(search, axes, tmp_path / "journal")
    assert len({tuple(row) for row in table.values.tolist()}) == 4
    for setting, values in zip(table.settings, table.values, strict=True):
        first_stage = make_retriever(words.index.open(), "bm25-anserini+rm3", **setting)
        run = Run("", [row for query in search.queries for row in first_stage.retrieve(query, 50)])
        judged = {query.query_id: words.qrels[query.query_id] for query in search.queries}
        assert values.tolist() == list(evaluate(judged, run, ["AP"])["AP"].values())


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"b": (0.4, 1.2)}, "b must be between 0 and 1"),
        ({"b": (0.4,), "k1": (-1.0, 1.0)}, "k1 must be"),
    ],
)
def test_a_value_out_of_range_is_refused_before_any_work(
    index: Path, tmp_path: Path, axes: dict[str, tuple[float, ...]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        tabulate(tunable.search_of(index), axes, tmp_path / "journal")
    assert not (tmp_path / "journal").exists()


def test_a_seed_is_no_setting_to_tune() -> None:
    assert tunable_settings("bm25-anserini+axiomatic", {"seed": 7}).keys() == {
        "k1",
        "b",
        "fb_docs",
        "pool_factor",
        "fb_terms",
        "beta",
    }


@pytest.mark.parametrize("name", ["negative_docs", "negative_terms"])
def test_an_axis_is_refused_while_the_weight_of_what_it_counts_is_0(index: Path, name: str) -> None:
    def check(fixed: dict[str, Any], **axes: tuple[float, ...]) -> None:
        check_axes(
            Search(tunable.shared(index), "bm25-anserini+rocchio", fixed, (), {}, "AP", 10), {**axes, name: (5, 10)}
        )

    for fixed, axes in (({}, {}), ({"gamma": 0}, {}), ({}, {"gamma": (0.0,)})):
        with pytest.raises(InputError, match=rf"an axis has no effect while gamma is 0 \(got '{name}'\)"):
            check(fixed, **axes)
    check({"gamma": 0.15})
    check({}, gamma=(0.0, 0.15))


def test_more_values_than_memory_should_hold_are_refused_before_any_work(index: Path) -> None:
    queries = tuple(Query(str(number), "alpha") for number in range(1001))
    axes = {"k1": tuple(i / 10 for i in range(500)), "b": tuple(i / 100 for i in range(100))}
    with pytest.raises(InputError, match="50000 settings x 1001 queries are more than 50000000 values"):
        check_axes(Search(tunable.shared(index), "bm25-anserini", {}, queries, {}, "RR", 10), axes)
    check_axes(Search(tunable.shared(index), "bm25-anserini", {}, queries[:1000], {}, "RR", 10), axes)


def test_values_are_in_memory_once(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = tuple(Query(f"q{number}", "alpha") for number in range(10_000))
    search = Search(
        tunable.shared(index), "bm25-anserini", {}, queries, {query.query_id: {} for query in queries}, "RR", 10
    )
    axes = {"k1": tuple(i / 10 for i in range(100))}
    monkeypatch.setattr(Search, "__call__", lambda _, setting: np.full(len(queries), setting["k1"]))
    tabulate(search, axes, tmp_path / "journal")
    tracemalloc.start()
    try:
        table = tabulate(search, axes, tmp_path / "journal")
        assert table.best(table.query_ids) == 99
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table.values.nbytes == 8_000_000 < peak < 14_000_000  # the queries' ids, digests, ... are the rest


def test_an_axis_cannot_be_fixed_as_well(index: Path) -> None:
    search = Search(tunable.shared(index), "bm25-anserini", {"b": 0.4}, (), {}, "AP", 10)
    with pytest.raises(InputError, match=r"both fixed and an axis of the grid \(got 'b'\)"):
        check_axes(search, AXES)


def test_queries_and_judgments_that_do_not_meet_are_counted_or_refused() -> None:
    notes = Notes()
    queries = [Query("1", "one"), Query("2", "two"), Query("3", "three")]
    qrels: Qrels = {"2": {"d": 1}, "4": {"d": 1}, "5": {"d": 1}}
    assert judged_queries(queries, qrels, notes) == (Query("2", "two"),)
    assert notes["queries without judgments, left out of the choice"] == 2
    assert notes["judged topics that are not among the queries, left out"] == 2
    with pytest.raises(InputError, match="no query in common"):
        judged_queries(queries, {"9": {"d": 1}}, notes)


def test_an_untried_table_is_one_line_of_the_finished_one(index: Path, tmp_path: Path) -> None:
    search = tunable.search_of(index)
    blank, table = untried(search, AXES), tabulate(search, AXES, tmp_path / "journal")
    assert (blank.query_ids, list(blank.settings)) == (table.query_ids, list(table.settings)[:1])
    assert blank.values.tolist() == [[0.0] * 4]


def test_each_query_is_ranked_with_its_own_setting(index: Path) -> None:
    search = tunable.search_of(index)
    notes = Notes()
    found = list(rankings(search, {"b1": {"b": 0.0}, "b2": {"b": 0.6}}, notes))
    assert [ranking.doc_ids for ranking in found] == [["long-b", "short-b"], ["short-b", "long-b"]]
    assert [ranking.query_id for ranking in found] == ["b1", "b2"]
    assert search.figure({"b": 0.0}, ["a1", "b1"]) == 0.75


def test_settings_that_look_alike_are_searched_apart(index: Path) -> None:
    setting_of = {"a1": {"mu": 1000000.0}, "b1": {"mu": 1000004.0}, "a2": {"mu": 1000000.0}}
    a1, b1, a2 = rankings(tunable.search_of(index, "ql"), setting_of, Notes())
    for ranking, query_id in ((a1, "a1"), (b1, "b1"), (a2, "a2")):
        alone = make_retriever(Index.open(index), "ql", **setting_of[query_id])
        assert ranking.rows() == alone.retrieve(Query(query_id, tunable.QUERIES[query_id]), 10)
    other = make_retriever(Index.open(index), "ql", mu=1000000.0)
    assert b1.rows() != other.retrieve(Query("b1", "beta"), 10)


@pytest.mark.parametrize("preset", ["hybrid", "sparse-hybrid"])
def test_the_depth_of_a_hybrid_is_an_axis(preset: str) -> None:
    assert tunable_settings(preset, {})["depth"] is int
