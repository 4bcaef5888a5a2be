"""An index is searched until a deadline, on a clock that only reading moves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import longrank
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.index import Index
from longrank.ranking import timed_search
from longrank.ranking.found import Partial
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.ranking.results import Results
from longrank.ranking.settings import Stop
from longrank.ranking.timed import Deadline
from slow_reading import Clock, slowed

FILLER = "moon tide chain wheel light house bread stone river salt"
TEXTS = {
    "a": f"{FILLER} a fox {FILLER}",
    "b": f"{FILLER} the fox {FILLER} foxes: the Fox's FOX {FILLER}",
    "c": f"fox {FILLER}",
    "d": FILLER,
}
SET = ["passages.options={length=10, stride=10}"]
COUNTS = Partial(n_documents=3, n_read=0, n_partly=1, n_unread=2)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("timed") / "index"
    Index.build([{"id": doc_id, "title": doc_id.upper(), "text": text} for doc_id, text in TEXTS.items()], folder)
    return folder


def slow(index: Path, *assignments: str) -> tuple[Pipeline, Clock]:
    pipeline, clock = open_pipeline(index, "lexical", assignments=[*SET, *assignments]), Clock()
    slowed(pipeline, clock)
    return pipeline, clock


def found(index: Path, seconds: float, *assignments: str, **options: Any) -> Results[Any]:
    pipeline, clock = slow(index, *assignments)
    return longrank.search(index, "fox", pipeline=pipeline, deadline=Deadline(seconds, clock), **options)


def test_unread_documents_follow_in_first_stage_order_without_passages(index: Path) -> None:
    results = found(index, 1)
    first_stage = [hit.doc_id for hit in longrank.search(index, "fox", pipeline="bm25")]
    assert results.partial == COUNTS
    assert [hit.doc_id for hit in results] == ["b", *(doc_id for doc_id in first_stage if doc_id != "b")]
    assert "FOX" in results[0].passages[0].text
    assert [hit.passages for hit in results[1:]] == [(), ()]
    assert [hit.aggregate for hit in results[1:]] == [None, None]
    scores = [hit.score for hit in results]
    assert scores == sorted(set(scores), reverse=True)


def test_without_the_tail_unread_documents_are_only_counted(index: Path) -> None:
    results = found(index, 1, "final.tail=drop")
    assert [hit.doc_id for hit in results] == ["b"]
    assert results.partial == COUNTS


def test_counts_are_seen_wherever_the_results_are(index: Path) -> None:
    results = found(index, 1, k=2)
    assert "2 of 3 documents were not read" in repr(results)
    assert "2 of 3 documents were not read" in results._repr_html_()
    assert "documents that a deadline left unread: 2" in results.notes.lines()


def test_with_time_enough_the_search_is_the_same(index: Path) -> None:
    whole = longrank.search(index, "fox", pipeline="lexical", assignments=SET)
    timed = found(index, 1000)
    assert list(timed) == list(whole)
    assert timed.partial is None
    assert not timed.notes.lines()


def test_if_nothing_is_read_the_first_stage_stands(index: Path) -> None:
    pipeline, clock = slow(index)
    late = Deadline(1, clock)
    clock.time += 2
    results = longrank.search(index, "fox", pipeline=pipeline, deadline=late)
    assert [(hit.doc_id, hit.score) for hit in results] == [
        (hit.doc_id, hit.score) for hit in longrank.search(index, "fox", pipeline="bm25")
    ]
    assert results.partial == Partial(n_documents=3, n_read=0, n_partly=0, n_unread=3)


def test_a_first_stage_alone_is_never_partial(index: Path) -> None:
    results = longrank.search(index, "fox", pipeline="bm25", deadline=0.001)
    assert len(results) == 3
    assert results.partial is None


def test_early_stopping_takes_no_deadline(index: Path) -> None:
    pipeline, _ = slow(index)
    stopping = replace(pipeline, settings=pipeline.settings.model_copy(update={"stop": Stop(calibration="none.json")}))
    with pytest.raises(InputError, match=r"early stopping takes no deadline .*; remove \[stop\] or the deadline"):
        longrank.search(index, "fox", pipeline=stopping, deadline=1)


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), True, "2"])
def test_a_wrong_deadline_is_told_before_anything_is_opened(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="deadline must be a number of seconds above 0"):
        longrank.search(tmp_path / "none", "fox", deadline=wrong)


def test_the_command_marks_a_partial_ranking(
    index: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    class Ticking(Deadline):
        """A deadline whose clock goes on by a second whenever it is read."""

        def __init__(self, seconds: float) -> None:
            super().__init__(seconds, self.tick)

        def tick(self) -> float:
            clock.time += 1
            return clock.time

    monkeypatch.setattr(timed_search, "Deadline", Ticking)
    command = ["search", str(index), "fox", "--pipeline", "lexical", "--set", SET[0], "--deadline", "4"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith("the deadline passed: 2 of 3 documents were not read, 1 were read in part\n")
    assert "documents that a deadline left unread: 2" in err
    assert main([*command, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["partial"] for row in rows] == [COUNTS.json()] * 3
    assert main([*command[:-1], "0"]) == 2
    assert "deadline must be a number of seconds above 0" in capsys.readouterr().err
