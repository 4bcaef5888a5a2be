"""A reranking shared out to processes has the bytes of a single process."""

from __future__ import annotations

from pathlib import Path

import pytest

import longrank
from longrank.errors import InputError
from longrank.ranking.devices import devices_of
from longrank.types import Notes
from training_collections import write_collection


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("cpu", ["cpu"]),
        ("cpu:2", ["cpu", "cpu"]),
        ("cuda:1", ["cuda:1"]),
        ("cuda:0, cuda:1", ["cuda:0", "cuda:1"]),
        ("auto", ["auto"]),
    ],
)
def test_devices_are_listed(text: str, devices: list[str]) -> None:
    assert devices_of(text) == devices


@pytest.mark.parametrize("text", ["cpu:0", "cpu:x", "cpu:65", "cuda:0,cuda:0", "cuda:0,", "cpu,cuda:0"])
def test_wrong_devices_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        devices_of(text)


def test_what_was_added_to_notes_can_be_told_apart() -> None:
    notes = Notes()
    notes.add("a", "first")
    before = notes.copy()
    notes.add("a", "second", 2)
    notes.add("b", "x")
    notes.say("c")
    assert notes.since(before).lines() == ["a: 2 (first: first)", "b: 1 (first: x)", "c"]
    assert before.lines() == ["a: 1 (first: first)"]


@pytest.mark.neural
def test_two_processes_give_the_bytes_of_one(tmp_path: Path) -> None:
    from tiny_models import save_cross_encoder

    folder = write_collection(tmp_path)
    model = str(save_cross_encoder(tmp_path / "m"))
    inputs = [folder / "index", folder / "queries.jsonl", folder / "first.run"]
    options = {"pipeline": "maxp", "model": model, "depth": 5}
    sets = {"final.block_queries": 2, "scorer.options.max_query_tokens": 1}
    notes = {name: Notes() for name in ("cpu", "cpu:2")}
    runs = {
        name: longrank.rerank(
            *inputs, **options, assignments=sets, evidence=tmp_path / name, device=name, notes=notes[name]
        )
        for name in notes
    }
    assert (tmp_path / "cpu").read_bytes() == (tmp_path / "cpu:2").read_bytes()
    assert list(runs["cpu"].rows()) == list(runs["cpu:2"].rows())
    assert notes["cpu"].lines() == notes["cpu:2"].lines()
    assert any("queries cut" in line for line in notes["cpu"].lines())


@pytest.mark.neural
def test_a_score_cache_belongs_to_one_process(tmp_path: Path) -> None:
    folder = write_collection(tmp_path)
    inputs = [folder / "index", folder / "queries.jsonl", folder / "first.run"]
    with pytest.raises(InputError, match=r"a score cache belongs to one process \(got 'device=cpu:2'\)"):
        longrank.rerank(*inputs, pipeline="maxp", device="cpu:2", score_cache=tmp_path / "s")


def test_a_scorer_without_a_device_is_refused(tmp_path: Path) -> None:
    folder = write_collection(tmp_path)
    inputs = [folder / "index", folder / "queries.jsonl", folder / "first.run"]
    with pytest.raises(InputError, match="device"):
        longrank.rerank(*inputs, pipeline="lexical", device="cpu:2")
