from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError, LongRankError
from longrank.formats.trec import read_qrels, read_run, write_qrels, write_rankings, write_run
from longrank.types import Notes, Ranking, Run, ScoredDoc


def run_of(rows: list[tuple[str, str, float]], tag: str = "tag") -> Run:
    return Run(tag, [ScoredDoc(*row) for row in rows])


def read(folder: Path, text: str, notes: Notes) -> Run:
    (folder / "x.run").write_text(text)
    return read_run(folder / "x.run", notes)


# --- qrels ------------------------------------------------------------------------------------


def test_beir_judgments_are_read_under_their_header(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n")
    assert read_qrels(path, Notes()) == {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}


def test_a_fault_in_beir_judgments_has_its_line_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\tx\n")
    with pytest.raises(InputError, match=r"test.tsv:3: grade"):
        read_qrels(path, Notes())


def test_a_file_of_comments_holds_no_judgment(tmp_path: Path) -> None:
    for text in ("", "# nothing\n", "query-id\tcorpus-id\tscore\n"):
        (tmp_path / "qrels.txt").write_text(text)
        with pytest.raises(InputError, match="holds no judgment"):
            read_qrels(tmp_path / "qrels.txt", Notes())


def test_an_id_may_hold_a_number_sign_but_not_begin_a_line_with_it_and_comments_are_counted(tmp_path: Path) -> None:
    path, notes = tmp_path / "qrels.txt", Notes()
    path.write_text("1 0 d#1 1\n#2 0 d2 1\n3 0 #d 1\n")
    assert read_qrels(path, notes) == {"1": {"d#1": 1}, "3": {"#d": 1}}
    assert f"lines that begin with #, skipped as comments: 1 (first: {path}:2)" in notes.lines()
    with pytest.raises(InputError, match="would begin a comment"):
        write_qrels({"#2": {"d2": 1}}, path)


def test_columns_part_at_blanks_and_tabs_only(tmp_path: Path) -> None:
    text = "1\t0  d\u00a01 \t+1\r\n1 0 d\u20282 -0\n 1 0 d\u00853 007 \n"
    (tmp_path / "qrels.txt").write_bytes(text.encode())
    assert read_qrels(tmp_path / "qrels.txt", Notes()) == {"1": {"d\u00a01": 1, "d\u20282": 0, "d\u00853": 7}}


@pytest.mark.parametrize("control", ["\x0b", "\x0c", "\x1c", "\x01", "\x7f", "\r"])
def test_control_characters_are_refused_and_shown_escaped(control: str, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_bytes(f"1 0 d1 1\n1 0 d{control}2 1\n".encode())
    with pytest.raises(InputError, match=":2: holds a control character") as caught:
        read_qrels(tmp_path / "qrels.txt", Notes())
    assert control not in str(caught.value)


# --- runs -------------------------------------------------------------------------------------


def test_the_score_orders_and_the_tag_is_the_first(tmp_path: Path) -> None:
    run = read(tmp_path, "2 Q0 a 1 1 t\n1 Q0 a 2 0.5 t\n1 Q0 b 1 1e1 t\n", Notes())
    assert run.tag == "t"
    assert list(run) == ["2", "1"]
    assert run["1"] == (ScoredDoc("1", "b", 10.0), ScoredDoc("1", "a", 0.5))


def test_scores_are_float32(tmp_path: Path) -> None:
    notes = Notes()
    run = read(tmp_path, "1 Q0 a 1 1.00000001 t\n1 Q0 b 2 1.0 t\n", notes)
    assert [row.doc_id for row in run["1"]] == ["b", "a"]  # a tie in float32, so by doc_id descending
    assert notes["tied scores, ordered by document id descending as in trec_eval"] == 1


@pytest.mark.parametrize("score", ["1", "-1.", ".5", "+1e5", "1E-5", "0", "-0", "3.4028234e38", "1e-99"])
def test_every_plain_way_to_write_a_number_is_read(score: str, tmp_path: Path) -> None:
    run = read(tmp_path, f"1 Q0 a 1 {score} t\n", Notes())
    assert run["1"][0].score == np.float32(score)


@pytest.mark.parametrize("score", ["0x1p3", "1e", ".", "1.2.3", "--1", "+-1", "1e5.5", "１", "1d5", "inf", "1" * 401])
def test_nothing_else_is_read_as_a_number(score: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=":2: score is not a number"):
        read(tmp_path, f"1 Q0 a 1 2 t\n1 Q0 b 2 {score} t\n", Notes())


@pytest.mark.parametrize("rank", ["x", "1.0", "1_0", "9" * 19, ""])
def test_a_rank_is_an_integer(rank: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":1: (rank is not an integer|5 columns)"):
        read(tmp_path, f"1 Q0 a {rank} 2 t\n", Notes())


def test_ranks_are_compared_with_scores_within_a_query_only(tmp_path: Path) -> None:
    notes = Notes()
    read(tmp_path, "1 Q0 a 1 1 t\n2 Q0 a 7 9 t\n2 Q0 b 9 8 t\n2 Q0 c 8 8.5 t\n", notes)
    assert not any("contradict" in line for line in notes.lines())
    read(tmp_path, "1 Q0 a 3 1 t\n1 Q0 b 2 0.5 t\n1 Q0 c 1 2 t\n", notes)
    assert notes["ranks that contradict the scores, which decide"] == 1
    assert f"{tmp_path / 'x.run'}:2" in "".join(notes.lines())


def test_a_large_run_is_the_same_whatever_the_order_of_its_rows(tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [f"q{i % 97} Q0 d{i} 1 {rng.random():.7f} t\n" for i in range(60_000)]  # several blocks
    ordered = read(tmp_path, "".join(rows), Notes())
    rng.shuffle(rows)
    shuffled = read(tmp_path, "\n".join(rows), Notes())
    assert sorted(ordered.rows()) == sorted(shuffled.rows())
    assert all(ordered[query_id] == shuffled[query_id] for query_id in ordered)


def test_a_document_repeated_in_another_block_names_both_lines(tmp_path: Path) -> None:
    rows = [f"q Q0 d{i} 1 1 t\n" for i in range(100_000)]
    with pytest.raises(InputError, match=r":100002: document d5 occurs twice for query q, first on line 6"):
        read(tmp_path, "".join(rows) + "\nq Q0 d5 1 1 t\n", Notes())


# --- writing ----------------------------------------------------------------------------------


def test_a_run_is_written_with_ranks_from_one_and_nine_digits(tmp_path: Path) -> None:
    write_run(run_of([("1", "a", 1 / 3), ("1", "b", 2), ("0", "c", -1e-9)]), tmp_path / "x.run")
    assert (
        tmp_path / "x.run"
    ).read_text() == "1 Q0 b 1 2 tag\n1 Q0 a 2 0.333333343 tag\n0 Q0 c 1 -9.99999972e-10 tag\n"


float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(scores=st.lists(float32s, min_size=1, max_size=30))
def test_writing_and_reading_gives_the_same_run_and_the_same_bytes(
    scores: list[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = (tmp_path_factory.getbasetemp() / name for name in ("first.run", "second.run"))
    run = run_of([("q", f"d{i}", score) for i, score in enumerate(scores)])
    write_run(run, first)
    again = read_run(first, Notes())
    assert again["q"] == run["q"]
    write_run(again, second)
    assert first.read_bytes() == second.read_bytes()


@given(pair=st.tuples(float32s, float32s))
def test_written_scores_keep_the_order_of_float32(pair: tuple[float, float]) -> None:
    low, high = sorted(pair)
    assert (float(f"{low:.9g}") < float(f"{high:.9g}")) == (low < high)


def test_a_packed_run_has_the_same_bytes_whatever_its_name_and_time(tmp_path: Path) -> None:
    run = run_of([("1", "a", 1), ("1", "b", 2)])
    write_run(run, tmp_path / "x.run.gz")
    write_run(run, tmp_path / "y.gz")
    write_run(run, tmp_path / "plain.run")
    assert (tmp_path / "x.run.gz").read_bytes() == (tmp_path / "y.gz").read_bytes()
    assert gzip.decompress((tmp_path / "x.run.gz").read_bytes()) == (tmp_path / "plain.run").read_bytes()
    assert read_run(tmp_path / "x.run.gz", Notes())["1"] == run["1"]


@pytest.mark.parametrize(
    ("row", "tag", "what"),
    [
        (("1", "a b", 1.0), "tag", "id holds white space"),
        (("1\n", "a", 1.0), "tag", "id holds white space"),
        (("", "a", 1.0), "tag", "id is empty"),
        (("1", "\ud800", 1.0), "tag", "id holds"),
        (("1", "a", 1.0), "my tag", "tag holds white space"),
        (("1", "a", 1.0), "", "tag is empty"),
    ],
)
def test_what_would_not_read_back_is_not_written(
    row: tuple[str, str, float], tag: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=what):
        write_run(run_of([row], tag), tmp_path / "x.run")
    assert list(tmp_path.iterdir()) == []


# --- the run itself ---------------------------------------------------------------------------


def test_both_constructors_build_the_same_run() -> None:
    rng = random.Random(5)
    rows = [(f"q{rng.randrange(5)}", f"d{i}", rng.choice([0.0, -0.0, 1.5, rng.random()])) for i in range(300)]
    one, other = run_of(rows), Run.from_columns("tag", *zip(*rows, strict=True))
    expected = {
        query_id: sorted(
            (ScoredDoc(q, d, float(np.float32(s))) for q, d, s in rows if q == query_id),
            key=lambda row: (row.score, row.doc_id),
            reverse=True,
        )
        for query_id in dict.fromkeys(q for q, _, _ in rows)
    }
    assert list(one) == list(other) == list(expected)
    assert all(list(one[query_id]) == list(other[query_id]) == expected[query_id] for query_id in expected)


@pytest.mark.parametrize(
    ("score", "said"), [(float("nan"), "is not finite"), (float("inf"), "is not finite"), (1e39, "is too large")]
)
def test_a_run_refuses_scores_that_are_not_finite_in_float32(score: float, said: str) -> None:
    with pytest.raises(LongRankError, match=f"document 'b' for query '1' {said}"):
        run_of([("1", "a", 1.0), ("1", "b", score)])


def test_rankings_with_a_score_that_is_not_finite_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(LongRankError, match="score inf of document 'b' for query '1' is not finite"):
        write_rankings("tag", [Ranking("1", ["a", "b"], [1.0, float("inf")])], tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_run_refuses_a_document_twice() -> None:
    with pytest.raises(LongRankError, match="document 'a' occurs twice for query '2'"):
        run_of([("1", "a", 1.0), ("2", "a", 1.0), ("2", "a", 3.0)])


def test_an_empty_run_has_no_query() -> None:
    assert list(run_of([]).rows()) == []
    assert run_of([]).get("1") == ()
