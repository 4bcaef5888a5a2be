from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.storage import sha256_of
from longrank.training.passage_data.car import car_rows
from longrank.training.passage_data.examples import (
    Example,
    ExampleFile,
    ExampleSamples,
    example_of_row,
    group,
    write_examples,
)
from longrank.training.passage_data.microblog import (
    DEV_QUERIES,
    microblog_rows,
    read_microblog_qrels,
    read_microblog_queries,
    without_urls,
)
from longrank.training.passage_data.msmarco import msmarco_rows
from longrank.training.passage_data.rows import Row, split_queries, write_rows
from longrank.types import Document, Notes, Query, Run, ScoredDoc


class Texts(dict[str, str]):
    """A document store."""

    def document(self, doc_id: str) -> Document:
        return Document(doc_id, "", self[doc_id])


def written(folder: Path, text: str, name: str = "file") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


# --- rows ----------------------------------------------------------------------------------------


@given(
    st.lists(st.builds(Row, st.just("q"), st.text(min_size=1).map(lambda t: f"x{t}"), st.integers(0, 1)), min_size=1)
)
def test_rows_are_read_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    assert write_rows(rows, path) == dict(sorted(Counter(row.label for row in rows).items()))
    assert list(ExampleFile(path, Notes())) == [example_of_row(row) for row in rows]


def test_a_row_is_one_line_of_three_keys(tmp_path: Path) -> None:
    write_rows([Row("Wer?", "Jürgen\nAda", 1)], tmp_path / "rows.jsonl")
    expected = '{"query": "Wer?", "text": "Jürgen\\nAda", "label": 1}\n'
    assert (tmp_path / "rows.jsonl").read_text(encoding="utf-8") == expected


def test_nothing_is_written_when_a_source_fails_or_is_empty(tmp_path: Path) -> None:
    triples = written(tmp_path, "q\tp\tn\nq\tp\n")
    with pytest.raises(InputError, match="file:2: 2 columns instead of 3"):
        write_rows(msmarco_rows(triples, Notes()), tmp_path / "rows.jsonl")
    with pytest.raises(InputError, match="no row to write"):
        write_rows([], tmp_path / "rows.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("[1]", "looks like JSON, not JSONL"),
        ('{"query": "q", "text": "t"}', r"not the keys of a row \(got 'query, text'\)"),
        ('{"query": "q", "text": "t", "label": 1, "id": 3}', "not the keys of a row"),
        ('{"query": "", "text": "t", "label": 1}', "'query' is not a text"),
        ('{"query": "q", "text": null, "label": 1}', "'text' is not a text"),
        ('{"query": "q", "text": "t", "label": 2}', r"neither 0 nor 1 \(got 2\)"),
        ('{"query": "q", "text": "t", "label": true}', "neither 0 nor 1"),
        ('{"query": "q", "text": "t", "label": 1.0}', "neither 0 nor 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = written(tmp_path, '{"query": "q", "text": "t", "label": 0}\n' + line + "\n")
    with pytest.raises(InputError, match=rf"file:2: .*{what}"):
        list(ExampleFile(path, Notes()))


# --- examples ------------------------------------------------------------------------------------

ROWS = [Row("wer?", f"{'ü' * i}{i}", i % 2) for i in range(20)]
EXAMPLES = [example_of_row(row) for row in ROWS[:3]] + [
    group("was?", ["a", "b"]),
    group("was?", ["a", "ü", "c"], [1.0, -0.5, 3e-7]),
]


def test_examples_are_read_back_by_number_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longrank.training.passage_data.examples._CHUNK", 7)  # lines are longer
    assert write_examples(EXAMPLES, tmp_path / "file") == 5
    examples = ExampleFile(tmp_path / "file", Notes())
    assert [examples[i] for i in range(len(examples))] == list(examples) == EXAMPLES
    assert examples[-1] == EXAMPLES[-1]
    with pytest.raises(IndexError):
        examples[5]


def test_a_row_and_a_group_are_a_line_each(tmp_path: Path) -> None:
    write_examples([example_of_row(Row("q", "t", 0)), group("q", ["t", "ü"], [2, 1])], tmp_path / "file")
    expected = '{"query": "q", "text": "t", "label": 0}\n{"query": "q", "texts": ["t", "ü"], "taught": [2, 1]}\n'
    assert (tmp_path / "file").read_text(encoding="utf-8") == expected
    assert ExampleFile(tmp_path / "file", Notes())[0] == Example("q", ("t",), (0.0,), None)
    assert ExampleFile(tmp_path / "file", Notes())[1] == Example("q", ("t", "ü"), (1.0, 0.0), (2.0, 1.0))


def test_lone_surrogates_of_examples_are_replaced_and_counted(tmp_path: Path) -> None:
    write_examples([{"query": "q", "text": "a \ud800 ü", "label": 1}], tmp_path / "file")
    notes = Notes()
    assert ExampleFile(tmp_path / "file", notes)[0].texts == ("a \ufffd ü",)
    assert notes["lone surrogates replaced by U+FFFD"] == 1


def test_rows_are_examples_as_they_are(tmp_path: Path) -> None:
    write_rows(ROWS, tmp_path / "rows.jsonl")
    assert list(ExampleFile(tmp_path / "rows.jsonl", Notes())) == [example_of_row(row) for row in ROWS]


def test_nothing_is_written_under_the_name_of_a_packed_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lines of a packed file cannot be read by number"):
        write_examples(EXAMPLES, tmp_path / "file.gz")
    with pytest.raises(InputError, match="lines of a packed file cannot be read by number"):
        write_rows(ROWS, tmp_path / "rows.jsonl.GZ")
    assert not list(tmp_path.iterdir())


def test_no_example_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no example to write"):
        write_examples([], tmp_path / "file")
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"query": "q", "texts": ["a", "b"], "label": 1}', r"not the keys of a group \(got 'query, texts, label'\)"),
        ('{"query": " ", "texts": ["a", "b"]}', "'query' is not a text"),
        ('{"texts": ["a", "b"]}', "'query' is not a text"),
        ('{"query": "q", "texts": ["a"]}', "'texts' are not two texts or more"),
        ('{"query": "q", "texts": ["a", ""]}', "'texts' are not two"),
        ('{"query": "q", "texts": "ab"}', "'texts' are not two"),
        ('{"query": "q", "texts": ["a", "b"], "taught": [1]}', "'taught' are not 2 numbers"),
        ('{"query": "q", "texts": ["a", "b"], "taught": [1, true]}', "'taught' are not 2 numbers"),
        ('{"query": "q", "texts": ["a", "b"], "taught": [1, 1e999]}', "number"),
        ('{"query": "q", "texts": ["a", "b"], "taught": [1, 1e39]}', "'taught' are not 2 numbers of float32"),
        (f'{{"query": "q", "texts": ["a", "b"], "taught": [1, {10**400}]}}', "'taught' are not 2 numbers of float32"),
        ('{"query": "q", "text": "a", "label": 2}', "neither 0 nor 1"),
        ('{"query": "q", "text": "a"', "is not JSON"),
        ("", "is a blank line"),
    ],
)
def test_a_bad_example_is_named_when_it_is_read(tmp_path: Path, line: str, what: str) -> None:
    good = '{"query": "q", "text": "a", "label": 1}\n'
    examples = ExampleFile(written(tmp_path, f"{good}{line}\n{good}"), Notes())
    assert examples[0].texts == examples[2].texts == ("a",)
    with pytest.raises(InputError, match=rf"file:2: .*{what}"):
        examples[1]


def test_the_last_line_needs_no_end_and_windows_line_ends_are_taken(tmp_path: Path) -> None:
    text = '{"query": "q", "text": "a", "label": 1}\r\n{"query": "q", "text": "b", "label": 0}'
    examples = ExampleFile(written(tmp_path, text), Notes())
    assert [one.texts for one in examples] == [("a",), ("b",)]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    examples = ExampleFile(written(tmp_path, '\ufeff{"query": "q", "text": "a", "label": 1}\n'), Notes())
    assert [one.texts for one in examples] == [("a",)]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"{}\n\xff\n")
    with pytest.raises(InputError, match="file:2: is not UTF-8"):
        ExampleFile(tmp_path / "file", Notes())[1]


@pytest.mark.parametrize(
    ("name", "what"), [("rows.jsonl.gz", "unpack it"), ("none", "cannot be read"), ("empty", "is empty")]
)
def test_a_file_without_lines_by_number_is_refused(tmp_path: Path, name: str, what: str) -> None:
    written(tmp_path, "", "empty")
    with pytest.raises(InputError, match=what):
        ExampleFile(tmp_path / name, Notes())


def test_samples_of_examples_are_passes_without_end(tmp_path: Path) -> None:
    write_rows(ROWS, tmp_path / "rows.jsonl")
    samples = ExampleSamples(ExampleFile(tmp_path / "rows.jsonl", Notes()), seed=42)
    assert len(samples) == 20
    passes = [[samples[n] for n in range(20 * turn, 20 * turn + 20)] for turn in (0, 1, 9)]
    assert all(sorted(one) == sorted(map(example_of_row, ROWS)) for one in passes)
    assert len({tuple(one) for one in passes}) == 3
    with pytest.raises(IndexError):
        samples[-1]


def test_a_split_of_queries_is_seeded_and_keeps_their_order() -> None:
    queries = [Query(f"q{i}", "") for i in range(20)]
    train, dev = split_queries(queries, 5, 42)
    assert len(dev) == 5
    assert sorted(train + dev, key=queries.index) == queries
    assert train == sorted(train, key=queries.index)
    assert {q.query_id for q in dev} == {q.query_id for q in split_queries(queries[::-1], 5, 42)[1]}
    assert (train, dev) != split_queries(queries, 5, 43)


@pytest.mark.parametrize("n_dev", [0, 3, -1])
def test_a_split_that_leaves_a_side_empty_is_refused(n_dev: int) -> None:
    with pytest.raises(InputError, match="of 3 queries some must train and some validate"):
        split_queries([Query(str(i), "") for i in range(3)], n_dev, 42)


# --- Microblog -----------------------------------------------------------------------------------

TOPICS_2011 = """<top>
<num> Number: MB001 </num>
<title> staff cuts </title>
<querytime> Tue Feb 08 12:30:27 +0000 2011 </querytime>
<querytweettime> 34952194402811904 </querytweettime>
</top>
"""
TOPICS_2013 = """<top>
<num> Number: MB111 </num>
<query> water shortages </query>
<querytime> Fri Mar 29 18:56:02 +0000 2013 </querytime>
</top>
"""


def test_microblog_topics_lose_their_time_and_are_numbered_as_the_judgments_are(tmp_path: Path) -> None:
    paths = [written(tmp_path, TOPICS_2011, "2011.txt"), written(tmp_path, TOPICS_2013, "2013.txt")]
    assert read_microblog_queries(paths, Notes()) == [Query("1", "staff cuts"), Query("111", "water shortages")]
    with pytest.raises(InputError, match=r"b\.txt: topic 1 is also in .*2011\.txt"):
        read_microblog_queries([paths[0], written(tmp_path, TOPICS_2011, "b.txt")], Notes())
    with pytest.raises(InputError, match=r"2011\.txt: topic 1 is also in .*2011\.txt"):
        read_microblog_queries([paths[0], paths[0]], Notes())


def test_microblog_judgments_of_several_years_are_one_and_a_topic_is_judged_in_one_file(tmp_path: Path) -> None:
    first, second = written(tmp_path, "1 0 a 2\n", "2011.txt"), written(tmp_path, "51 0 a 0\n51 0 b 1\n", "2012.txt")
    assert read_microblog_qrels([first, second], Notes()) == {"1": {"a": 2}, "51": {"a": 0, "b": 1}}
    with pytest.raises(InputError, match=r"again\.txt: topic 1 is also judged in .*2011\.txt"):
        read_microblog_qrels([first, second, written(tmp_path, "1 0 b 1\n", "again.txt")], Notes())


def test_microblog_rows_merge_the_grades_and_drop_urls() -> None:
    notes = Notes()
    queries = [Query("1", "staff cuts"), Query("2", "soccer"), Query("3", "unjudged")]
    qrels = {"1": {"a": 2, "b": 0, "c": 1, "d": -2}, "2": {"a": 0, "e": 1, "gone": 1}}
    tweets = [
        Document("a", "", "BBC cuts jobs http://t.co/x1 today"),
        Document("z", "", "never judged"),
        Document("c", "", "https://t.co/abc"),
        Document("d", "", "spam"),
        Document("b", "", "lunch  www.example.org/menu"),
        Document("e", "", "FIFA"),
        Document("b", "", "dinner"),
    ]
    assert list(microblog_rows(queries, qrels, tweets, notes)) == [
        Row("staff cuts", "BBC cuts jobs today", 1),
        Row("soccer", "BBC cuts jobs today", 0),
        Row("staff cuts", "lunch", 0),
        Row("soccer", "FIFA", 1),
    ]
    assert notes["queries without judgments, left out"] == 1
    assert notes["judged tweets with URLs only, left out"] == 1
    assert notes["judged tweets that the collection holds again, of which the first is read"] == 1
    assert notes["judged tweets that the collection lacks, left out"] == 1


@pytest.mark.parametrize(
    ("text", "left"),
    [("a HTTP://T.CO/x b", "a b"), ("see:http://x.y", "see:"), ("awww.com httpd", "awww.com httpd"), ("www.x.org", "")],
)
def test_urls_end_at_white_space(text: str, left: str) -> None:
    assert without_urls(text) == left


def test_microblog_counts_are_those_of_the_track(shared_data: Path) -> None:
    folder, years = shared_data / "trec-topics-qrels", range(2011, 2015)
    queries = read_microblog_queries([folder / "topics" / f"topics.microblog{year}.txt" for year in years], Notes())
    qrels = read_microblog_qrels([folder / "qrels" / f"qrels.microblog{year}.txt" for year in years], Notes())
    train, dev = split_queries(queries, DEV_QUERIES, 42)
    assert (len(queries), len(qrels), len(train), len(dev)) == (225, 223, 166, 59)
    notes, labels = Notes(), Counter[int]()
    ids = dict.fromkeys(doc_id for docs in qrels.values() for doc_id in docs)
    for part in (train, dev):
        rows = microblog_rows(part, qrels, (Document(doc_id, "", "text") for doc_id in ids), notes)
        labels.update(row.label for row in rows)
    assert labels[1] == 2965 + 6286 + 9011 + 10645  # the track's relevant tweets, 2011 to 2014
    assert labels[0] == 57048 + 66787 + 62268 + 47340  # 116 tweets of 2011 are judged -2
    assert notes["queries without judgments, left out"] == 2


# --- MS MARCO ------------------------------------------------------------------------------------


def test_a_triple_is_two_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "what is it\ta thing\tanother\n\nwho\t Ada \tBob")
    assert list(msmarco_rows(path, Notes())) == [
        Row("what is it", "a thing", 1),
        Row("what is it", "another", 0),
        Row("who", "Ada", 1),
        Row("who", "Bob", 0),
    ]


def test_only_the_first_triples_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "q\tp\tn\nnot a triple\n")
    notes = Notes()
    assert len(list(msmarco_rows(path, notes, 1))) == 2
    assert "triples missing from the file" not in notes.lines()
    whole = written(tmp_path, "q\tp\tn\n", "whole")
    assert len(list(msmarco_rows(whole, notes, 5))) == 2
    assert notes["triples missing from the file"] == 4


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("q\tp\tn\nq\n", "file:2: 1 column instead of 3"),
        ("q\tp\tn\tm\n", "file:1: 4 columns instead of 3"),
        ("q\tp\tn\nq\tp", "file:2: 2 columns instead of 3; the file looks truncated"),
        ("q\tp\tn\nq\t \tn\n", "file:2: positive is empty"),
        ("1185869\t0\t1\n", "file:1: holds ids, not texts"),
        ("\n", "file: holds no triple"),
    ],
)
def test_a_bad_triple_is_named(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        list(msmarco_rows(written(tmp_path, text), Notes()))


def test_no_triples_are_no_training_data(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be at least 1"):
        list(msmarco_rows(tmp_path / "file", Notes(), 0))


# --- CAR -----------------------------------------------------------------------------------------


def test_car_rows_are_bm25s_best_paragraphs_for_title_and_headings(tmp_path: Path) -> None:
    topics = "enwiki:Aftertaste/Wine%20tasting\nenwiki:Aftertaste\nenwiki:Tea\nenwiki:Unjudged\n"
    queries = read_queries(written(tmp_path, topics), Notes(), format="car")
    first, second = "enwiki:Aftertaste/Wine%20tasting", "enwiki:Aftertaste"
    qrels = {first: {"p2": 1, "far": 1}, second: {"p1": 1}, "enwiki:Tea": {"p1": 1}, "enwiki:Other": {"p1": 1}}
    run = Run("t", [ScoredDoc(first, f"p{i}", -i) for i in range(4)] + [ScoredDoc(second, "p1", 0)])
    notes = Notes()
    texts = Texts({f"p{i}": f"text {i}" for i in range(4)})
    assert list(car_rows(queries, qrels, run, texts, notes, depth=3)) == [
        Row("Aftertaste Wine tasting", "text 0", 0),
        Row("Aftertaste Wine tasting", "text 1", 0),
        Row("Aftertaste Wine tasting", "text 2", 1),
        Row("Aftertaste", "text 1", 1),
    ]
    assert notes["queries without judgments, left out"] == 1
    assert notes["queries that the run lacks, left out"] == 1
    assert notes["judged topics that are not among the queries, left out"] == 1


def test_paragraphs_of_car_without_text_are_left_out_and_counted() -> None:
    run, notes = Run("t", [ScoredDoc("q", "p1", 1), ScoredDoc("q", "p2", 0)]), Notes()
    texts = Texts({"p1": " ", "p2": "text"})
    assert list(car_rows([Query("q", "text")], {"q": {"p1": 1}}, run, texts, notes)) == [Row("text", "text", 0)]
    assert notes["paragraphs without text, left out"] == 1


def test_car_takes_ten_paragraphs_unless_told_otherwise() -> None:
    run = Run("t", [ScoredDoc("q", f"p{i:02}", -i) for i in range(30)])
    texts = Texts({f"p{i:02}": "text" for i in range(30)})
    assert len(list(car_rows([Query("q", "text")], {"q": {"p09": 1}}, run, texts, Notes()))) == 10


def test_a_paragraph_that_the_collection_lacks_is_named() -> None:
    run = Run("t", [ScoredDoc("q", "p1", 0)])
    with pytest.raises(InputError, match=r"lacks a paragraph of the run \(got 'p1'\)"):
        list(car_rows([Query("q", "text")], {"q": {"p1": 1}}, run, Texts(), Notes()))
    with pytest.raises(InputError, match="depth must be at least 1"):
        list(car_rows([Query("q", "text")], {"q": {"p1": 1}}, run, Texts(), Notes(), depth=0))


def test_every_judged_heading_of_car_is_a_query(shared_data: Path) -> None:
    folder = shared_data / "trec-topics-qrels"
    queries = read_queries(folder / "topics" / "topics.car17v2.0.benchmarkY1test.txt", Notes(), format="car")
    qrels = read_qrels(folder / "qrels" / "qrels.car17v2.0.benchmarkY1test.txt", Notes())
    rows = [ScoredDoc(query_id, doc_id, 0) for query_id, docs in qrels.items() for doc_id in docs]
    texts = Texts(dict.fromkeys((row.doc_id for row in rows), "text"))
    notes = Notes()
    found = list(car_rows(queries, qrels, Run("t", rows), texts, notes, depth=1000))
    assert Counter(row.label for row in found) == {1: 6192}  # the lines of the file
    assert notes["queries without judgments, left out"] == len(queries) - 2254


def test_a_line_that_is_read_again_is_remarked_on_once(tmp_path: Path) -> None:
    notes = Notes()
    examples = ExampleFile(written(tmp_path, '{"query": "q", "text": "a\\ud800", "label": 1}\n'), notes)
    assert examples[0] == examples[0]
    assert len(notes.lines()) == 1 and notes.lines()[0].startswith("lone surrogates replaced by U+FFFD: 1")


def test_all_lines_of_a_file_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longrank.training.passage_data.examples._LINES", 2)
    for content in (b"a\r\nb\nc", b"a\nb\nc\nd\n", b"a\n", b"a\n\nc\n"):
        (tmp_path / "rows.jsonl").write_bytes(content)
        assert list(ExampleFile(tmp_path / "rows.jsonl", Notes()).lines()) == content.splitlines()


@pytest.mark.parametrize("size", [5, 100])
def test_examples_that_are_rewritten_while_they_are_read_are_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "rows.jsonl"
    write_examples([group("q", ["t", "u"])] * 3, path)
    examples = ExampleFile(path, Notes())
    assert examples[0].query == "q"
    path.with_name("other").write_text("other")
    digest = sha256_of(path)
    path.with_name("other").replace(path)  # another file
    assert examples[2].query == "q"
    assert examples.sha256 == digest != sha256_of(path)
    os.utime(path, ns=(0, 0))  # clocks of file systems are coarse
    examples = ExampleFile(path, Notes())
    path.write_text("x" * size)
    with pytest.raises(InputError, match=r"rows\.jsonl: has changed since it was opened; begin again"):
        examples[0]
