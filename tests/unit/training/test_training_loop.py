"""The loop: which instances are seen, trajectories, validation, what is refused, and what is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError, IntegrityError, LongRankError, MissingExtra
from longrank.types import Notes

pytestmark = pytest.mark.neural


def run(folder: Path, task: Any = None, **changes: Any) -> dict[str, Any]:
    from longrank.training.loop import train
    from training_tasks import Pairs, settings

    more = {key: changes.pop(key) for key in ("run", "progress", "notes", "tensorboard") if key in changes}
    return train(task or Pairs(0.0), settings(**changes), folder, **more)


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def losses(folder: Path) -> list[float]:
    return [line["loss"] for line in log(folder) if "loss" in line]


class Measures:
    """A task whose measures are given, and whose loss can be changed."""

    def __init__(self, *measures: float, loss: Callable[[Any], Any] = lambda found: found) -> None:
        from training_tasks import Pairs

        self._task, self._measures, self._loss = Pairs(0.0), list(measures), loss
        self.network, self.save = self._task.network, self._task.save
        self.weights: list[Any] = []  # at each validation

    def loss(self, instances: Any) -> Any:
        return self._loss(self._task.loss(instances))

    def validate(self) -> float:
        self.weights.append(self.network.head.weight.detach().clone())
        return self._measures.pop(0)


@pytest.fixture(scope="module")
def one_process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training with 7 instances a step and no dropout."""
    folder = tmp_path_factory.mktemp("one") / "t"
    run(folder, batch=7)
    return folder


def test_step_t_sees_the_instances_of_its_number_in_micro_batches(tmp_path: Path) -> None:
    from training_tasks import Pairs

    task = Pairs()
    run(tmp_path / "t", task, batch=5, micro_batch=2, steps=2)
    assert task.seen == [[0, 1], [2, 3], [4], [5, 6], [7, 8], [9]]


@pytest.mark.parametrize("micro_batch", [1, 3])
def test_the_size_of_micro_batches_does_not_change_the_trajectory(
    tmp_path: Path, one_process: Path, micro_batch: int
) -> None:
    run(tmp_path / "t", batch=7, micro_batch=micro_batch)
    assert losses(tmp_path / "t") == pytest.approx(losses(one_process), abs=1e-5)


@pytest.mark.parametrize("micro_batch", [None, 2])
def test_two_processes_have_the_trajectory_of_one(tmp_path: Path, one_process: Path, micro_batch: int | None) -> None:
    from training_tasks import Processes, together

    assert together(2, tmp_path / "t", Processes(), dropout=0.0, batch=7, micro_batch=micro_batch) == [0, 0]
    assert json.loads((tmp_path / "t" / "record.json").read_text())["processes"] == 2
    assert losses(tmp_path / "t") == pytest.approx(losses(one_process), abs=1e-5)
    assert [line["measure"] for line in log(tmp_path / "t") if "measure" in line] == pytest.approx(
        [line["measure"] for line in log(one_process) if "measure" in line]
    )


def test_two_processes_resume_to_the_same_bytes(tmp_path: Path) -> None:
    from training_tasks import Processes, contents, together

    processes = Processes()
    assert together(2, tmp_path / "a", processes, steps=4) == [0, 0]
    assert 0 not in together(2, tmp_path / "b", processes, steps=4, fail_at=25)
    assert together(2, tmp_path / "b", processes, steps=4) == [0, 0]
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.slow  # three processes import PyTorch; what they train is tested above
def test_under_torchrun_two_processes_have_the_trajectory_of_one(tmp_path: Path, one_process: Path) -> None:
    script = Path(sys.modules["training_tasks"].__file__ or "")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, str(tmp_path / "t")], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((tmp_path / "t" / "record.json").read_text())["processes"] == 2
    assert losses(tmp_path / "t") == pytest.approx(losses(one_process), abs=1e-5)


def test_the_loss_falls(tmp_path: Path) -> None:
    record = run(tmp_path / "t", steps=100, batch=16)
    assert record["losses"][-1] < 0.6 * record["losses"][0]
    assert record["best_measure"] > 0.75


def test_what_is_drawn_depends_on_seed_and_step_alone_and_the_callers_random_state_stays(tmp_path: Path) -> None:
    import torch

    from training_tasks import Pairs

    states = []
    for name, seed in (("a", 1), ("b", 2)):
        task = Pairs(dropout=0.5)
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        run(tmp_path / name, task, steps=3)
        assert torch.equal(torch.get_rng_state(), before)
        states.append(losses(tmp_path / name))
    run(tmp_path / "c", Pairs(dropout=0.5), steps=3, seed=4)
    assert states[0] == states[1] != losses(tmp_path / "c")


def test_the_best_weights_are_kept_and_of_equal_ones_the_first(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    task = Measures(0.2, 0.6, 0.6, 0.5)
    record = run(tmp_path / "t", task, steps=8, validate_every=2)
    assert (record["best_step"], record["best_measure"]) == (4, 0.6)
    assert record["validations"] == [[2, 0.2], [4, 0.6], [6, 0.6], [8, 0.5]]
    kept = load_file(tmp_path / "t" / "model" / "model.safetensors")["head.weight"]
    assert torch.equal(kept, task.weights[1])
    assert torch.equal(task.network.head.weight, kept)
    assert not task.network.training


def test_without_validation_the_last_weights_are_kept(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    task = Measures()
    record = run(tmp_path / "t", task, validate_every=None)
    assert (record["best_step"], record["best_measure"], record["validations"]) == (None, None, [])
    kept = load_file(tmp_path / "t" / "model" / "model.safetensors")["head.weight"]
    assert torch.equal(kept, task.network.head.weight)


def test_training_ends_when_patience_does(tmp_path: Path) -> None:
    record = run(tmp_path / "t", Measures(0.2, 0.6, 0.6, 0.5, 0.9), steps=20, validate_every=2, patience=2)
    assert (record["steps"], record["best_step"]) == (8, 4)


def test_the_last_step_is_validated_whatever_its_number(tmp_path: Path) -> None:
    record = run(tmp_path / "t", Measures(0.1, 0.2), steps=5, validate_every=4)
    assert record["validations"] == [[4, 0.1], [5, 0.2]]


def test_a_finished_training_asked_again_does_nothing_and_says_so(tmp_path: Path) -> None:
    from training_tasks import Pairs, contents

    record = run(tmp_path / "t")
    before, notes, task, done = contents(tmp_path / "t"), Notes(), Pairs(), []
    assert run(tmp_path / "t", task, notes=notes, progress=done.append) == record
    assert (task.seen, done) == ([], [])
    assert contents(tmp_path / "t") == before
    assert notes.lines() == [f"{tmp_path / 't'}: this training is finished; nothing was done"]


def interrupted(folder: Path, task: Any = None, **changes: Any) -> None:
    """Begin a training that fails after its checkpoint of step 3."""

    class Failed(Exception):
        pass

    def failing(n: int) -> None:
        nonlocal steps
        steps += n
        if steps == 4:
            raise Failed

    steps = 0
    with pytest.raises(Failed):
        run(folder, task, progress=failing, **changes)


def test_settings_that_are_written_otherwise_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    interrupted(tmp_path / "t", run={"samples": {"share": 1}})
    assert run(tmp_path / "t", run={"samples": {"share": 1.0}})["steps"] == 12


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    interrupted(tmp_path / "a")
    interrupted(tmp_path / "b", run={"data": {"sha256": "b"}})
    (tmp_path / "a" / "checkpoints").rename(tmp_path / "swapped")
    (tmp_path / "b" / "checkpoints").rename(tmp_path / "a" / "checkpoints")
    with pytest.raises(IntegrityError, match=r"a/checkpoints/step-\d+: is a checkpoint of another training"):
        run(tmp_path / "a")
    assert (tmp_path / "a" / "checkpoints").exists()


def test_a_resumed_training_says_how_far_it_is_and_does_only_the_rest(tmp_path: Path) -> None:
    from training_tasks import Pairs

    interrupted(tmp_path / "t")
    done: list[int] = []
    task = Pairs(0.0)
    run(tmp_path / "t", task, progress=done.append)
    assert done == [3] + [1] * 9
    assert task.seen[0] == list(range(18, 24))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"seed": 4}, "was begun with other loop.seed: 3 then, 4 now"),
        (
            {"optimizer": {"learning_rate": 0.5}},
            "was begun with other loop.optimizer.learning_rate: 0.01 then",
        ),
        ({"run": {"data": {"sha256": "b"}}}, 'was begun with other run.data.sha256: "a" then, "b" now'),
        ({"schedule": {"name": "constant"}}, "was begun with other loop.schedule.name"),
    ],
)
def test_a_training_is_not_resumed_with_other_settings(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    interrupted(tmp_path / "t", run={"data": {"sha256": "a"}})
    with pytest.raises(InputError) as caught:
        run(tmp_path / "t", **{"run": {"data": {"sha256": "a"}}, **changes})
    assert says in str(caught.value)
    assert "give the old settings to resume, or choose a new folder" in str(caught.value)


def test_how_often_checkpoints_are_written_may_change(tmp_path: Path) -> None:
    from training_tasks import contents

    run(tmp_path / "a")
    interrupted(tmp_path / "b")
    run(tmp_path / "b", checkpoint_every=1)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_damaged_checkpoint_costs_its_steps_and_is_noted(tmp_path: Path) -> None:
    from training_tasks import contents

    run(tmp_path / "a")
    interrupted(tmp_path / "b", checkpoint_every=1)
    (tmp_path / "b" / "checkpoints" / "step-00000004" / "weights.safetensors").write_bytes(b"")
    done: list[int] = []
    notes = Notes()
    run(tmp_path / "b", notes=notes, progress=done.append, checkpoint_every=1)
    assert done[0] == 3
    assert notes["damaged checkpoints, not used"] == 1
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_training_of_another_network_names_its_checkpoint_and_the_cure(tmp_path: Path) -> None:
    import torch

    from training_tasks import Pairs

    interrupted(tmp_path / "t")
    task = Pairs(0.0)
    task.network.more = torch.nn.Linear(2, 2)
    with pytest.raises(IntegrityError) as caught:
        run(tmp_path / "t", task)
    cure = "another version of LongRank began this training; train in a new folder"
    assert str(caught.value) == (
        f"{tmp_path / 't' / 'checkpoints' / 'step-00000003'}: the weights are of another network ({cure})"
    )


def test_the_log_goes_on_where_the_checkpoint_was(tmp_path: Path) -> None:
    interrupted(tmp_path / "t")
    assert [line["step"] for line in log(tmp_path / "t")] == [1, 2, 3, 4]
    run(tmp_path / "t")
    assert [line["step"] for line in log(tmp_path / "t") if "loss" in line] == list(range(1, 13))


def test_a_folder_holds_no_more_than_it_must_when_the_training_is_finished(tmp_path: Path) -> None:
    record = run(tmp_path / "t", run={"data": "d"})
    names = ["log.jsonl", "manifest.json", "model", "record.json", "run.json"]
    assert sorted(p.name for p in (tmp_path / "t").iterdir()) == names
    assert json.loads((tmp_path / "t" / "record.json").read_text()) == record
    assert json.loads((tmp_path / "t" / "model" / "record.json").read_text()) == record
    assert record["run"] == {"data": "d"}
    assert (record["steps"], record["processes"], len(record["losses"])) == (12, 1, 10)
    assert str(tmp_path) not in json.dumps(record)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match="is not empty and holds no training"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_two_trainings_do_not_write_one_folder(tmp_path: Path) -> None:
    from longrank.training.run_folder import begun
    from training_tasks import settings

    with (
        begun(tmp_path / "t", {"settings": settings().identity(), "run": {}, "processes": 1}),
        pytest.raises(InputError, match="is being written by pid"),
    ):
        run(tmp_path / "t")


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_an_error_naming_its_instances(tmp_path: Path, wrong: float) -> None:
    task = Measures(loss=lambda found: found * wrong)
    with pytest.raises(LongRankError, match=r"the loss of step 1 \(instances 0 to 5\) is not a finite number"):
        run(tmp_path / "t", task)


def test_a_gradient_that_is_not_finite_is_an_error_before_weights_change(tmp_path: Path) -> None:
    """The gradient of sqrt(x) at 0 is infinite, that of sqrt(0 x) is NaN."""
    import torch

    task = Measures(loss=lambda found: found + torch.sqrt(found * 0))
    before = task.network.head.weight.detach().clone()
    with pytest.raises(LongRankError, match=r"the gradient of step 1 \(instances 0 to 5\) is not finite"):
        run(tmp_path / "t", task, schedule={"name": "constant"})
    assert torch.equal(task.network.head.weight, before)


def test_the_scale_of_half_precision_losses_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU, where the loop refuses fp16 for its slowness. A factor of 2^6 makes the first gradients overflow."""
    from longrank.training import loop
    from training_tasks import contents

    monkeypatch.setattr(loop, "check_possible", lambda *_: None)
    half: dict[str, Any] = {"precision": "fp16", "run": {}}

    def task() -> Measures:
        return Measures(*[0.1] * 9, loss=lambda found: found * 2.0**6)

    run(tmp_path / "a", task(), **half)
    interrupted(tmp_path / "b", task(), **half)
    run(tmp_path / "b", task(), **half)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    norms = [line["gradient_norm"] for line in log(tmp_path / "a") if "loss" in line]
    assert norms[0] is None
    assert norms[-1] is not None


def test_a_measure_that_is_not_finite_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LongRankError, match="the measure after step 5 is not a finite number"):
        run(tmp_path / "t", Measures(float("nan")))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"precision": "fp16"}, "precision fp16 needs a GPU"),
        ({"gradient_checkpointing": True}, "the network has no gradient checkpointing"),
        ({"schedule": {"name": "maxp"}}, "epoch_steps: Field required"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    import torch

    if torch.cuda.is_available() and "precision" in changes:
        pytest.skip("there is a GPU")
    with pytest.raises(InputError) as caught:
        run(tmp_path / "t", **changes)
    assert says in str(caught.value)
    assert not (tmp_path / "t").exists()  # or the right settings would be others than it was begun with


def test_what_this_machine_cannot_do_does_not_begin_a_folder(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match="precision fp16 needs a GPU"):
        run(tmp_path / "t", precision="fp16")
    run(tmp_path / "t")  # the same folder, other settings


def test_gradients_are_shortened_to_the_clip(tmp_path: Path) -> None:
    """With plain Adam the update hides the gradient's length, so the gradients themselves are looked at."""
    from longrank.training.ranks import Ranks
    from longrank.training.updates import Updates
    from training_tasks import Pairs, settings

    lengths = {}
    for clip in (None, 0.25):
        task = Pairs(0.0)
        updates = Updates(task, settings(clip=clip), Ranks())
        step = updates.run(0)
        squares = [float(v.grad.square().sum()) for v in task.network.parameters() if v.grad is not None]
        lengths[clip] = sum(squares) ** 0.5
        assert step.gradient_norm == pytest.approx(lengths[None])
    assert lengths[0.25] == pytest.approx(0.25, rel=1e-4)


def test_tensorboards_log_without_its_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtra, match="needs the extra 'tensorboard'"):
        run(tmp_path / "t", tensorboard=True)


def test_tensorboard_gets_what_the_log_has_and_forgets_what_was_done_again(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    interrupted(tmp_path / "t", tensorboard=True)
    run(tmp_path / "t", tensorboard=True)
    events = EventAccumulator(str(tmp_path / "t" / "tensorboard")).Reload()
    for name in ("loss", "gradient_norm", "encoder_rate", "head_rate", "measure"):
        wanted = [(line["step"], line[name]) for line in log(tmp_path / "t") if name in line]
        found = [(event.step, event.value) for event in events.Scalars(name)]
        assert [step for step, _ in found] == [step for step, _ in wanted]
        assert [value for _, value in found] == pytest.approx([value for _, value in wanted])
