from __future__ import annotations

import copy
import math
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidences import evidence
from longrank.errors import InputError, LongRankError
from longrank.types import Document, Notes, Run, ScoredDoc

SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.00000001, -1.0, 1e-46, 1e38]),
    st.floats(-1e6, 1e6, allow_nan=False),
)
ROWS = st.dictionaries(
    st.tuples(st.sampled_from("pqr"), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)), SCORES
)


@given(ROWS)
def test_a_run_is_ordered_as_trec_eval_orders_it(rows: dict[tuple[str, str], float]) -> None:
    scored = [ScoredDoc(query_id, doc_id, score) for (query_id, doc_id), score in rows.items()]
    run = Run("tag", scored)
    for query_id in run:
        own = [row for row in scored if row.query_id == query_id]
        by_bytes = sorted(own, key=lambda row: row.doc_id.encode(), reverse=True)  # strcmp, descending
        expected = sorted(by_bytes, key=lambda row: np.float32(row.score), reverse=True)  # stable
        assert [row.doc_id for row in run[query_id]] == [row.doc_id for row in expected]
        assert [row.score for row in run[query_id]] == [float(np.float32(row.score)) for row in expected]


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(rows: dict[tuple[str, str], float], random) -> None:  # type: ignore[no-untyped-def]
    scored = [ScoredDoc(query_id, doc_id, score) for (query_id, doc_id), score in rows.items()]
    shuffled = random.sample(scored, len(scored))
    one, other = Run("tag", scored), Run("tag", shuffled)
    assert {query_id: one[query_id] for query_id in one} == {query_id: other[query_id] for query_id in other}


def test_columns_and_rows_give_the_same_run() -> None:
    rows = [ScoredDoc("q", "a", 1.0), ScoredDoc("p", "b", 2.0), ScoredDoc("q", "c", 1.0)]
    columns = Run.from_columns("tag", *map(list, zip(*rows, strict=True)))  # type: ignore[arg-type]
    assert list(columns.rows()) == list(Run("tag", rows).rows())
    assert columns.tag == "tag"


def test_queries_keep_their_order_and_absent_ones_are_empty() -> None:
    run = Run("tag", [ScoredDoc(q, "d", 1.0) for q in ("q9", "q1", "q5")])
    assert list(run) == ["q9", "q1", "q5"]
    assert (len(run), "q1" in run, "q2" in run, run.get("q2")) == (3, True, False, ())
    assert repr(run) == "Run(tag='tag', queries=3, rows=3)"
    assert list(Run("empty", [])) == []


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, 1e39])
def test_a_score_that_is_not_finite_as_float32_is_refused_by_name(score: float) -> None:
    rows = [ScoredDoc("q1", "good", 1.0), ScoredDoc("q1", "bad", score)]
    with pytest.raises(LongRankError, match=r"of document 'bad' for query 'q1' is (not finite|too large)"):
        Run("tag", rows)


def test_a_document_twice_for_a_query_is_refused_by_name() -> None:
    rows = [ScoredDoc("q1", "d", 1.0), ScoredDoc("q2", "d", 1.0)]
    Run("tag", rows)
    with pytest.raises(LongRankError, match="document 'd' occurs twice for query 'q2'"):
        Run("tag", [*rows, ScoredDoc("q2", "d", 0.5)])


def test_notes_count_by_kind_and_keep_the_first_example() -> None:
    notes = Notes()
    notes.add("tied scores", "run.txt:7")
    notes.add("tied scores", "run.txt:9", 2)
    notes.add("never", count=0)
    notes.say("nothing was cut")
    assert notes["tied scores"] == 3
    assert notes["never"] == 0
    assert notes.lines() == ["tied scores: 3 (first: run.txt:7)", "nothing was cut"]


def test_notes_are_iterated_by_line_and_know_their_kinds() -> None:
    notes = Notes()
    assert list(notes) == []
    notes.add("tied scores", "run.txt:7", 3)
    notes.say("float32 on this machine")
    assert list(notes) == notes.lines() == ["tied scores: 3 (first: run.txt:7)", "float32 on this machine"]
    assert "tied scores" in notes
    assert "blank lines" not in notes


def test_a_document_survives_pickling_and_copying() -> None:
    document = Document("d", "title", "text", ((0, 2), (2, 4)))
    assert pickle.loads(pickle.dumps(document)) == copy.deepcopy(document) == document


def test_no_remark_of_many_threads_is_lost() -> None:
    notes, interval = Notes(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: [(notes.add(str(n % 7)), notes.lines()) for _ in range(50)], range(70)))
    finally:
        sys.setswitchinterval(interval)
    assert [notes[str(n)] for n in range(7)] == [500] * 7


def test_remarks_are_merged_in_order() -> None:
    first, second = Notes(), Notes()
    first.add("odd", "a")
    second.add("odd", "b", 2)
    second.add("other", "c")
    second.say("chosen")
    first.merge(second)
    assert first.lines() == ["odd: 3 (first: a)", "other: 1 (first: c)", "chosen"]


# --- runs as tables -----------------------------------------------------------------------------------


def test_a_run_as_a_table_has_pyterriers_columns() -> None:
    pandas = pytest.importorskip("pandas")
    run = Run("mine", [ScoredDoc("q", "a", 1), ScoredDoc("q", "b", 2), ScoredDoc("p", "c", 3)])
    table = run.to_frame()
    assert list(table.columns) == ["qid", "docno", "score", "rank", "tag"]
    assert table.values.tolist() == [["q", "b", 2, 0, "mine"], ["q", "a", 1, 1, "mine"], ["p", "c", 3, 0, "mine"]]
    again = Run.from_frame(table)
    assert (again.tag, list(again.rows())) == ("mine", list(run.rows()))
    assert Run.from_frame(table, tag="other").tag == "other"
    direct = pandas.DataFrame(run)
    assert direct.equals(table[["qid", "docno", "score", "rank"]].astype({"score": "float64"}))


def test_a_run_is_a_mapping_and_numbers_find_its_queries() -> None:
    run = Run("x", [ScoredDoc("10", "a", 1.0), ScoredDoc("10", "b", 2.0), ScoredDoc("2", "a", 0.5)])
    assert dict(run) == dict(run.items()) == {"10": run["10"], "2": run["2"]}
    assert run.to_dict() == {"10": {"b": 2.0, "a": 1.0}, "2": {"a": 0.5}}
    assert run.get(10) == run[10] == run["10"]
    assert 10 in run and 11 not in run and True not in run


def test_an_empty_run_is_an_empty_table() -> None:
    pytest.importorskip("pandas")
    table = Run("mine", []).to_frame()
    assert (len(table), list(table.columns)) == (0, ["qid", "docno", "score", "rank", "tag"])
    assert len(Run.from_frame(table)) == 0


@pytest.mark.parametrize("value", [None, 7, "run.txt", [("q", "d", 1)]])
def test_only_a_table_is_read_as_a_table(value: object) -> None:
    with pytest.raises(InputError, match=f"a table is needed, not a {type(value).__name__}"):
        Run.from_frame(value)


@pytest.mark.parametrize("columns", [{"qid": ["q"]}, {"qid": ["q"], "docno": ["d"]}, {}])
def test_a_table_of_other_columns_is_no_run(columns: dict[str, list[str]]) -> None:
    frame = pytest.importorskip("pandas").DataFrame(columns)
    with pytest.raises(InputError, match="the table has no column"):
        Run.from_frame(frame)


def test_a_run_in_a_notebook_is_escaped_and_says_how_many_rows_are_hidden() -> None:
    run = Run("<t>", [ScoredDoc("q", f"<b>{n:02}", n) for n in range(1500)])
    html = run._repr_html_()
    assert "<b>" not in html and "<t>" not in html and "&lt;b&gt;1499" in html
    assert "run &lt;t&gt;: 1 queries, 1,490 more rows" in html
    assert repr(run) == "Run(tag='<t>', queries=1, rows=1500)"


def test_passages_are_ordered_by_score_and_of_a_network_by_contribution() -> None:
    assert evidence("d", [1, 3, 3]).best_first().tolist() == [1, 2, 0]
    network = evidence("d", [1, 3, 3], weights=[0.5, 0, 0.5], document_score=2.0)
    assert network.worth.tolist() == [0.5, 0, 0.5]
    assert network.best_first().tolist() == [0, 2, 1]
