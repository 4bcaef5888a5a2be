"""``check`` finds a flipped bit in every folder that LongRank writes, and ``train`` and ``rerank`` refuse it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import longrank
import tunable
from evidences import evidence, run, write_evidence
from longrank.cli.main import main
from longrank.errors import InputError, IntegrityError
from longrank.formats.evidence import EvidenceWriter, evidence_header
from longrank.formats.folds import Fold, write_folds
from longrank.reproduction.phases import Phases
from longrank.storage import MANIFEST, seal


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")


def check_each(folder: Path, spare: Path, but: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """Every file but those named: a flipped bit is found, and the file is named."""
    assert longrank.check(folder) > 0
    for path in files_of(folder):
        if path.name in but:
            continue
        copied = spare / path.name
        shutil.copy2(path, copied)
        flip(path)
        with pytest.raises(IntegrityError, match=r"checksum differs|cannot be read|damaged|unfinished|bytes instead"):
            longrank.check(folder)
        shutil.copy2(copied, path)
    assert longrank.check(folder) > 0


@pytest.fixture
def spare(tmp_path: Path) -> Path:
    (tmp_path / "spare").mkdir()
    return tmp_path / "spare"


def test_every_file_of_a_weighing_is_checked(tmp_path: Path, spare: Path) -> None:
    scored = [[evidence(f"d{n}", [float(n)], query_id=q, first_stage=1.0) for n in range(3)] for q in "12"]
    write_evidence(tmp_path / "e", scored)
    first = run({q: {f"d{n}": 1.0 for n in range(3)} for q in "12"}, "first")
    qrels = {q: {"d1": 1} for q in "12"}
    longrank.weigh(qrels, first, tmp_path / "e", folder=tmp_path / "w")
    names = {path.name for path in files_of(tmp_path / "w")}
    assert names == {"manifest.json", "run.txt", "weights.json"}
    check_each(tmp_path / "w", spare, {MANIFEST})
    longrank.weigh(qrels, first, tmp_path / "e", folder=tmp_path / "w")  # replaces the outcome
    assert longrank.check(tmp_path / "w") == 2


def test_outputs_of_a_reproduction_are_checked_and_a_changed_output_is_not_used(tmp_path: Path) -> None:
    output = tmp_path / "a.run"

    def write(command: object, number: str) -> None:
        output.write_text("1 Q0 d1 1 2.0 t\n")

    Phases(tmp_path, write).do(["retrieve"], output)
    assert longrank.check(tmp_path) == 1
    flip(output)
    with pytest.raises(IntegrityError, match=r"a\.run: checksum differs"):
        longrank.check(tmp_path)
    with pytest.raises(IntegrityError, match=r"a\.run: checksum differs; delete the file to run its command again"):
        Phases(tmp_path, write).do(["retrieve"], output)
    output.unlink()
    with pytest.raises(IntegrityError, match=r"a\.run: missing"):
        longrank.check(tmp_path)
    Phases(tmp_path, write).do(["retrieve"], output)
    assert longrank.check(tmp_path) == 1


def test_phases_without_checksums_are_used_as_before(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "phases.json").write_text(json.dumps({"a": {"command": ["retrieve"], "seconds": 1.0}}))

    def refuse(command: object, number: str) -> None:
        raise AssertionError

    Phases(tmp_path, refuse).do(["retrieve"], tmp_path / "a")


def begin_evidence(path: Path, n_queries: int) -> None:
    """Write evidence of two queries into a file that has to have `n_queries`."""
    header = evidence_header(
        unit="x", scorer="s", collection="c", queries="q", n_queries=n_queries, candidates="r", options={}
    )
    with EvidenceWriter(path, header) as writer:
        for query_id in "12":
            writer.write_query(query_id, [evidence("d", [1.0], query_id=query_id)])
            writer.commit()


def test_evidence_that_lacks_queries_is_unfinished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.evidence"
    begin_evidence(path, 3)
    for place in (path, tmp_path):
        assert main(["check", str(place)]) == 3
        said = capsys.readouterr().err
        assert f"{path}: unfinished: 2 of 3 queries; run the command that wrote it again to finish it" in said
        assert said.count("\n") == 1
    begin_evidence(tmp_path / "other", 2)
    (tmp_path / "other").replace(path)
    assert longrank.check(path) == longrank.check(tmp_path) == 1


def test_manifests_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    longrank.Index.build([("d", "Dogs bark.")], tmp_path / "site" / "index")
    n = longrank.check(tmp_path / "site")
    (tmp_path / "site" / "manifest.json").write_text('{"name": "A web page", "icons": []}')
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text('{"files": {"main.js": "/static/main.js", "n": 1}}')
    assert longrank.check(tmp_path / "site") == n > 0
    (tmp_path / "site" / "index" / "manifest.json").write_text('{"format": "longrank index"}')
    with pytest.raises(IntegrityError, match="cannot be read"):
        longrank.check(tmp_path / "site")


def test_a_tuning_without_its_outcome_is_unfinished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tunable.write_inputs(tmp_path)
    inputs = [str(tmp_path / name) for name in ("index", "queries.jsonl", "qrels.txt")]
    assert main(["tune", *inputs, "-o", str(tmp_path / "out"), "-m", "RR", "--grid", "b=0:1:0.5"]) == 0
    assert longrank.check(tmp_path / "out") > 0
    (tmp_path / "out" / MANIFEST).unlink()
    assert main(["check", str(tmp_path / "out")]) == 0  # as of version 0.1
    (tmp_path / "out" / "tuning.json").unlink()
    capsys.readouterr()
    assert main(["check", str(tmp_path / "out")]) == 3
    assert "out: unfinished: its result is not written; run the command that wrote it" in capsys.readouterr().err


def test_a_weighing_whose_outcome_is_being_replaced_is_unfinished(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".unfinished").write_text("weights.json")
    (tmp_path / "w" / "weights.json").write_text("{}")
    with pytest.raises(IntegrityError, match="w: unfinished: its result is not written"):
        longrank.check(tmp_path / "w")


def test_a_training_without_its_record_is_unfinished(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    for name in ("s1", "s2"):
        (folder / name).mkdir(parents=True)
    (folder / "s1" / "run.json").write_text('{"format": "longrank training"}')
    with pytest.raises(IntegrityError, match=r"s1: unfinished training; run the command that wrote it again"):
        longrank.check(folder)
    with pytest.raises(IntegrityError, match=r"s1: unfinished training; run the command that wrote it again"):
        longrank.check(folder / "s1")
    (folder / "s1" / "record.json").write_text("{}")
    seal(folder / "s1", "training")
    assert longrank.check(folder) == 2
    write_folds({name: Fold([], [], [name]) for name in ("s1", "s2")}, folder / "folds.json")
    with pytest.raises(IntegrityError, match="t: unfinished: folds left to train: s1, s2"):
        longrank.check(folder)
    for name in ("s1", "s2"):
        (folder / name / "test.run").write_text("")
    assert longrank.check(folder) == 2


def test_a_folder_without_checksums_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        longrank.check(tmp_path / "none")
    with pytest.raises(InputError, match="holds no manifest"):
        longrank.check(tmp_path)


@pytest.mark.parametrize("text", ['{"id": "d1", "queries": ["a b"]}\n', "1 Q0 d1 1 2.0 t\n"])
def test_a_file_without_checksums_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(
        InputError,
        match=r"a\.jsonl: (is neither an evidence file nor|does not begin with a JSON)",
    ):
        longrank.check(tmp_path / "a.jsonl")


@pytest.mark.neural
def test_a_flipped_bit_in_a_model_is_found_when_it_is_loaded(tmp_path: Path, spare: Path) -> None:
    from longrank.networks.model_files import find_model
    from tiny_models import save_document_network

    folder = save_document_network(tmp_path / "m", "parade-max", sealed=True)
    known = find_model(str(folder)).fingerprint
    check_each(folder, spare, {MANIFEST})
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy2(folder / name, spare / name)
        flip(folder / name)
        with pytest.raises(IntegrityError, match=f"{name}: checksum differs; the file is damaged"):
            find_model(str(folder))
        shutil.copy2(spare / name, folder / name)
    shutil.move(folder / "tokenizer_config.json", spare / "tokenizer_config.json")
    with pytest.raises(IntegrityError, match=r"tokenizer_config\.json: missing \(restore it, or delete manifest"):
        find_model(str(folder))
    shutil.move(spare / "tokenizer_config.json", folder / "tokenizer_config.json")
    (folder / MANIFEST).unlink()
    assert find_model(str(folder)).fingerprint == known  # as of models of earlier versions


def test_segments_without_the_manifest_of_an_index_are_an_unfinished_build(tmp_path: Path) -> None:
    longrank.Index.build([("d1", "Dogs bark.")], tmp_path / "i")
    (tmp_path / "i" / "manifest.json").unlink()
    with pytest.raises(InputError, match="build never finished"):
        longrank.check(tmp_path / "i")
