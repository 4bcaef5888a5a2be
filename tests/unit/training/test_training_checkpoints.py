"""Checkpoints: what they hold, which is used, and what of them is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longrank.errors import IntegrityError
from longrank.types import Notes

pytestmark = pytest.mark.neural

TENSORS = ("best.safetensors", "optimizer.safetensors", "weights.safetensors")
FILES = (*TENSORS, "log.jsonl", "position.json", "manifest.json")


def task_after_a_step() -> tuple[Any, Any]:
    from longrank.training.updates import make_optimizer
    from training_tasks import Pairs, settings

    task = Pairs()
    optimizer = make_optimizer(task.network, settings().optimizer)
    task.loss(range(4)).backward()
    optimizer.step()
    return task, optimizer


def checkpoint(step: int, task: Any, optimizer: Any) -> Any:
    from longrank.training import checkpoints

    weights = checkpoints.weights_of(task.network)
    position = checkpoints.Position(step, best_step=1, best_measure=0.1 + 0.2, waited=2, scaler={"scale": 65536.0})
    state = checkpoints.optimizer_state(task.network, optimizer)
    return checkpoints.Checkpoint(position, weights, state, weights, '{"step": 1}\n')


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    import torch

    from longrank.training import checkpoints
    from longrank.training.updates import make_optimizer
    from training_tasks import Pairs, settings

    task, optimizer = task_after_a_step()
    saved = checkpoint(7, task, optimizer)
    found = checkpoints.load(checkpoints.save(tmp_path, saved))
    assert (found.position, found.log) == (saved.position, saved.log)
    other = Pairs(seed=8)
    fresh = make_optimizer(other.network, settings().optimizer)
    checkpoints.set_weights(other.network, found.weights)
    checkpoints.set_optimizer_state(other.network, fresh, found.optimizer)
    for one, two in zip(task.network.parameters(), other.network.parameters(), strict=True):
        assert torch.equal(one, two)
        before, after = optimizer.state.get(one, {}), fresh.state.get(two, {})
        assert before.keys() == after.keys()
        assert all(torch.equal(before[key], after[key]) for key in before)


def test_there_is_no_pickle_and_no_best_before_the_first_validation(tmp_path: Path) -> None:
    from longrank.training import checkpoints

    saved = checkpoint(1, *task_after_a_step())
    assert names(checkpoints.save(tmp_path, saved)) == sorted(FILES)
    place = checkpoints.save(tmp_path, saved._replace(position=checkpoints.Position(2), best=None))
    assert names(place) == sorted({*FILES} - {"best.safetensors"})
    assert checkpoints.load(place).best is None


def test_frozen_parameters_are_left_out_and_tied_ones_are_kept_once() -> None:
    import torch

    from longrank.training import checkpoints

    network = torch.nn.ModuleDict({name: torch.nn.Linear(3, 3, bias=False) for name in ("a", "b", "c")})
    network["b"].weight = network["a"].weight
    network["c"].requires_grad_(False)
    weights = checkpoints.weights_of(network)
    assert weights.keys() == {"a.weight"}
    checkpoints.set_weights(network, {"a.weight": torch.ones(3, 3)})
    assert torch.equal(network["b"].weight, torch.ones(3, 3))


def test_weights_of_another_network_are_refused() -> None:
    import torch

    from longrank.training import checkpoints

    weights = checkpoints.weights_of(torch.nn.Linear(3, 2))
    with pytest.raises(IntegrityError, match="another network"):
        checkpoints.set_weights(torch.nn.Linear(2, 2), weights)


def test_two_are_kept(tmp_path: Path) -> None:
    from longrank.training import checkpoints

    made = task_after_a_step()
    for step in (5, 20, 100):
        checkpoints.save(tmp_path, checkpoint(step, *made))
    assert names(tmp_path) == ["step-00000020", "step-00000100"]
    notes = Notes()
    found = checkpoints.newest(tmp_path, notes)
    assert found is not None
    assert found.name == "step-00000100"
    assert notes.lines() == []


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])


@pytest.mark.parametrize("how", ["missing", "cut", "empty", "one bit"])
@pytest.mark.parametrize("name", FILES)
def test_of_a_damaged_checkpoint_the_one_before_is_used_and_that_is_said(tmp_path: Path, name: str, how: str) -> None:
    from longrank.training import checkpoints

    made = task_after_a_step()
    for step in (1, 2):
        checkpoints.save(tmp_path, checkpoint(step, *made))
    damage(tmp_path / "step-00000002" / name, how)
    notes = Notes()
    used = checkpoints.newest(tmp_path, notes)
    assert used == tmp_path / "step-00000001"
    [line] = notes.lines()
    assert line.startswith("damaged checkpoints, not used: 1 (first: ")
    assert "step-00000002" in line
    checkpoints.clean(tmp_path, used)
    assert names(tmp_path) == ["step-00000001"]


def test_if_all_are_damaged_the_training_begins_afresh(tmp_path: Path) -> None:
    from longrank.training import checkpoints

    place = checkpoints.save(tmp_path, checkpoint(1, *task_after_a_step()))
    damage(place / "weights.safetensors", "cut")
    notes = Notes()
    assert checkpoints.newest(tmp_path, notes) is None
    assert len(notes.lines()) == 1


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    from longrank.training import checkpoints

    half = tmp_path / ".step-00000003.abc.tmp" / "new"
    half.mkdir(parents=True)
    (half / "weights.safetensors").write_bytes(b"half")
    assert checkpoints.newest(tmp_path, Notes()) is None
    checkpoints.clean(tmp_path, None)
    assert names(tmp_path) == []
