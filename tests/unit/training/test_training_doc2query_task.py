"""What doc2query learns: losses of transformers' own forward pass, which examples are left out, what is saved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.training.passage_data.examples import Example, group
from longrank.training.settings import PassageTraining, load_training
from longrank.types import Notes
from passage_trainings import check_resumed, losses, samples, settings, trained
from tiny_language_models import save_seq2seq

pytestmark = pytest.mark.neural

EXAMPLES = [
    Example("what is a river", ("a river is water",), (1.0,)),
    Example("money", ("the dog jumps over the fox and the king of the long river",), (0.0,)),
    group("money", ["the bank of a river", "the dog jumps", "a fox"]),
    Example("who was the king", ("the king in the north",), (1.0,)),
]
RELEVANT = [EXAMPLES[i] for i in (0, 2, 3)]


@pytest.fixture(scope="module", params=["T5", "Bart"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_seq2seq(tmp_path_factory.mktemp("doc2query") / "tiny", request.param)


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_seq2seq(tmp_path_factory.mktemp("doc2query") / "t5")


def opened(
    folder: Path,
    found: PassageTraining,
    examples: Sequence[Example] = EXAMPLES,
    dev: Sequence[Example] = (),
    notes: Notes | None = None,
) -> Any:
    from longrank.training.doc2query_task import Doc2QueryTask

    return Doc2QueryTask(found, samples(folder, examples), dev, notes or Notes())


def their_loss(model: Path, query: str, text: str) -> float:
    """Return transformers' own loss for one text, its inputs cut by its own tokenizer."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    network = AutoModelForSeq2SeqLM.from_pretrained(str(model)).eval()
    tokenizer = AutoTokenizer.from_pretrained(str(model))
    read = tokenizer(text, truncation=True, max_length=32, return_tensors="pt")
    labels = tokenizer(text_target=query, truncation=True, max_length=10, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        return float(network(**read, labels=labels).loss)


def short(model: Path, **sections: Any) -> PassageTraining:
    read = {"max_tokens": 32, "max_query_tokens": 10}
    return settings("doc2query", model, **{"read": read, **sections})


def test_the_loss_of_a_query_is_transformers_own(tmp_path: Path, model: Path) -> None:
    long = Example("what is " * 30, ("a river is water " * 30,), (1.0,))
    task = opened(tmp_path, short(model), [long, *EXAMPLES])
    for n in range(4):
        one = task._examples[n]
        expected = their_loss(model, one.query, one.texts[0])
        assert float(task.loss([n]).detach()) == pytest.approx(expected, abs=1e-5)


def test_every_query_counts_alike_however_the_batch_is_divided(tmp_path: Path, model: Path) -> None:
    task = opened(tmp_path, short(model))
    alone = [float(task.loss([n]).detach()) for n in range(3)]
    assert np.ptp(alone) > 0.01
    assert float(task.loss(range(3)).detach()) == pytest.approx(np.mean(alone), abs=1e-5)


def test_only_relevant_texts_are_learned_from_each_once_a_pass(tmp_path: Path, t5: Path) -> None:
    notes = Notes()
    learned = opened(tmp_path, short(t5), notes=notes)._examples
    assert len(learned) == 3
    for turn in (0, 1, 5):
        assert sorted(learned[n] for n in range(3 * turn, 3 * turn + 3)) == sorted(RELEVANT)
    assert notes["examples with label 0, not learned from"] == 1


def test_validation_is_minus_the_mean_loss_of_the_relevant_development_examples(tmp_path: Path, t5: Path) -> None:
    notes = Notes()
    task = opened(tmp_path, short(t5, validation={"measure": "-loss"}), EXAMPLES[:1], EXAMPLES, notes)
    expected = np.mean([their_loss(t5, one.query, one.texts[0]) for one in RELEVANT])
    assert task.validate() == pytest.approx(-expected, abs=1e-5)
    assert notes["development examples with label 0, left out"] == 1


def test_what_is_saved_is_a_model_of_transformers(tmp_path: Path, model: Path) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    loop = {"steps": 3, "validate_every": 3}
    record = trained(short(model, loop=loop, validation={"measure": "-loss"}), tmp_path, EXAMPLES, EXAMPLES)
    saved = tmp_path / "out" / "model"
    assert record["best_measure"] == pytest.approx(
        -np.mean([their_loss(saved, one.query, one.texts[0]) for one in RELEVANT]), abs=1e-5
    )
    assert json.loads((saved / "training.json").read_text())["best_measure"] == record["best_measure"]
    weights, others = (saved / "model.safetensors"), (saved / "config.json")
    assert weights.stat().st_mode == others.stat().st_mode
    network, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(saved), AutoTokenizer.from_pretrained(saved)
    with torch.no_grad():
        written = network.generate(**tokenizer("the river", return_tensors="pt"), max_new_tokens=5, do_sample=False)
    assert written.shape[1] > 1


def test_what_can_be_learned_is_learned(tmp_path: Path, t5: Path) -> None:
    loop = {"steps": 60, "batch": 3, "optimizer": {"learning_rate": 0.01}}
    record = trained(short(t5, loop=loop), tmp_path, EXAMPLES)
    assert record["losses"][-1] < 0.2 * record["losses"][0]


def test_what_is_cut_is_counted_once(tmp_path: Path, t5: Path) -> None:
    notes = Notes()
    task = opened(tmp_path, short(t5), [Example("king " * 40, ("river " * 40,), (1.0,)), *EXAMPLES], notes=notes)
    for _ in range(2):
        task.loss(range(4))
    assert (notes["texts cut at 32 tokens"], notes["queries cut at 10 tokens"]) == (1, 1)


def test_writing_that_fails_costs_no_byte(tmp_path: Path, t5: Path) -> None:
    loop = {"steps": 4, "validate_every": 2, "checkpoint_every": 1}
    found = short(t5, loop=loop, network={"dropout": 0.1}, validation={"measure": "-loss"})
    check_resumed(tmp_path, lambda folder: trained(found, folder, EXAMPLES, EXAMPLES), [3, 9, 20, 30])


@pytest.mark.parametrize(
    ("sections", "examples", "said"),
    [
        ({"loss": [{"name": "lce"}]}, EXAMPLES, r"has its own loss.*leave \[\[loss\]\] out"),
        ({"network": {"outputs": 2}}, EXAMPLES, "has no outputs to choose"),
        ({"read": {"max_query_tokens": 7}}, EXAMPLES, r"read.max_query_tokens must be 8 or more \(got 7\)"),
        ({"read": {"max_tokens": 64}}, EXAMPLES, "max_tokens must be between 8 and 48"),
        ({}, EXAMPLES[1:2], "examples.jsonl: no example has a relevant text"),
        ({"network": {"model": "nowhere"}}, EXAMPLES, "nowhere"),
    ],
)
def test_what_doc2query_cannot_learn_from_is_refused(
    tmp_path: Path, t5: Path, sections: dict[str, Any], examples: list[Example], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        opened(tmp_path, settings("doc2query", t5, **sections), examples)


def test_another_measure_and_development_examples_without_a_relevant_text_are_refused(tmp_path: Path, t5: Path) -> None:
    with pytest.raises(InputError, match=r'validation.measure = RR@10.\); set validation.measure = "-loss"'):
        opened(tmp_path, short(t5), EXAMPLES, EXAMPLES)
    with pytest.raises(InputError, match="the development examples have no relevant text"):
        opened(tmp_path, short(t5, validation={"measure": "-loss"}), EXAMPLES, EXAMPLES[1:2])


def test_an_encoder_is_refused(tmp_path: Path) -> None:
    from tiny_models import save_encoder

    with pytest.raises(InputError, match="is not a sequence-to-sequence model"):
        opened(tmp_path, short(save_encoder(tmp_path / "m")))


def test_a_folder_without_the_tokenizers_files_is_refused(tmp_path: Path, t5: Path) -> None:
    shutil.copytree(t5, tmp_path / "m", ignore=shutil.ignore_patterns("tokenizer*"))
    with pytest.raises(InputError, match="m: the model's tokenizer knows no words: its files are missing"):
        opened(tmp_path, short(tmp_path / "m"))


def test_the_papers_steps_are_two_epochs_of_ms_marco() -> None:
    found = load_training("doc2query")
    assert found.loop.steps * found.loop.batch / 532_751 == pytest.approx(2, abs=0.1)
    assert (found.read.max_tokens, found.read.max_query_tokens) == (512, 64)


def test_the_protocol_keeps_its_trajectory(tmp_path: Path, t5: Path) -> None:
    small = [f"network.model={t5}", "network.dropout=0.0", "read.max_tokens=32", "loop.steps=4", "loop.batch=4"]
    trained(load_training("doc2query", [*small, "loop.optimizer.learning_rate=0.01"]), tmp_path, EXAMPLES)
    assert losses(tmp_path) == pytest.approx([4.88338, 4.59199, 4.54891, 4.37002], abs=1e-4)
