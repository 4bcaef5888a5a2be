"""The PyTerrier transformer in PyTerrier's own pipelines, without Java."""

from __future__ import annotations

import math

import pytest

from integrations_texts import ANSWER, LONG, ORDER, QUERY, TEXTS
from longrank.errors import InputError

pd = pytest.importorskip("pandas", reason="needs the extra pyterrier")
pt = pytest.importorskip("pyterrier", reason="needs the extra pyterrier")

from longrank.integrations.pyterrier import LongRankReranker  # noqa: E402

EVIDENCE = ["longrank_score", "longrank_unit", "longrank_aggregator", "longrank_truncated", "longrank_passages"]


@pytest.fixture(scope="module")
def reranker(index: str) -> LongRankReranker:
    return LongRankReranker("lexical", index=index, passages=2)


@pytest.fixture
def frame() -> pd.DataFrame:
    """Candidates of two queries, with a column that is none of ours."""
    rows = [(qid, query, docno, text) for qid, query in QUERIES for docno, text in TEXTS.items()]
    made = pd.DataFrame(rows, columns=["qid", "query", "docno", "text"])
    return made.assign(score=1.0, rank=0, colour=[f"c{n}" for n in range(len(made))])


QUERIES = (("q9", QUERY), ("q1", "market harbour"))


def test_each_query_is_reranked_on_its_own_with_ranks_from_0(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    out = reranker(frame)
    assert out[out.qid == "q9"].docno.tolist() == ORDER
    assert out["rank"].tolist() == [0, 1, 2, 0, 1, 2]
    assert out.qid.tolist() == ["q9"] * 3 + ["q1"] * 3
    for _, one in out.groupby("qid"):
        assert one.score.is_monotonic_decreasing


def test_columns_and_the_frame_given_are_kept(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    before = frame.copy(deep=True)
    out = reranker(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert set(out.columns) == {*frame.columns, *EVIDENCE}
    kept = ["qid", "query", "docno", "text", "colour"]
    pd.testing.assert_frame_equal(
        out[kept].sort_values("colour", ignore_index=True), frame[kept].sort_values("colour", ignore_index=True)
    )


def test_evidence_slices_the_text(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    best = reranker(frame).iloc[0]
    first, second = best.longrank_passages
    assert ANSWER in LONG[first["start"] : first["end"]] == first["text"]
    assert best.score == best.longrank_score == first["score"] > second["score"]
    assert (best.longrank_unit, best.longrank_aggregator, best.longrank_truncated) == ("bm25", "maxp", False)


def test_an_empty_frame_has_the_same_columns(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    out = reranker(frame.iloc[:0])
    assert len(out) == 0
    assert set(out.columns) == set(reranker(frame).columns)


def test_reranking_twice_gives_the_same_frame(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    once = reranker(frame)
    pd.testing.assert_frame_equal(reranker(frame), once)
    again = reranker(once)
    pd.testing.assert_frame_equal(again[list(once.columns)], once)


def test_pyterrier_can_inspect_it_and_has_a_label(reranker: LongRankReranker) -> None:
    assert pt.inspect.transformer_inputs(reranker) == [["qid", "docno", "query", "text"]]
    assert set(EVIDENCE) <= set(pt.inspect.transformer_outputs(reranker, ["qid", "query", "docno", "text"]))
    assert reranker.schematic == {"label": "LongRank lexical"}
    assert str(reranker) == "LongRankReranker('lexical', model=None)"


def test_a_column_that_is_missing_is_pyterriers_own_error(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    with pytest.raises(pt.validate.InputValidationError, match="text"):
        reranker(frame.drop(columns="text"))


def test_a_missing_text_names_the_document(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    frame["text"] = frame["text"].astype(object)
    frame.loc[2, "text"] = math.nan
    with pytest.raises(InputError, match="document 'near' has no text"):
        reranker(frame)


@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_missing_qid_names_the_document(reranker: LongRankReranker, frame: pd.DataFrame, missing: object) -> None:
    frame["qid"] = frame["qid"].astype(object)
    frame.loc[2, "qid"] = missing
    with pytest.raises(InputError, match="document 'near' has no qid; give it a qid, or drop its row"):
        reranker(frame)


def test_one_qid_has_one_query(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    changed = frame.copy()
    changed.loc[changed.index[-1], "query"] = "another query"
    with pytest.raises(InputError, match="rows of one qid have different queries"):
        reranker(changed)


def test_titles_are_read_where_the_pipeline_says_so(index: str, frame: pd.DataFrame) -> None:
    titled = LongRankReranker("lexical", index=index, assignments=["title=true"])
    out = titled(frame.assign(title=["hurricanes named hurricanes", None, ""] * 2))
    assert out.docno.tolist()[0] == "far"


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # PyTerrier's own use of pandas
def test_it_works_in_operators_and_experiments_without_java(reranker: LongRankReranker, frame: pd.DataFrame) -> None:
    given = pt.Transformer.from_df(frame)
    topics = frame[["qid", "query"]].drop_duplicates()
    qrels = pd.DataFrame({"qid": ["q9"], "docno": ["long"], "label": [1]})
    systems = [given >> reranker % 2, 0.5 * given + 2.0 * (given >> reranker)]
    table = pt.Experiment(systems, topics, qrels, ["recip_rank"], names=["top", "mixed"])
    assert table["recip_rank"].tolist() == [1.0, 1.0]
    assert not pt.java.started()
