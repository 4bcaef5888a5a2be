"""Commands with models on a disk that fails at any call: one line, nothing half written, the same bytes at the end.

`step`: one of so many calls fails, so that a test takes minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from failing_disks import FailingDisk, check
from longrank.index import Index

pytestmark = [pytest.mark.neural, pytest.mark.slow]

DOCUMENTS = [{"doc_id": f"d{n}", "text": "The king of the river. " * (3 * n + 1)} for n in range(3)]
TRAINING = """
[network]
name = "parade-max"
[[loss]]
name = "pair-softmax"
[loop]
steps = 2
batch = 2
validate_every = 1
checkpoint_every = 1
optimizer = { learning_rate = 0.01 }
[validation]
measure = "nDCG@10"
depth = 10
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sparse_models import save_splade
    from tiny_language_models import save_seq2seq
    from tiny_models import save_cross_encoder, save_encoder

    folder = tmp_path_factory.mktemp("models")
    save_seq2seq(folder / "t5")
    save_encoder(folder / "bert")
    save_splade(folder / "splade")
    save_cross_encoder(folder / "pair")
    return folder


def write_documents(folder: Path) -> None:
    (folder / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))


@pytest.mark.parametrize("step", [3])
def test_interrupted_predictions_end_with_the_same_bytes(disk: FailingDisk, models: Path, step: int) -> None:
    write_documents(disk.before)
    command = f"expand docs.jsonl {models}/t5 -o e.jsonl -n 2 --max-query-tokens 8 --batch 1 --device cpu"
    first, outcomes = disk.outcomes(command, step)
    for outcome in outcomes:
        check(outcome, first)
        assert outcome["left"].get("e.jsonl") in (None, first["after"]["e.jsonl"])


@pytest.mark.parametrize("kind", ["vectors bert", "sparse splade"])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("step", [20])
def test_vectors_are_absent_or_whole(disk: FailingDisk, models: Path, step: int, kind: str, stored: bool) -> None:
    option, model = kind.split()
    index = Index.build([(one["doc_id"], one["text"]) for one in DOCUMENTS], disk.before / "i")
    if stored:  # of other documents, so that they are made again
        from longrank.verbs.index import add_sparse, add_vectors

        (add_vectors if option == "vectors" else add_sparse)(index.path, str(models / model), "windows")
        with Index(index.path).writer() as writer:
            writer.add([("new", "A long war in the north.")])
    first, outcomes = disk.outcomes(f"index --{option} {models}/{model} --passages windows i", step, check="check i")
    for outcome in outcomes:
        check(outcome, first)
        assert outcome["check"] == 0, outcome
        held = {path: digest for path, digest in outcome["left"].items() if f"/{option}/" in path}
        assert stored or held in ({}, {path: first["after"][path] for path in held})


@pytest.mark.parametrize("step", [20])
def test_an_interrupted_training_ends_with_the_same_bytes(disk: FailingDisk, models: Path, step: int) -> None:
    from training_collections import SMALL, command, write_collection

    write_collection(disk.before)
    (disk.before / "t.toml").write_text(TRAINING)
    sets = ("network.model=" + str(models / "bert"), *SMALL, "loop.batch=2")
    words = command(Path(), "t.toml", Path("out"), "--make-folds", "3", "--fold", "s1", sets=sets)
    first, outcomes = disk.outcomes(words, step, check="check out")
    for outcome in outcomes:
        check(outcome, first)


@pytest.mark.parametrize("step", [5])
def test_a_converted_model_is_absent_or_whole(disk: FailingDisk, models: Path, step: int) -> None:
    first, outcomes = disk.outcomes(f"convert {models}/pair -o new", step, check="check new")
    for outcome in outcomes:
        check(outcome, first)
        assert outcome["check"] == (0 if "new/manifest.json" in outcome["left"] else 2), outcome


@pytest.mark.parametrize("step", [40])
def test_a_quantised_model_is_absent_or_whole(
    disk: FailingDisk, models: Path, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("openvino", "nncf"):
        pytest.importorskip(library)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # the float32 graph is exported once
    Index.build([(one["doc_id"], one["text"]) for one in DOCUMENTS], disk.before / "i")
    (disk.before / "q.jsonl").write_text('{"query_id": "q", "text": "the king"}\n')
    command = f"quantize {models}/pair i q.jsonl -o new --pairs 3 --passages windows"
    first, outcomes = disk.outcomes(command, step, check="check new")
    assert any(path.endswith(".bin") for path in first["after"])
    for outcome in outcomes:
        assert outcome["exit"] or outcome["left"] == first["after"], outcome
        check(outcome, first)
        assert outcome["check"] == (0 if "new/manifest.json" in outcome["left"] else 2), outcome
