"""train-passages by its documented command line: what is written, resumed and refused."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.training.passage_data.examples import group, write_examples

pytestmark = pytest.mark.neural

TRAINING = """
[network]
name = "cross-encoder"
[read]
max_tokens = 32
[[loss]]
name = "lce"
[loop]
steps = 4
batch = 4
validate_every = 2
optimizer = { learning_rate = 0.01 }
"""
PLOTS = find_spec("matplotlib") is not None
WORDS = ["river", "bank", "money", "war", "peace", "north"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_encoder

    folder = tmp_path_factory.mktemp("passages")
    save_encoder(folder / "encoder")
    (folder / "t.toml").write_text(TRAINING)
    write_examples((group(word, [f"{word} {word}", "bread stone", "fox dog"]) for word in WORDS), folder / "e.jsonl")
    write_examples((group(word, [f"a {word}", "light", "house"]) for word in WORDS), folder / "dev.jsonl")
    return folder


def train(folder: Path, output: Path, *more: str, training: str | None = None) -> int:
    arguments = ["train-passages", training or str(folder / "t.toml"), str(folder / "e.jsonl"), "-o", str(output)]
    return main([*arguments, "--set", f"network.model={folder / 'encoder'}", *more])


def test_the_best_model_and_a_record_are_written_and_finished_work_is_not_done_again(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, tmp_path / "out", "--dev", str(folder / "dev.jsonl")) == 0
    said = capsys.readouterr().err
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert f"best RR@10 on dev {record['best_measure']:.4f}, after step {record['best_step']}" in said
    assert len(record["validations"]) == 2 and record["run"]["dev"] != record["run"]["examples"]
    before = {path: path.read_bytes() for path in (tmp_path / "out" / "model").iterdir()}
    plot = tmp_path / "curve.png"
    assert (
        train(folder, tmp_path / "out", "--dev", str(folder / "dev.jsonl"), *(["--plot", str(plot)] if PLOTS else []))
        == 0
    )
    assert {path: path.read_bytes() for path in (tmp_path / "out" / "model").iterdir()} == before
    assert plot.exists() is PLOTS


def test_an_interrupted_training_goes_on_to_the_same_bytes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.training.cross_encoder_task import CrossEncoderTask

    dev, loss, calls = ("--dev", str(folder / "dev.jsonl")), CrossEncoderTask.loss, list[object]()
    assert train(folder, tmp_path / "straight", *dev) == 0

    def interrupted(task: CrossEncoderTask, instances: object) -> object:
        calls.append(instances)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return loss(task, instances)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(CrossEncoderTask, "loss", interrupted)
        assert train(folder, tmp_path / "resumed", *dev) == 130
    assert not (tmp_path / "resumed" / "model").exists()
    assert train(folder, tmp_path / "resumed", *dev) == 0
    for name in ("model/model.safetensors", "record.json", "log.jsonl"):
        assert (tmp_path / "resumed" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()


def test_the_model_scores_passages(folder: Path, tmp_path: Path) -> None:
    from training_collections import write_collection

    assert train(folder, tmp_path / "out", "--dev", str(folder / "dev.jsonl")) == 0
    collection = write_collection(tmp_path)
    places = [str(collection / name) for name in ("index", "queries.jsonl", "first.run")]
    model = ["--model", str(tmp_path / "out" / "model"), "--pipeline", "maxp", "--depth", "3"]
    assert main(["rerank", *places, "-o", str(tmp_path / "maxp.run"), *model]) == 0


@pytest.mark.parametrize("how", ["same", "link", "copy"])
def test_validation_on_what_is_learned_from_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    dev = folder / "e.jsonl" if how == "same" else tmp_path / "dev.jsonl"
    if how == "link":
        dev.symlink_to(folder / "e.jsonl")
    elif how == "copy":
        dev.write_bytes((folder / "e.jsonl").read_bytes())
    assert train(folder, tmp_path / "out", "--dev", str(dev)) == 2
    said = capsys.readouterr().err
    assert f"{dev}: the development examples are the training examples" in said and said.count("\n") == 1
    assert "give held-out examples" in said
    assert not (tmp_path / "out").exists()


def test_validation_on_some_of_what_is_learned_from_is_counted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dev, lines = tmp_path / "dev.jsonl", (folder / "e.jsonl").read_text().splitlines(keepends=True)
    dev.write_text("".join([*(folder / "dev.jsonl").read_text().splitlines(keepends=True), *lines[1::-1]]))
    assert train(folder, tmp_path / "out", "--dev", str(dev)) == 0
    n_held_out = len((folder / "dev.jsonl").read_text().splitlines())
    said = "development examples that are also training examples, which makes the best weights look better: 2"
    assert f"{said} (first: {dev}:{n_held_out + 1})" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ([], "validation needs development examples"),
        (["--dev", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["-o", __file__], "is a file; a folder is needed"),
        (["--set", "loop.stepz=3"], "did you mean 'steps'?"),
        (["--set", "network.name=cross-encodr"], "did you mean 'cross-encoder'?"),
        (["--set", 'loss=[{name="hinge"}]'], "e.jsonl:1: the loss hinge learns from groups of 2 texts"),
        (["--set", "validation.measure=RRR"], "RRR"),
        (["--set", "read.max_tokens=4000"], "max_tokens must be between"),
        (["--set", "loop.schedule.name=lineal"], "did you mean 'linear'?"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], what: str
) -> None:
    dev = [] if not more or "--dev" in more else ["--dev", str(folder / "dev.jsonl")]
    assert train(folder, tmp_path / "out", *dev, *more) == 2
    said = capsys.readouterr().err
    assert what in said
    assert said.count("\n") == 1 + ("is given 2 times" in said)
    assert not (tmp_path / "out").exists()


def test_a_bad_line_anywhere_is_found_before_anything_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.jsonl").write_text((folder / "e.jsonl").read_text() + '{"query": "q"}\n')
    training = [str(folder / "t.toml"), str(tmp_path / "e.jsonl"), "-o", str(tmp_path / "out")]
    assert main(["train-passages", *training, "--dev", str(folder / "dev.jsonl")]) == 2
    assert "e.jsonl:7: not the keys of a row" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
