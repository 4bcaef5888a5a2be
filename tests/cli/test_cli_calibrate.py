from __future__ import annotations

import json
from pathlib import Path

import pytest

from evidences import evidence
from longrank.cli.main import main
from longrank.formats.evidence import EvidenceWriter, evidence_header


def write_evidence(path: Path, scores: dict[str, dict[str, float]], scorer: str = "") -> None:
    header = evidence_header(
        unit="u",
        scorer=scorer or path.name,
        collection="c",
        queries="q",
        n_queries=len(scores),
        candidates="d",
        options={},
    )
    with EvidenceWriter(path, header) as writer:
        for query_id, documents in scores.items():
            writer.write_query(query_id, [evidence(d, [0.0, s], query_id=query_id) for d, s in documents.items()])
        writer.commit()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Evidence of two scorers that agree, 40 queries with 6 documents."""
    scores = {f"q{q}": {f"d{d}": float(d + 1) for d in range(6)} for q in range(40)}
    write_evidence(tmp_path / "cheap", scores)
    write_evidence(tmp_path / "expensive", scores)
    for unit in ("words", "sentences"):
        write_evidence(tmp_path / unit, scores, f"lexical() | windows(unit={unit}) | all()")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_calibrate_writes_the_bound_and_shows_what_it_saves_and_risks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "cheap", "expensive", "-o", "stop.json", "-k", "2"]) == 0
    shown = capsys.readouterr().err
    assert "66.7% of the candidates skipped, 0.0% of the true top 2 missed, on held-out queries (40 queries" in shown
    learned = json.loads(Path("stop.json").read_text())
    assert (learned["cheap"], learned["expensive"], learned["k"], learned["missed"]) == ("cheap", "expensive", 2, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cheap", "expensive", "-o", "cheap"], "is also an input"),
        (["cheap", "expensive", "-o", "stop.json", "--risk", "0.001"], "too few queries for this risk"),
        (["cheap", "expensive", "-o", "stop.json", "--risk", "0"], "the risk between 0 and 1"),
        (["cheap", "expensive", "-o", "stop.json", "-k", "0"], "k must be 1 or more"),
        (["cheap", "expensive", "-o", "stop.json", "-a", "birch"], "needs weights"),
        (["cheap", "absent", "-o", "stop.json"], "absent"),
        (["words", "sentences", "-o", "stop.json"], "words: is evidence of other passages than sentences"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(["calibrate", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
