"""train by its documented command line: what is written, resumed after kill -9, and refused."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import preloaded
from longrank.cli.main import main
from longrank.errors import LongRankError
from longrank.evaluation.folds import make_folds
from longrank.formats.trec import read_qrels, read_run
from longrank.index import Index
from longrank.types import Notes
from training_collections import SMALL, command, write_collection, write_teacher

pytestmark = pytest.mark.neural

TRAINING = """
[network]
name = "parade-max"
[[loss]]
name = "pair-softmax"
[loop]
steps = 4
batch = 4
validate_every = 2
optimizer = { learning_rate = 0.01 }
[validation]
measure = "nDCG@10"
depth = 10
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection, its first stage, an encoder and a training."""
    from tiny_models import save_encoder

    folder = write_collection(tmp_path_factory.mktemp("train"))
    save_encoder(folder / "encoder")
    (folder / "t.toml").write_text(TRAINING)
    return folder


def arguments(folder: Path, output: Path, *more: str, sets: tuple[str, ...] = (), training: str = "") -> list[str]:
    sets = (*SMALL, f"network.model={folder / 'encoder'}", *sets)
    return command(folder, training or str(folder / "t.toml"), output, *more, sets=sets)


def train(folder: Path, output: Path, *more: str, sets: tuple[str, ...] = (), training: str = "") -> int:
    return main(arguments(folder, output, *more, sets=sets, training=training))


def folds_of(output: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads((output / "folds.json").read_text())
    return found


def record_of(training: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((training / "record.json").read_text())
    return found


def dev_measure(folder: Path, run: Path, dev: list[str], measure: str) -> float:
    """Return the measure of a run over the dev queries."""
    from longrank.evaluation.measures import evaluate

    qrels = read_qrels(folder / "qrels.txt", Notes())
    (values,) = evaluate({q: qrels[q] for q in dev}, read_run(run, Notes()), [measure]).values()
    return sum(values.values()) / len(dev)


def test_checksums_that_could_not_be_written_are_written_by_the_next_call(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(folder: Path) -> None:
        raise LongRankError(f"cannot write {folder}: Input/output error")

    fold = ("--make-folds", "3", "--fold", "s1")
    with monkeypatch.context() as patch:
        patch.setattr("longrank.training.one_fold.seal_training", refuse)
        assert train(folder, tmp_path / "t", *fold) == 1
    for damaged, exit_code in ((False, 0), (True, 3)):
        if damaged:
            (tmp_path / "t" / "s1" / "test.run").write_text("q00 Q0 d01 1 1.0 t\n")
        assert train(folder, tmp_path / "t", *fold) == exit_code
    assert "test.run: checksum differs" in capsys.readouterr().err


def test_cross_validation_tests_every_query_once_and_says_how_good_it_was(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, tmp_path / "t", "--make-folds", "3") == 0
    said = capsys.readouterr().err
    assert all(f"s{n}: best nDCG@10 on dev 0." in said for n in (1, 2, 3))
    pooled = read_run(tmp_path / "t" / "test.run", Notes())
    assert set(pooled) == set(read_qrels(folder / "qrels.txt", Notes()))
    for name, fold in folds_of(tmp_path / "t").items():
        own = read_run(tmp_path / "t" / name / "test.run", Notes())
        assert {query_id: own[query_id] for query_id in own} == {
            query_id: pooled[query_id] for query_id in fold["test"]
        }


def test_what_the_folds_tested_can_be_weighed_with_the_first_stage(folder: Path, tmp_path: Path) -> None:
    assert train(folder, tmp_path / "t", "--make-folds", "3", sets=("loop.steps=1", "loop.validate_every=1")) == 0
    evidence = [str(tmp_path / "t" / name / "test.run.evidence") for name in ("s1", "s2", "s3")]
    inputs = [str(folder / "qrels.txt"), str(folder / "first.run"), *evidence]
    options = ["--aggregator", "document", "--folds", str(tmp_path / "t" / "folds.json")]
    assert main(["weigh", *inputs, "-o", str(tmp_path / "w"), *options]) == 0
    assert set(read_run(tmp_path / "w" / "run.txt", Notes())) == set(read_run(folder / "first.run", Notes()))


def test_the_measure_on_dev_is_that_of_rerank_with_the_same_settings(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, tmp_path / "t", "--make-folds", "3", "--fold", "s2") == 0
    inputs = [str(folder / name) for name in ("index", "queries.jsonl", "first.run")]
    options = ["--pipeline", "parade-max", "--model", str(tmp_path / "t" / "s2" / "model"), "--depth", "10"]
    sets = ["passages.preset=windows", "passages.options={length=12, stride=8}", "scorer.options.max_tokens=32"]
    options += [word for one in (*sets, "scorer.options.max_query_tokens=8") for word in ("--set", one)]
    assert main(["rerank", *inputs, "-o", str(tmp_path / "r.run"), *options, "--tail", "drop"]) == 0
    assert "was trained with" not in capsys.readouterr().err
    assert main(["rerank", *inputs, "-o", str(tmp_path / "o.run"), *options[:6]]) == 0
    said = capsys.readouterr().err
    assert "was trained with passages 'windows' but reads with 'parade-paper'" in said
    assert "was trained with options {" in said
    assert "was trained with max_query_tokens 8 but reads with " in said
    again = [
        *options[:6],
        *(word for cure in re.findall(r": add (--set .*) to read as", said) for word in shlex.split(cure)),
    ]
    assert main(["rerank", *inputs, "-o", str(tmp_path / "c.run"), *again, "--tail", "drop"]) == 0
    assert "was trained with" not in capsys.readouterr().err
    assert (tmp_path / "c.run").read_bytes() == (tmp_path / "r.run").read_bytes()
    found = dev_measure(folder, tmp_path / "r.run", folds_of(tmp_path / "t")["s2"]["dev"], "nDCG@10")
    assert record_of(tmp_path / "t" / "s2")["best_measure"] == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("network", ["knrm", "parade-max", "parade-transformer", "maxp"])
def test_what_can_be_learned_is_learned(folder: Path, tmp_path: Path, network: str) -> None:
    """The first stage ranks what is relevant last; trained on other queries, the network ranks it first."""
    sets = (f"network.name={network}", "network.dropout=0.0", "validation.measure=RR", "validation.depth=12")
    sets = (*sets, "loop.steps=60", "loop.batch=8", "loop.validate_every=20", "loop.optimizer.learning_rate=0.003")
    sets = (*sets, "read.options.max_passages=16")
    assert train(folder, tmp_path / "t", "--make-folds", "3", "--fold", "s1", sets=sets) == 0
    fold, record = folds_of(tmp_path / "t")["s1"], record_of(tmp_path / "t" / "s1")
    assert dev_measure(folder, folder / "first.run", fold["dev"], "RR") < 0.2
    assert record["best_measure"] == 1.0
    assert dev_measure(folder, tmp_path / "t" / "s1" / "test.run", fold["test"], "RR") > 0.8
    assert record["losses"][-1] < 0.5 * record["losses"][0]


@pytest.mark.slow
def test_interrupted_and_killed_at_any_moment_it_goes_on_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """Interrupted twice, killed while it trains and when the model is there; all files are compared."""
    from training_tasks import contents

    sets = ("loop.steps=150", "loop.validate_every=30", "loop.checkpoint_every=10")
    more = ("--make-folds", "3", "--fold", "s1")
    assert train(folder, tmp_path / "a", *more, sets=sets) == 0
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        before = new(tmp_path, set())
        process = begun(folder, tmp_path / "b", *more, sets=sets)
        wait_for(process, partial(new, tmp_path, before))
        os.kill(process.pid, number)
        process.join(20)
        assert process.exitcode == code
        said = (tmp_path / "stderr").read_text()
        assert "Traceback" not in said
        assert number != signal.SIGINT or said.splitlines()[-1].startswith("longrank: error: interrupted; run the same")
    for waits_for in ("s1/checkpoints/step-00000100", "s1/model"):
        process = begun(folder, tmp_path / "b", *more, sets=sets)
        wait_for(process, (tmp_path / "b" / waits_for).exists)
        process.kill()
        process.join()
    assert not (tmp_path / "b" / "s1" / "test.run").exists()
    assert train(folder, tmp_path / "b", *more, sets=sets) == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def new(folder: Path, before: set[Path]) -> set[Path]:
    """Return the checkpoints of s1 that were not there before."""
    return set(folder.glob("b/s1/checkpoints/step-*")) - before


def begun(folder: Path, output: Path, *more: str, sets: tuple[str, ...]) -> Any:
    """Start a training as a process of its own; what it says goes to `stderr` beside its folder."""
    process = preloaded.context().Process(
        target=hearing_ctrl_c, args=(arguments(folder, output, *more, sets=sets), output.with_name("stderr"))
    )
    process.start()
    return process


def hearing_ctrl_c(words: list[str], said: Path) -> None:
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the process of which this is a fork ignores it
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os._exit(main(words))


def wait_for(process: Any, there: Callable[[], object]) -> None:
    """Wait until something is there, or the process has ended."""
    deadline = time.monotonic() + 250
    while not there() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.002)


def test_the_same_command_again_does_nothing_and_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from longrank.training.updates import Updates
    from training_tasks import contents

    assert train(folder, tmp_path / "t", "--make-folds", "3") == 0
    before = contents(tmp_path / "t")
    monkeypatch.setattr(Updates, "run", lambda self, step: pytest.fail("a step was done"))
    assert train(folder, tmp_path / "t", "--make-folds", "3") == 0
    assert "s3: this training is finished; nothing was done" in capsys.readouterr().err
    assert contents(tmp_path / "t") == before


def test_training_goes_on_from_a_trained_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pre-fine-tuning, then fine-tuning: A's last weights are B's first."""
    from safetensors.numpy import load_file

    (tmp_path / "once.toml").write_text(TRAINING.replace("validate_every = 2\n", ""))
    once = str(tmp_path / "once.toml")
    assert train(folder, tmp_path / "a", training=once) == 0
    model = f"network.model={tmp_path / 'a' / 'model'}"
    still = ("loop.steps=1", "loop.optimizer.learning_rate=1e-30", model)
    assert train(folder, tmp_path / "still", sets=still, training=once) == 0
    assert train(folder, tmp_path / "b", sets=(model,), training=once) == 0
    assert train(folder, tmp_path / "c", "--make-folds", "3", "--fold", "s1", sets=(model,)) == 2
    assert "learned from 4 of the 4 test queries" in capsys.readouterr().err  # A's queries are the folds'
    sets = ("network.name=parade-attn", f"network.model={tmp_path / 'new'}")
    assert main(["create", "parade-attn", "--model", str(tmp_path / "a" / "model"), "-o", str(tmp_path / "new")]) == 0
    assert train(folder, tmp_path / "c", "--make-folds", "3", "--fold", "s1", sets=sets) == 2
    assert "learned from 4 of the 4 test queries" in capsys.readouterr().err  # a new aggregator, the same encoder
    assert not (tmp_path / "c").exists()
    a, same, b = (
        load_file(path / "model" / "model.safetensors") for path in (tmp_path / "a", tmp_path / "still", tmp_path / "b")
    )
    assert all((a[name] == same[name]).all() for name in a)
    assert any((a[name] != b[name]).any() for name in a)


def teacher(folder: Path, path: Path, scores: dict[tuple[str, str], float]) -> Path:
    return write_teacher(path, scores, Index.open(folder / "index"))


def test_a_student_with_fewer_layers_is_distilled_into(folder: Path, tmp_path: Path) -> None:
    from tiny_models import save_document_network

    large = save_document_network(tmp_path / "teacher", "parade-max")
    student = str(tmp_path / "student")
    assert main(["create", "parade-max", "--model", str(large), "--layers", "1", "-o", student]) == 0
    rows = read_run(folder / "first.run", Notes()).rows()
    taught = teacher(folder, tmp_path / "e", {(row.query_id, row.doc_id): row.score for row in rows})
    sets = (f"network.model={student}", f"teacher.evidence={taught}", 'loss=[{name="margin-mse"}]')
    assert train(folder, tmp_path / "t", "--make-folds", "3", "--fold", "s1", sets=sets) == 0
    config = json.loads((tmp_path / "t" / "s1" / "model" / "config.json").read_text())
    assert config["num_hidden_layers"] == 1


def test_a_teacher_that_lacks_a_document_of_the_last_fold_is_refused_before_the_first_begins(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(read_run(folder / "first.run", Notes()).rows())
    folds = make_folds(sorted({row.query_id for row in rows}), 3, 42)
    lacking = folds["s3"].train[0]
    assert lacking not in folds["s1"].train
    scores = {(row.query_id, row.doc_id): row.score for row in rows if row.query_id != lacking}
    sets = (f"teacher.evidence={teacher(folder, tmp_path / 'e', scores)}", 'loss=[{name="margin-mse"}]')
    assert train(folder, tmp_path / "t", "--make-folds", "3", sets=sets) == 2
    assert f"of query '{lacking}', which may be drawn" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
    first = ("--make-folds", "3", "--fold", "s1")  # whose queries it knows
    assert train(folder, tmp_path / "t", *first, sets=sets) == 0


def test_queries_of_one_group_are_never_in_two_parts(folder: Path, tmp_path: Path) -> None:
    assert train(folder, tmp_path / "t", "--make-folds", "3", "--group-by", "topic", "--fold", "s1") == 0
    topics = {}
    for line in (folder / "queries.jsonl").read_text().splitlines():
        row = json.loads(line)
        topics[row["query_id"]] = row["topic"]
    for fold in folds_of(tmp_path / "t").values():
        parts = [{topics[query_id] for query_id in fold[part]} for part in ("train", "dev", "test")]
        assert sum(map(len, parts)) == len(set().union(*parts)) == 6


def test_folds_come_from_a_file_of_any_known_shape(folder: Path, tmp_path: Path) -> None:
    lists = [[f"q{n:02d}" for n in range(k, 12, 3)] for k in range(3)]
    (tmp_path / "anserini.json").write_text(json.dumps(lists))
    assert train(folder, tmp_path / "t", "--folds", str(tmp_path / "anserini.json"), "--fold", "s3") == 0
    assert folds_of(tmp_path / "t")["s3"] == {"train": lists[1], "dev": lists[0], "test": lists[2]}
    assert set(read_run(tmp_path / "t" / "s3" / "test.run", Notes())) == set(lists[2])
    own = tmp_path / "own" / "folds.json"  # in the output folder
    own.parent.mkdir()
    own.write_text(json.dumps(lists))
    assert train(folder, own.parent, "--folds", str(own), "--fold", "s3") == 0
    assert own.read_text() == json.dumps(lists)
    assert (own.parent / "s3/test.run").read_bytes() == (tmp_path / "t/s3/test.run").read_bytes()


PINNED = {
    "cedr": ([0.32255, 0.30641, 0.25435], (2e-5, 1e-3)),
    "dai-callan": ([0.69652, 0.70425, 0.67888], (1e-5, 1e-5)),
    "distillation": ([0.71632, 1.06760, 0.85184], (3e-6, 3e-6)),
    "distillation-paper": ([1.25005, 0.85584, 1.31415], (3e-6, 3e-6)),
    "maxp": ([1.02163, 0.96695, 0.99658], (1e-5, 1e-3 / 8)),
    "parade": ([1.00011, 0.99988, 0.99953], (3e-6 / 1710, 3e-6 / 1710)),
    "parade-standalone": ([0.72264, 0.70546, 0.73315], (3e-6, 3e-6)),
}
"""Losses of the first steps, float32 on a CPU, one thread; learning rates of encoder and head in the first."""
FAST = {
    "cedr": [0.32255, 0.35033, 0.41482],
    "dai-callan": [0.69652, 0.61098, 0.70612],
    "distillation": [0.71632, 0.97523, 0.59498],
    "distillation-paper": [1.25005, 0.89960, 1.30355],
    "maxp": [1.02163, 0.95048, 1.03888],
    "parade": [1.00011, 0.99794, 1.00484],
    "parade-standalone": [0.72264, 0.62856, 0.44436],
}
"""Losses of the first steps with a learning rate of .01."""


@pytest.mark.parametrize("name", sorted(PINNED))
def test_every_shipped_training_runs_with_its_own_numbers_but_for_the_sizes(
    folder: Path, tmp_path: Path, name: str
) -> None:
    lines = first_steps(folder, tmp_path, name)
    losses, rates = PINNED[name]
    assert [line["loss"] for line in lines if "loss" in line] == pytest.approx(losses, abs=1e-4)
    assert (lines[0]["encoder_rate"], lines[0]["head_rate"]) == pytest.approx(rates)


@pytest.mark.parametrize("name", sorted(FAST))
def test_every_shipped_training_learns_if_its_rates_are_high(folder: Path, tmp_path: Path, name: str) -> None:
    """At the papers' own rates three steps change too little for their direction to be seen."""
    rates = ("loop.optimizer.learning_rate=0.01", 'loop.schedule={name="constant"}')
    lines = first_steps(folder, tmp_path, name, *rates)
    assert [line["loss"] for line in lines if "loss" in line] == pytest.approx(FAST[name], abs=1e-4)


def teacher_network(folder: Path) -> Path:
    """Write a PARADE-Transformer of two outputs that says that it was trained."""
    from tiny_models import save_document_network

    save_document_network(folder, outputs=2)
    described = json.loads((folder / "longrank.json").read_text())
    (folder / "longrank.json").write_text(json.dumps({**described, "untrained": False, "record": {"steps": 1}}))
    return folder


def first_steps(folder: Path, work: Path, name: str, *more: str) -> list[dict[str, Any]]:
    """Return the log's lines of a shipped training's first three steps."""
    sets = ("loop.steps=3", "validation.depth=5", "test.depth=5", "read.options.max_passages=16", *more)
    validates = name in {"cedr", "maxp", "parade"}
    sets += ("loop.validate_every=3",) if validates else ()
    if name == "distillation":
        rows = read_run(folder / "first.run", Notes()).rows()
        scores = {(row.query_id, row.doc_id): row.score % 5 - 2 for row in rows}
        sets += (f"teacher.evidence={teacher(folder, work / 'e', scores)}",)
    if name == "distillation-paper":
        sets += (f"teacher.model={teacher_network(work / 'e')}",)
    assert train(folder, work / "t", "--make-folds", "3", "--fold", "s1", sets=sets, training=name) == 0
    lines = [json.loads(line) for line in (work / "t" / "s1" / "log.jsonl").read_text().splitlines()]
    assert ("measure" in lines[-1]) == validates
    return lines


def test_there_is_a_pinned_run_of_every_shipped_training() -> None:
    from longrank.training.settings import DocumentTraining, load_training, shipped_protocols

    names = [name for name in shipped_protocols() if isinstance(load_training(name), DocumentTraining)]
    assert sorted(PINNED) == names


THREE = ("--make-folds", "3")


@pytest.mark.parametrize(
    ("more", "sets", "said"),
    [
        ((), (), "validation needs dev queries that are judged and in the run (got 'no folds'); give --folds or"),
        (("--make-folds", "2"), (), "fold 's1' has no queries to train on; make three folds or more"),
        (("--make-folds", "13"), (), "12 queries can make between 2 and 12 folds (got 13)"),
        (("--fold", "s1"), (), "--fold chooses among folds (got 's1'); give --folds"),
        ((*THREE, "--fold", "s4"), (), "no such fold (got 's4'); one of s1, s2, s3"),
        (("--group-by", "topic"), (), "--group-by belongs to folds that are made (got 'topic')"),
        (("--fold-seed", "7"), (), "--fold-seed belongs to folds that are made (got 7)"),
        ((*THREE, "--group-by", "tpoic"), (), "query 'q00' has no field to group by (got 'tpoic'); fields: text,"),
        ((*THREE, "--folds", "folds.json"), (), "two ways to the same: give one of them"),
        (("--folds", "nowhere.json"), (), "nowhere.json"),
        (THREE, ("samples.kind=pointwise",), "the loss pair-softmax learns from groups of 2 documents"),
        (THREE, ('loss=[{name="mse"}]', "samples.kind=pointwise"), "the loss mse needs a teacher"),
        (THREE, ("teacher.evidence=nowhere",), "no loss learns from the teacher (got 'loss pair-softmax')"),
        (THREE, ('loss=[{name="margin-mse"}]', "teacher.evidence=nowhere"), "nowhere"),
        (THREE, ("network.name=parade-cnn",), "reads at most 16 passages of a document"),
        (THREE, ('loss=[{name="mse"}]', "samples.kind=pointwise", "teacher.evidence=no.e"), "--set teacher.evidence="),
        ((*THREE, "-o", __file__), (), "is a file; a folder is needed"),
        (("-o", __file__), (), "is a file; a folder is needed"),
        (THREE, ("read.max_tokens=64",), "max_tokens must be between 8 and 48"),
        (THREE, ("loop.schedule.name=liner",), "unknown schedule (got 'liner'); did you mean 'linear'"),
        (THREE, ("network.dropuot=0",), "unknown key (got 'network.dropuot'); did you mean 'dropout'?"),
        (THREE, ("judgments={scheme='shallow', rate=0.1}",), "judgments cannot leave one to each of 12 queries"),
        (THREE, ("samples.negatives=model", "samples.model_run=nowhere.run"), "nowhere.run: no such file"),
        (THREE, ("loop.steps",), "--set takes key=value (got 'loop.steps')"),
        (THREE, ("loop.precision=fp16",), "precision fp16 needs a GPU"),
        (THREE, ("validation.measure=INST",), "INST needs a"),
        ((*THREE, "--score-cache", "{new}/cache"), ("network.name=parade-cnn", "network.frozen=true"), "reads at most"),
        ((*THREE, "--score-cache", "{new}/t"), ("network.frozen=true",), "t"),
    ],
)
def test_a_wrong_command_is_one_line_and_nothing_is_written(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    sets: tuple[str, ...],
    said: str,
) -> None:
    assert train(folder, tmp_path / "t", *(one.format(new=tmp_path) for one in more), sets=sets) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("longrank: error")]
    assert len(lines) == 1
    assert said in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_other_settings_or_of_something_else_is_refused_and_left_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from training_tasks import contents

    assert train(folder, tmp_path / "t", *THREE, "--fold", "s1") == 0
    before = contents(tmp_path / "t")
    assert train(folder, tmp_path / "t", *THREE, "--fold", "s1", sets=("loop.optimizer.learning_rate=0.02",)) == 2
    assert "was begun with other loop.optimizer.learning_rate: 0.01 then, 0.02 now" in capsys.readouterr().err
    assert train(folder, tmp_path / "t", *THREE, "--fold-seed", "1") == 2
    assert "was begun with other folds" in capsys.readouterr().err
    assert contents(tmp_path / "t") == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert train(folder, tmp_path / "mine", *THREE) == 2
    assert "is not empty and holds no training" in capsys.readouterr().err
    assert train(folder, folder / "index" / "t", *THREE) == 2
    assert "lies inside an input" in capsys.readouterr().err


@pytest.mark.slow
def test_two_processes_train_and_rerank_and_only_the_first_speaks(folder: Path, tmp_path: Path) -> None:
    from training_tasks import contents

    sets = ("network.dropout=0.0", "loop.steps=6", "network.name=parade-transformer", "read.options.max_passages=16")
    assert train(folder, tmp_path / "one", *THREE, sets=sets) == 0
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "longrank"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    options: dict[str, Any] = {"env": environment, "capture_output": True, "text": True, "timeout": 280}
    done = subprocess.run([*launch, *arguments(folder, tmp_path / "two", *THREE, sets=sets)], check=False, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("s1: best nDCG@10") == 1
    assert set(contents(tmp_path / "one")) == set(contents(tmp_path / "two"))
    for name in ("s1", "s2", "s3"):
        one, two = (record_of(tmp_path / processes / name) for processes in ("one", "two"))
        assert (one["processes"], two["processes"]) == (1, 2)
        assert two["losses"] == pytest.approx(one["losses"], abs=1e-5)
        assert two["best_measure"] == pytest.approx(one["best_measure"])
        runs = [read_run(tmp_path / processes / name / "test.run", Notes()) for processes in ("one", "two")]
        rows = [{(row.query_id, row.doc_id): row.score for row in run.rows()} for run in runs]
        assert rows[1] == pytest.approx(rows[0], abs=0.05)  # Adam enlarges the noise of sums in another order


def test_judged_topics_that_the_query_file_lacks_are_counted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join((folder / "queries.jsonl").read_text().splitlines(keepends=True)[:9]))
    words = arguments(folder, tmp_path / "t", *THREE, "--fold", "s1")
    assert main([str(few) if word.endswith("queries.jsonl") else word for word in words]) == 0
    assert "judged topics that are not among the queries, left out: 3 (first: q09)" in capsys.readouterr().err
