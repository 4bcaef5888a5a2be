from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from longrank.collections import read_documents, read_qrels, read_queries, read_run
from longrank.collections.gold import read_answers, read_gold_spans
from longrank.collections.judgments import read_judgments
from longrank.errors import InputError
from longrank.formats.folds import Fold, open_folds
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.types import Document, Notes, Query, Run


def frame(**columns: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


# --- queries ----------------------------------------------------------------------------------------

DOGS, CATS = Query("1", "dogs bark", {"text": "dogs bark"}), Query("2", "cats", {"text": "cats"})


@pytest.mark.parametrize(
    "source",
    [
        ["dogs bark", "cats"],
        ("dogs bark", "cats"),
        {"1": "dogs bark", 2: "cats"},
        {"1": {"text": "dogs bark"}, "2": {"text": "cats"}},
        [("1", "dogs bark"), (np.int64(2), "cats")],
        [{"qid": "1", "text": "dogs bark"}, {"_id": 2, "text": "cats"}],
        [DOGS, CATS],
    ],
)
def test_queries_in_memory(source: Any) -> None:
    queries = read_queries(source)
    assert queries == [DOGS, CATS]
    assert queries.notes.lines() == []
    assert read_queries(iter(source.items() if isinstance(source, dict) else source)) == queries


def test_queries_of_a_table_have_pyterriers_columns() -> None:
    queries = read_queries(frame(qid=[1, 2], query=["dogs", "cats"], narrative=["x", "y"]))
    assert [(query.query_id, query.text) for query in queries] == [("1", "dogs"), ("2", "cats")]
    assert queries[0].fields == {"query": "dogs", "narrative": "x"}
    assert [query.text for query in read_queries(queries, field="narrative")] == ["x", "y"]


def test_a_query_of_a_table_stands_before_a_text_which_is_that_of_a_document() -> None:
    queries = read_queries(frame(qid=["1"], query=["dogs"], docno=["d"], text=["Dogs bark at night."]))
    assert [query.text for query in queries] == ["dogs"]


@pytest.mark.parametrize("kind", ["Table", "RecordBatch"])
def test_tables_of_pyarrow_are_tables(kind: str) -> None:
    made = getattr(pytest.importorskip("pyarrow"), kind).from_pydict
    table = made({"docno": [7, 8], "text": ["dogs", "cats"], "tags": [["a", "b"], None], "year": [1999, None]})
    documents = list(read_documents(table, CorpusOptions(metadata=("tags", "year"))))
    assert documents[0] == Document("7", "", "dogs", metadata={"tags": ["a", "b"], "year": 1999})
    assert documents[1] == Document("8", "", "cats")
    run = read_run(made({"qid": ["q"], "docno": ["d"], "score": [1.5]}))
    assert [(row.doc_id, row.score) for row in run["q"]] == [("d", 1.5)]


def test_lists_in_a_column_of_polars_are_lists() -> None:
    class Column(list[Any]):
        def to_list(self) -> list[Any]:
            return [list(one) if isinstance(one, set) else one for one in self]

    class Frame:
        columns, shape = ("docno", "text", "tags"), (1, 3)

        def __getitem__(self, name: str) -> Column:
            return Column([{"docno": "d", "text": "dogs", "tags": {"a"}}[name]])  # a Series in polars: no JSON value

    (document,) = read_documents(Frame(), CorpusOptions(metadata=("tags",)))
    assert document.metadata == {"tags": ["a"]}


def test_a_series_is_ids_and_texts() -> None:
    pandas = pytest.importorskip("pandas")
    assert read_queries(pandas.Series({"x": "dogs", "y": "cats"})) == read_queries({"x": "dogs", "y": "cats"})
    assert [query.query_id for query in read_queries(pandas.Series(["dogs"], index=[7]))] == ["7"]
    assert list(read_documents(pandas.Series({"d1": "Dogs bark."}))) == [Document("d1", "", "Dogs bark.")]


def test_a_query_file_and_its_notes_are_read_without_notes(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("query_id\ttext\n1\tdogs bark\n")
    for source in (tmp_path / "q.tsv", str(tmp_path / "q.tsv")):
        queries = read_queries(source)
        assert queries == [DOGS]
        assert queries.notes["header lines skipped"] == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "no queries can be read from a NoneType"),
        (7, "no queries can be read from a int (got 7); queries are a file, a collection, irds:ID, texts"),
        ({"dogs", "cats"}, "a set of texts has no order that could number them; give a list, or id -> text"),
        ({"query_id": "q1", "text": "dogs"}, "this mapping is one query, not id -> text"),
        (b"dogs", "no queries can be read from a bytes"),
        ([], "there is no query; "),
        ({}, "there is no query; "),
        (iter(()), "its iterator was read before"),
        ([None], "queries:1: is not a query"),
        (["dogs", 7], "queries:2: is not a query (got 7)"),
        ([("1", "dogs"), ("1", "cats")], "queries:2: query id occurs twice, first on line 1 (got '1')"),
        ([("a b", "dogs")], "queries:1: query id holds white space (got 'a b'); ids are one word"),
        ([(None, "dogs")], "query id is neither a string nor an integer"),
        ([(True, "dogs")], "query id is neither a string nor an integer"),
        ({"1": None}, "queries:1: query text is not a string"),
        ([" "], "queries:1: query 1 has an empty text"),
        ([{"text": "dogs"}], "queries:1: query has no id or no text"),
        ([{"qid": "1"}], "queries:1: query has no id or no text"),
        ([{"qid": "1", "text": "dogs", "lang": 5}], "queries:1: 'lang' is not a string (got 5)"),
    ],
)
def test_unusable_queries_are_refused_in_a_sentence(source: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_queries(source)
    assert message in str(caught.value)


def test_an_empty_cell_names_no_language() -> None:
    for empty in (math.nan, None):
        (query,) = read_queries([{"qid": "1", "text": "dogs", "lang": empty}])
        assert query.fields == {"text": "dogs"}


def test_half_a_surrogate_pair_in_a_query_is_replaced() -> None:
    queries = read_queries({"q": "storm \ud83d"})
    assert (queries[0].text, queries.notes["lone surrogates replaced by U+FFFD"]) == ("storm \ufffd", 1)


def test_empty_queries_are_kept_and_counted_on_demand() -> None:
    queries = read_queries(["", "dogs"], allow_empty=True)
    assert [query.text for query in queries] == ["", "dogs"]
    assert queries.notes["queries with an empty text"] == 1


def test_a_field_that_a_query_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="queries: no query has a field 'title'; one of text"):
        read_queries(["dogs"], field="title")


def test_queries_in_memory_are_read_as_a_file_of_them_is(tmp_path: Path) -> None:
    given = [
        {"id": "1", "text": " a &amp; b\n", "title": "A", "lang": " de "},
        {"id": "2", "text": "x" * 10_001, "year": 2020, "answers": ["x"], "metadata": {}, "none": None},
        {"id": "3", "text": "c"},
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    for options in ({}, {"field": "title", "allow_empty": True}):
        memory, file = (read_queries(source, **options) for source in (given, tmp_path / "q.jsonl"))
        assert list(memory) == list(file)
        assert memory.notes.lines() == [line.replace(f"{tmp_path}/q.jsonl", "queries") for line in file.notes.lines()]
        assert len(memory.notes.lines()) == (2 if options else 3)
    with pytest.raises(InputError, match="queries:2: query 2 has no title"):
        read_queries(given, field="title")


def test_a_table_with_a_column_twice_or_without_a_text_is_refused() -> None:
    table = frame(qid=["1"], query=["dogs"], text=["cats"])
    with pytest.raises(InputError, match="a format is of a file"):
        read_queries(["dogs"], format="jsonl")
    with pytest.raises(InputError, match=r"the table has two columns of the same name \(got 'query'\)"):
        read_queries(table.rename(columns={"text": "query"}))
    with pytest.raises(InputError, match="queries:1: query text is not a string"):
        read_queries(frame(qid=["1"], query=[float("nan")]))


# --- judgments --------------------------------------------------------------------------------------


def test_judgments_in_memory_and_of_a_table() -> None:
    mapping = {"q1": {"d1": 1, "d2": np.int64(0)}, 2: {3: -1}}
    expected = {"q1": {"d1": 1, "d2": 0}, "2": {"3": -1}}
    qrels = read_qrels(mapping)
    assert qrels == expected
    assert qrels.notes["negative grades, read as not judged"] == 1
    assert read_qrels(qrels) is qrels
    table = frame(qid=["q1", "q1", 2], docno=["d1", "d2", "3"], label=[1, 0, -1])
    assert read_qrels(table) == expected
    assert read_qrels(table.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})) == expected


def test_repeated_judgments_are_counted_in_tables_and_across_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("1 0 d1 1\n")
    files = read_judgments([str(tmp_path / "a"), str(tmp_path / "b")], Notes())
    for qrels in (files, read_qrels(frame(qid=["1", "1"], docno=["d1", "d1"], label=[1, 1]))):
        assert qrels == {"1": {"d1": 1}}
        assert qrels.notes["repeated judgments with the same grade"] == 1
    (tmp_path / "b").write_text("1 0 d2 0\n")  # the query has a relevant document in the other file
    assert read_judgments([str(tmp_path / "a"), str(tmp_path / "b")], Notes()).notes.lines() == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "no judgments can be read from a NoneType"),
        (7, "no judgments can be read from a int"),
        ([("q", "d", 1)], "no judgments can be read from a list"),
        ({}, "there is no judgment"),
        ({"q": {}}, "there is no judgment"),
        ({"q": ["d1"]}, "judgments of query q are not a mapping"),
        ({"q": {"d": 1.5}}, "grade is not an integer from -127 to 127 (got 1.5)"),
        ({"q": {"d": True}}, "grade is not an integer"),
        ({"q": {"d": 1000}}, "grade is not an integer"),
        ({"q": {"d": None}}, "grade is not an integer"),
        ({"q r": {"d": 1}}, "query id holds white space"),
        ({"q": {"": 1}}, "doc_id is empty"),
        ({"q": {1: 1, "1": 2}}, "document 1 has two grades for query q: 1 and 2"),
    ],
)
def test_unusable_judgments_are_refused_in_a_sentence(source: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_qrels(source)
    assert message in str(caught.value)


def test_a_table_without_a_column_is_refused_and_shows_its_columns() -> None:
    with pytest.raises(InputError, match="the table has no column label or relevance or grade; its columns are qid, d"):
        read_qrels(frame(qid=["q"], docno=["d"], score=[1]))


# --- runs -------------------------------------------------------------------------------------------


def test_runs_in_memory_and_of_a_table() -> None:
    pytest.importorskip("pandas")
    run = read_run({"q1": {"d1": 1.0, "d2": np.float32(2.0)}, 2: {3: 1}})
    assert list(run.rows()) == [("q1", "d2", 2.0), ("q1", "d1", 1.0), ("2", "3", 1.0)]
    assert read_run(run) is run
    table = run.to_frame()
    assert list(read_run(table).rows()) == list(run.rows())
    assert list(Run.from_frame(table.sample(frac=1, random_state=1))["q1"]) == list(run["q1"])


def test_a_run_in_memory_has_the_notes_of_a_file(tmp_path: Path) -> None:
    rows = [("1", "a", 0.1), ("1", "b", 0.2), ("1", "c", 0.2), ("2", "a", 3.0)]
    (tmp_path / "x.run").write_text("".join(f"{q} Q0 {d} {n} {score} x\n" for n, (q, d, score) in enumerate(rows)))
    table = pytest.importorskip("pandas").DataFrame(
        [(*row, n) for n, row in enumerate(rows)], columns=["qid", "docno", "score", "rank"]
    )
    of_file, of_table = (read_run(source).notes.copy(places=False) for source in (tmp_path / "x.run", table))
    assert of_file.lines() == of_table.lines()
    assert len(of_table.lines()) == 3
    for odd in ([0, 1, None, 2], [0, 1, 2, 10**400], ["x"] * 4):
        assert len(read_run(table.assign(rank=odd)).notes.lines()) == 2
    notes = read_run(table.drop(columns="rank")).notes.lines()
    assert notes == read_run({"1": {"a": 0.1, "b": 0.2, "c": 0.2}, "2": {"a": 3.0}}).notes.lines()
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "no run can be read from a NoneType"),
        (7, "no run can be read from a int"),
        ([("q", "d", 1)], "no run can be read from a list"),
        ("", "the name of the run file is empty"),
        ({}, "the run is empty"),
        ({"q": {}}, "the run is empty"),
        ({"q": ["d1"]}, "the ranking of query q is not a mapping"),
        ({"q": {"d": "1"}}, "score of document d is not a number (got '1')"),
        ({"q": {"d": None}}, "score of document d is not a number"),
        ({"q": {"d": 10**400}}, "score of document d is too large for a 64-bit float"),
        ({"q": {"d": float("nan")}}, "score nan of document 'd' for query 'q' is not finite"),
        ({"q": {"d": 1e300}}, "is too large for a 32-bit float"),
        ({"q": {1: 1.0, "1": 2.0}}, "document '1' occurs twice for query 'q'"),
        ({"q": {None: 1.0}}, "doc_id is neither a string nor an integer"),
    ],
)
def test_unusable_runs_are_refused_in_a_sentence(source: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_run(source)
    assert message in str(caught.value)


# --- documents --------------------------------------------------------------------------------------

BARK = Document("d1", "", "Dogs bark.")


@pytest.mark.parametrize(
    "source",
    [
        [BARK],
        iter([BARK]),
        [("d1", "Dogs bark.")],
        {"d1": "Dogs bark."},
        {"d1": {"text": "Dogs bark."}},
        [{"docno": "d1", "text": "Dogs bark."}],
        [{"id": "d1", "title": None, "contents": "Dogs bark."}],
    ],
)
def test_documents_in_memory(source: Any) -> None:
    assert list(read_documents(source)) == [BARK]


def test_a_collection_of_the_catalogue_that_is_not_here_says_where_to_get_it() -> None:
    for read in (read_queries, read_qrels, lambda source: list(read_documents(source))):
        with pytest.raises(InputError, match=r"^time: this collection has no .*; open, from https://ir\.dcs\.gla"):
            read("time")


def test_documents_of_paths_and_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "d1", "text": "Dogs bark."}\n')
    (tmp_path / "b.txt").write_text("Cats purr.")
    assert list(read_documents(tmp_path / "a.jsonl")) == [BARK]
    assert [document.doc_id for document in read_documents(sorted(tmp_path.iterdir()))] == ["d1", "b.txt"]
    assert [document.doc_id for document in read_documents(path for path in [str(tmp_path / "a.jsonl")])] == ["d1"]
    table = frame(docno=[1], title=["Dogs"], text=["Dogs bark."])
    assert list(read_documents(table)) == [Document("1", "Dogs", "Dogs bark.")]
    assert next(read_documents(table, CorpusOptions(fields=("title",)))).text == ""


def consumed() -> Iterator[Document]:
    documents = (document for document in [BARK])
    list(documents)
    return documents


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "no documents can be read from a NoneType"),
        (7, "no documents can be read from a int"),
        (b"x", "no documents can be read from a bytes"),
        ([], "there is no document"),
        (consumed(), "its iterator was read before"),
        ("", "an empty name was given"),
        ("no/such/file.jsonl", "no/such/file.jsonl: no such file or folder"),
        ([7], "documents:1: is not a document (got 7)"),
        ({"id": "d1", "text": "x"}, "a mapping of documents is id -> text"),
        ([BARK, None], "documents:2: is not a document"),
        ([("d1", None)], "documents:1: 'text' is null"),
        ([("d1", 7)], "documents:1: 'text' is not a string (got 7)"),
        ([{"text": "x"}], "documents:1: no id"),
        ([("a b", "x")], "documents:1: doc_id holds white space"),
        ([Document(7, "", "x")], "documents:1: doc_id is not a string"),  # type: ignore[arg-type]
        (
            [Document("d", "", "abc", ((-2, 1),))],
            "documents:1: a passage of document 'd' lies outside its text of 3 cha",
        ),
        ([Document("d", "", "abc", ((0, 2), (1, 4)))], "(got (1, 4)); passages are (start, end), half-open"),
        ([Document("d", "", "abc", ("ab",))], "documents:1: a passage of document 'd' is not (start, end), two whole"),  # type: ignore[arg-type]
        (
            [Document("d", "", "abc", ((0.5, 2.0),))],
            "is not (start, end), two whole numbers (got (0.5, 2.0))",
        ),  # type: ignore[arg-type]
        ([Document("d", "", None)], "documents:1: text is not a string"),  # type: ignore[arg-type]
    ],
)
def test_unusable_documents_are_refused_in_a_sentence(source: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(read_documents(source))
    assert message in str(caught.value)


# --- tables without pandas --------------------------------------------------------------------------


def test_without_pandas_a_table_is_refused_and_the_rest_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    run = read_run({"q": {"d": 1}}, Notes())
    assert "<td" in run._repr_html_()
    with pytest.raises(InputError, match="tables need pandas, which is not installed; pip install pandas"):
        run.to_frame()


def test_queries_and_judgments_show_themselves_in_a_line() -> None:
    assert repr(read_queries(["dogs bark", "cats purr"])).startswith("Queries(2, first=Query(query_id='1', ")
    assert repr(read_qrels({"1": {"a": 1, "b": 0}, "2": {"a": 2}})) == "Judgments(queries=2, judgments=3)"


def test_headings_of_a_document_are_stored_whatever_its_other_fields_are() -> None:
    document = Document("a", "", "One two", metadata={"headings": "none"}, headings=((0, 3, 1),))
    assert Index.build([document]).document("a").headings == ((0, 3, 1),)
    with pytest.raises(InputError, match=r"headings are not \(start, end, level\)"):
        Index.build([Document("a", "", "One two", headings=((0, "3", 1),))])  # type: ignore[arg-type]


def test_whole_grades_of_a_table_with_missing_values_are_integers() -> None:
    pd = pytest.importorskip("pandas")
    merged = pd.DataFrame({"qid": ["1", "1", "1"], "docno": ["a", "b", "c"], "label": [1, 2, None]}).dropna()
    assert read_qrels(merged) == {"1": {"a": 1, "b": 2}}
    with pytest.raises(InputError, match=r"query id is neither a string nor an integer.*astype"):
        read_qrels(pd.DataFrame({"qid": [1.0], "docno": ["a"], "label": [1]}))


def test_values_of_numpy_and_query_values_are_read_as_plain_values() -> None:
    folds = {"s1": {"train": np.array([1, 2]), "dev": [], "test": [np.int64(3)]}}
    assert open_folds(folds, Notes()) == {"s1": Fold(("1", "2"), (), ("3",))}
    (span,) = read_gold_spans({"1": {"d": [np.array([0, 4])]}})
    assert span.passage == (0, 4)
    assert read_answers({"1": [], "2": ["x"]}) == {"2": ("x",)}
    name = UUID(int=7)
    assert [one.doc_id for one in read_documents([{"id": name, "text": "x"}, (name, "x")])] == [str(name)] * 2
    assert read_queries([Query(1, "x")])[0].query_id == "1"  # type: ignore[arg-type]
    for wrong in (Query("1", None), Query("1", "x", {"lang": 3})):  # type: ignore[arg-type, dict-item]
        with pytest.raises(InputError, match=r"queries:1: .* is not a string"):
            read_queries([wrong])
    with pytest.raises(InputError, match="documents:2: doc_id is neither"):
        list(read_documents([{"id": "1", "text": "x"}, {"id": 1.5, "text": "x"}]))


def test_the_tag_of_a_table_is_a_text() -> None:
    arrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    columns = {"qid": ["1"], "docno": ["d"], "score": [1.0]}
    assert read_run(arrow.table(columns | {"tag": ["mine"]})).tag == "mine"
    assert read_run(pandas.DataFrame(columns | {"tag": [None]})).tag == "longrank"


def test_documents_are_noted_as_rows_are() -> None:
    rows, documents = Notes(), Notes()
    list(read_documents([{"id": "a", "text": ""}, {"id": "b", "text": "e\u0301"}], notes=rows))
    list(read_documents([Document("a", "", ""), Document("b", "", "e\u0301")], notes=documents))
    assert rows.lines() == documents.lines()
    assert len(rows.lines()) == 2
