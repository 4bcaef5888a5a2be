"""The numbered malformed cases of topics, qrels, runs and gzip files, on the readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from growth import assert_linear_time
from longrank.errors import InputError
from longrank.formats.folds import read_folds
from longrank.formats.lines import TextOptions
from longrank.formats.opening import Limits, read_chunks
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels, read_run
from longrank.types import Notes
from malformed import ARCHIVES, PACKED, QRELS, RUNS, TOPICS, Case, bomb, by_id


def read(case: Case, folder: Path) -> tuple[Any, Notes]:
    path, notes = folder / case.file_name, Notes()
    if case.content is not None:
        path.write_bytes(case.content)
    if case.kind == "topics":
        return read_queries(path, notes, allow_empty=case.option == "--allow-empty-query"), notes
    return (read_qrels if case.kind == "qrels" else read_run)(path, notes), notes


def check(case: Case, folder: Path) -> None:
    if case.outcome == "E":
        with pytest.raises(InputError) as caught:
            read(case, folder)
        place = f"{folder / case.file_name}:" + (f"{case.line}: " if case.line else " ")
        assert str(caught.value).startswith(place)
        assert case.says in str(caught.value)
        assert "\n" not in str(caught.value)
    else:
        value, notes = read(case, folder)
        assert len(value) >= 1
        assert case.says in "\n".join(notes.lines())
        assert bool(case.says) == bool(notes.lines())


@pytest.mark.parametrize("case", TOPICS, ids=by_id)
def test_topics(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("case", QRELS, ids=by_id)
def test_qrels(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("case", RUNS, ids=by_id)
def test_runs(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("case", PACKED + ARCHIVES, ids=by_id)
def test_packed(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("reader", [read_queries, read_qrels, read_run])
def test_case_3_a_folder_is_no_file(reader: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        reader(tmp_path, Notes())


def test_case_20_leaves_only_the_judgments(tmp_path: Path) -> None:
    (case,) = (case for case in QRELS if case.number == 20)
    assert read(case, tmp_path)[0] == {"1": {"d1": 1, "d2": 0}, "2": {"d1": 2}}


def test_case_33_the_score_decides(tmp_path: Path) -> None:
    (case,) = (case for case in RUNS if case.number == 33)
    assert [row.doc_id for row in read(case, tmp_path)[0]["1"]] == ["d2", "d1"]


def test_case_34_ties_go_by_document_id_descending(tmp_path: Path) -> None:
    (case,) = (case for case in RUNS if case.number == 34)
    assert [row.doc_id for row in read(case, tmp_path)[0]["1"]] == ["d2", "d1"]


@pytest.mark.parametrize("number", [37, 76])
def test_cases_37_and_76_read_as_the_plain_file_does(number: int, tmp_path: Path) -> None:
    (case,) = (case for case in RUNS + PACKED if case.number == number)
    run, _ = read(case, tmp_path)
    assert [(row.query_id, row.doc_id, row.score) for query_id in "12" for row in run[query_id]] == [
        ("1", "d1", 9.5),
        ("1", "d2", 8.5),
        ("2", "d2", 7.0),
        ("2", "d1", 6.0),
    ]


def test_case_77_a_bomb_is_refused_by_its_ratio(tmp_path: Path) -> None:
    path = tmp_path / "x.run.gz"
    path.write_bytes(bomb(2 << 20))
    options = TextOptions(limits=Limits(ratio_from=1 << 20))
    with pytest.raises(InputError, match="more than 200 times its size"):
        read_run(path, Notes(), options)
    with pytest.raises(InputError, match="empty run"):  # small enough to be looked into
        read_run(path, Notes())


def test_case_77_an_absolute_limit_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.run.gz"
    path.write_bytes(bomb(2 << 20))
    with pytest.raises(InputError, match="more than 1000000 bytes"):
        read_run(path, Notes(), TextOptions(limits=Limits(max_uncompressed=1_000_000)))


def test_case_77_queries_and_folds_are_kept_in_memory_and_refused_sooner(tmp_path: Path) -> None:
    for name, read in (("topics.tsv.gz", read_queries), ("folds.json.gz", read_folds)):
        (tmp_path / name).write_bytes(bomb(2 << 20))
        with pytest.raises(InputError, match="more than 200 times its size"):
            read(tmp_path / name, Notes())


def test_a_million_blank_lines_between_rows_cost_little_and_count_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.run"

    def fails(n: int) -> None:
        path.write_text("1 Q0 d1 1 9.5 tag\n" + "\n \n" * n + "1 Q0 d2 2 x tag\n")
        with pytest.raises(InputError, match=rf"x\.run:{2 * n + 2}: score is not a number"):
            read_run(path, Notes())

    assert_linear_time(fails, int, 500_000)


@pytest.mark.slow
def test_case_77_a_whole_gigabyte_is_refused_by_default(tmp_path: Path) -> None:
    path = tmp_path / "x.run.gz"
    path.write_bytes(bomb((1 << 30) + (2 << 20)))
    with pytest.raises(InputError, match="more than 200 times its size"):
        sum(map(len, read_chunks(path)))
