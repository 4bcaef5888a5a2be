"""Trainings as TOML files: what is shipped, what is refused, what ``--set`` changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.training.settings import load_training, note_unread, shipped_protocols
from longrank.types import Notes

SMALLEST = """
[network]
name = "parade-max"
[[loss]]
name = "hinge"
[loop]
steps = 3
batch = 2
optimizer = { learning_rate = 1e-3 }
"""


@pytest.fixture
def smallest(tmp_path: Path) -> str:
    path = tmp_path / "t.toml"
    path.write_text(SMALLEST)
    return str(path)


@pytest.mark.parametrize("name", shipped_protocols())
def test_every_shipped_training_is_sound_and_says_in_its_first_line_what_it_is(name: str) -> None:
    import longrank.training.settings as module

    assert load_training(name).loop.steps > 100
    lines = (Path(module.__file__).parent / "protocols" / f"{name}.toml").read_text().splitlines()
    assert lines[0].startswith("# ")


def test_the_papers_numbers_are_those_of_the_papers() -> None:
    """Epochs times batches of an epoch; validations every so many epochs; what is reranked."""
    maxp, parade, cedr = map(load_training, ("maxp", "parade", "cedr"))
    assert (maxp.loop.steps, maxp.loop.batch, maxp.loop.validate_every) == (36 * 256, 16, 4 * 256)
    assert (parade.loop.steps, parade.loop.batch, parade.loop.validate_every) == (36 * 4096 // 24, 24, 4096 // 24 + 1)
    assert (cedr.loop.steps, cedr.loop.batch, cedr.loop.validate_every, cedr.loop.patience) == (100 * 32, 16, 32, 20)
    assert [(one.validation.measure, one.validation.depth, one.test.depth) for one in (maxp, parade, cedr)] == [
        ("nDCG@20", 100, None),
        ("nDCG@20", 50, 1000),
        ("P@20", 100, None),
    ]
    standalone, distillation = load_training("parade-standalone"), load_training("distillation")
    assert (standalone.loop.steps, distillation.loop.steps) == (3 * 200 * 1000 // 32, 3 * 200 * 100 // 32)
    dai = load_training("dai-callan")
    assert (dai.loop.steps, dai.samples.keep, dai.test.depth) == (200 * 1000 // 32, 0.1, 100)
    assert [(term.name, term.weight) for term in distillation.loss] == [("cross-entropy", 0.75), ("mse", 0.25)]


def test_a_file_needs_a_network_a_loss_and_a_loop_and_the_rest_has_defaults(smallest: str) -> None:
    found = load_training(smallest)
    assert (found.network.model, found.samples.kind, found.read.max_tokens) == ("minilm", "pairs", 256)
    assert (found.teacher, found.test.depth, found.validation.depth) == (None, None, 100)


def test_set_changes_any_key_and_replaces_a_list_whole(smallest: str) -> None:
    changes = ["samples.kind=pointwise", "network.options={outputs=2}", 'loss=[{name="cross-entropy", weight=0.5}]']
    found = load_training(smallest, changes)
    assert (found.samples.kind, found.network.options, found.loss[0].weight) == ("pointwise", {"outputs": 2}, 0.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("netwrok.name=maxp", "unknown key (got 'netwrok'); did you mean 'network'?"),
        ("network.dropuot=0.1", "unknown key (got 'network.dropuot'); did you mean 'dropout'?"),
        ("loop.optimizer.learnign_rate=0.1", "did you mean 'learning_rate'?"),
        ('loss=[{name="hinge", wieght=2}]', "unknown key (got 'loss.0.wieght'); did you mean 'weight'?"),
        ('teacher={evidence="e", agregator="maxp"}', "did you mean 'aggregator'?"),
        ('teacher={model="m", aggregator="maxp"}', "teacher.aggregator is of teacher.evidence"),
        ("loss=[]", "loss: List should have at least 1 item"),
        ("loop.steps=0", "loop.steps: Input should be greater than or equal to 1 (got 0)"),
        ("loop.steps=2.5", "loop.steps: Input should be a valid integer"),
        ("samples.negatives=modle", "samples.negatives: Input should be 'run', 'random' or 'model'"),
        ("samples.negatives=model", 'negatives = "model" and model_run, the file of its run, belong together'),
        ("samples.model_run=a.run", 'negatives = "model" and model_run, the file of its run, belong together'),
        ("judgments={scheme='depp', rate=0.5}", "judgments.scheme: Input should be 'deep' or 'shallow'"),
        ("judgments={scheme='deep', rate=0}", "judgments.rate: Input should be greater than 0"),
        ("judgments={rate=0.5}", "judgments.scheme: Field required"),
        ("samples.ranks=[1]", "samples.ranks: List should have at least 2 items"),
        ("network.dropout=1.0", "network.dropout: Input should be less than 1"),
        ("loop.patience=3", "patience needs validate_every"),
        ("loop.optimizer.learning_rate=inf", "loop.optimizer.learning_rate: Input should be a finite number"),
        ('loss=[{name="hinge", options={margin=inf}}]', "loss.0.options.margin: Input should be a finite number"),
        ("loop.seed=-1", "loop.seed: Input should be greater than or equal to 0"),
        (f"loop.seed={2**63}", "loop.seed: Input should be less than"),
        ("test.depth=0", "test.depth: Input should be greater than or equal to 1"),
        ("loss.0.weight=2", "'loss' holds a value, not a section"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(smallest: str, change: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        load_training(smallest, [change])
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_unknown_training_is_answered_with_the_nearest_and_a_missing_file_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown training \(got 'prade'\); did you mean 'parade'\?"):
        load_training("prade")
    with pytest.raises(InputError, match=r"mine\.toml: no such file"):
        load_training(str(tmp_path / "mine.toml"))


@pytest.mark.parametrize(
    ("given", "has_folds", "expected"),
    [
        (["validation.measure=RR"], True, "validation.measure has no effect without loop.validate_every"),
        (["validation.depth=5"], False, "validation.depth has no effect without loop.validate_every"),
        (["validation.depth=5"], True, None),  # documents of the test queries, too
        (["validation.depth=5", "loop.validate_every=1"], False, None),
        (["test.depth=5"], False, "test.depth has no effect without folds"),
        (["test.depth=5"], True, None),
        (["test.depth=5", "test.depth="], False, None),
        (["samples.dropped=false"], True, "samples.dropped has no effect without [judgments]"),
        (["samples.dropped=false", "judgments.scheme=deep", "judgments.rate=0.5"], True, None),
        (
            ["samples.depth=9", "samples.negatives=random", "samples.in_run=false"],
            True,
            'samples.depth has no effect with samples.negatives = "random" and samples.in_run = false',
        ),
        (["samples.depth=9", "samples.negatives=random"], True, None),
        (
            ["network.frozen=true", "loop.optimizer.learning_rate=1", "loop.optimizer.head_learning_rate=1"],
            True,
            "loop.optimizer.learning_rate has no effect with network.frozen and head_learning_rate",
        ),
    ],
)
def test_settings_that_nothing_reads_are_noted(
    given: list[str], has_folds: bool, expected: str | None, smallest: str
) -> None:
    notes = Notes()
    note_unread(load_training(smallest, given), given, has_folds, notes)
    assert notes.lines() == ([] if expected is None else [expected])
