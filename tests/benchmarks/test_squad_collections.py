"""SQuAD's collections: made anew from the questions and articles of the one, they are those that were measured."""

from __future__ import annotations

import gzip
import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from longrank.errors import InputError


@pytest.fixture
def squad() -> ModuleType:
    return import_module("benchmarks.squad_collections")


def as_squad(paragraphs_of: dict[str, list[str]], questions: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    """What SQuAD's file looks like; `questions` by ``article#paragraph``."""
    return {
        "data": [
            {
                "title": name,
                "paragraphs": [
                    {
                        "context": text,
                        "qas": [{"id": q, "question": asked} for q, asked in questions.get(f"{name}#{n}", [])],
                    }
                    for n, text in enumerate(paragraphs)
                ],
            }
            for name, paragraphs in paragraphs_of.items()
        ]
    }


def read_documents(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [{key: row[key] for key in ("doc_id", "title", "text", "passages")} for row in map(json.loads, stream)]


def read_questions(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["query_id"], row["text"]) for row in map(json.loads, lines)]


def test_paragraphs_are_kept_together_or_dealt_out(
    squad: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paragraphs = {f"Article {a}": [f"text {a} {n}" for n in range(7 + a % 4)] for a in range(24)}
    paragraphs["Article 9"] = [f"text 9 {n}" for n in range(13)]
    source = tmp_path / "dev.json"
    source.write_text(
        json.dumps(as_squad(paragraphs, {"Article 3#2": [("q1", " who? ")], "Article 0#0": [("q0", "x")]}))
    )
    monkeypatch.setattr("sys.argv", ["squad", str(source), str(tmp_path / "data")])
    squad.main()
    assert len(capsys.readouterr().out.splitlines()) == 3
    everything = {text for one in paragraphs.values() for text in one}
    for name in ("squad-dev-v1.1", "squad-dev-sections", "squad-dev-mixed"):
        folder = tmp_path / "data" / name
        documents = {one["doc_id"]: one["passages"] for one in read_documents(folder)}
        assert sorted(text for passages in documents.values() for text in passages) == sorted(everything)
        for line, words in zip((folder / "passage_qrels.txt").read_text().splitlines(), ("0 0", "3 2"), strict=True):
            doc_id, _, place = line.split()[2].rpartition("#")
            assert documents[doc_id][int(place)] == f"text {words}"
        assert read_questions(folder) == [("q0", "x"), ("q1", "who?")]
    runs = [one["passages"] for one in read_documents(tmp_path / "data" / "squad-dev-sections")]
    assert [len(run) for run in runs[:4]] == [7, 8, 9, 10]  # ids are sorted: 0, 1, 10, 11
    assert [len(run) for run in runs[-2:]] == [6, 7]
    for hand in (one["passages"] for one in read_documents(tmp_path / "data" / "squad-dev-mixed")):
        assert 11 <= len(hand) <= 12
        assert len({text.split()[1] for text in hand}) == len(hand)  # no two of one article


def test_another_file_is_refused(squad: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(InputError, match=r"x.json: is not SQuAD's JSON"):
        squad.read(tmp_path / "x.json")


def test_they_are_the_collections_that_were_measured(squad: ModuleType, shared_data: Path, tmp_path: Path) -> None:
    articles = shared_data / "squad-dev-v1.1"
    judged = [line.split() for line in (articles / "passage_qrels.txt").read_text().splitlines()]
    of_paragraph: dict[str, list[tuple[str, str]]] = {}
    for (query_id, text), (_, _, passage, _) in zip(read_questions(articles), judged, strict=True):
        of_paragraph.setdefault(passage, []).append((query_id, text))
    paragraphs = {one["doc_id"]: one["passages"] for one in read_documents(articles)}
    (tmp_path / "dev.json").write_text(json.dumps(as_squad(paragraphs, of_paragraph)))
    found = squad.read(tmp_path / "dev.json")
    for name, documents in squad.collections(found).items():
        (tmp_path / name).mkdir()
        squad.write(documents, found, tmp_path / name)
        assert read_documents(tmp_path / name) == read_documents(shared_data / name)
        assert read_questions(tmp_path / name) == read_questions(shared_data / name)
        for file in ("qrels.txt", "passage_qrels.txt"):
            assert (tmp_path / name / file).read_text() == (shared_data / name / file).read_text()
        documented = (Path(__file__).parents[2] / "docs" / "collections.md").read_text(encoding="utf-8")
        assert all(digest in documented for digest in squad.digests(documents, found))
