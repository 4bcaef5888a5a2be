"""Killed at any moment and resumed, a training ends with the bytes of an undisturbed one."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import LongRankError
from power_cuts import PowerCuts
from slow_values import slow

pytestmark = pytest.mark.neural

SHORT: dict[str, Any] = {"steps": 4, "validate_every": 3, "checkpoint_every": 2}  # saves after 2, 3 and 4 steps
LONG: dict[str, Any] = {"steps": 60, "validate_every": 7, "checkpoint_every": 3}


@pytest.fixture(scope="module")
def processes() -> Any:
    from training_tasks import Processes

    return Processes()


@pytest.fixture(scope="module")
def undisturbed_long(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return straight(tmp_path_factory.mktemp("undisturbed") / "t", **LONG)


@pytest.fixture(scope="module")
def undisturbed_short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return straight(tmp_path_factory.mktemp("undisturbed") / "t", **SHORT)


def straight(folder: Path, **changes: Any) -> dict[str, bytes]:
    from training_tasks import contents, trained

    trained(folder, **changes)
    return contents(folder)


def test_the_record_vouches_for_weights_and_optimizer(undisturbed_short: dict[str, bytes]) -> None:
    """So that comparing folders below compares those of the last step, too, though the best step's model is kept."""
    import json

    assert {"weights", "optimizer"} == json.loads(undisturbed_short["record.json"])["last"].keys()


def killed_at_random(folder: Path, processes: Any, kills: int, seed: int) -> None:
    """Train in processes that are killed after random times, this often before the end is reached; then to the end."""
    from training_tasks import trained

    draw = random.Random(seed)
    for _ in range(kills):
        process = processes.start(folder, slow=0.05, **LONG)
        time.sleep(draw.uniform(0.1, 0.5))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    trained(folder, **LONG)


def test_killed_at_random_moments_a_training_is_what_it_would_have_been(
    tmp_path: Path, processes: Any, undisturbed_long: dict[str, bytes]
) -> None:
    from training_tasks import contents

    killed_at_random(tmp_path / "t", processes, 3, seed=1)
    assert contents(tmp_path / "t") == undisturbed_long


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_killed_ten_times_at_random_moments_a_training_is_what_it_would_have_been(
    tmp_path: Path, processes: Any, undisturbed_long: dict[str, bytes], seed: int
) -> None:
    from training_tasks import contents

    killed_at_random(tmp_path / "t", processes, 10, seed=seed)
    assert contents(tmp_path / "t") == undisturbed_long


def killed_at_call(folder: Path, processes: Any, n: int) -> bool:
    """Train in a process that is killed at the n-th call that writes, then to the end; return whether it was killed."""
    from training_tasks import trained

    code = processes.run(folder, n, **SHORT)
    assert code in {0, -signal.SIGKILL}
    trained(folder, **SHORT)
    return bool(code)


@pytest.mark.parametrize("n", [1, 5, 9, 14, 22, 33, 41])
def test_killed_while_writing_a_training_is_what_it_would_have_been(
    tmp_path: Path, processes: Any, undisturbed_short: dict[str, bytes], n: int
) -> None:
    from training_tasks import contents

    assert killed_at_call(tmp_path / "t", processes, n)
    assert contents(tmp_path / "t") == undisturbed_short


@pytest.mark.slow
def test_killed_at_every_call_that_writes_a_training_is_what_it_would_have_been(
    tmp_path: Path, processes: Any, undisturbed_short: dict[str, bytes]
) -> None:
    from training_tasks import contents

    n = 1
    while killed_at_call(tmp_path / f"{n}", processes, n):
        assert contents(tmp_path / f"{n}") == undisturbed_short, n
        n += 1
    assert n > 40


def failed_at_call(folder: Path, n: int, code: int) -> bool:
    """Train with an error at the n-th call that writes, then to the end; return whether there was one."""
    from longrank.training.loop import train
    from training_tasks import FailAt, Pairs, settings, trained

    with FailAt(n, OSError(code, os.strerror(code))) as calls:
        try:
            train(Pairs(), settings(**SHORT), folder)
        except LongRankError as error:
            assert os.strerror(code) in str(error)
            assert "\n" not in str(error)
    trained(folder, **SHORT)
    return calls.calls >= n


@pytest.mark.parametrize("n", [1, 3, 8, 12, 19, 27, 36, 44])
def test_when_writing_fails_that_is_one_line_and_the_next_attempt_goes_on(
    tmp_path: Path, undisturbed_short: dict[str, bytes], n: int
) -> None:
    from training_tasks import contents

    assert failed_at_call(tmp_path / "t", n, errno.ENOSPC)
    assert contents(tmp_path / "t") == undisturbed_short


@pytest.mark.slow
def test_whatever_writing_fails_is_one_line_and_the_next_attempt_goes_on(
    tmp_path: Path, undisturbed_short: dict[str, bytes]
) -> None:
    from training_tasks import contents

    n = 1
    while failed_at_call(tmp_path / f"{n}", n, errno.EIO):
        assert contents(tmp_path / f"{n}") == undisturbed_short, n
        n += 1
    assert n > 40


def test_a_file_that_cannot_grow_is_one_line(tmp_path: Path) -> None:
    """The weights are written by another library, whose errors are its own."""
    from longrank.training import checkpoints
    from training_tasks import Pairs

    task = Pairs()
    weights = checkpoints.weights_of(task.network)
    found = checkpoints.Checkpoint(checkpoints.Position(step=1), weights, {}, None, "")
    with limited(100), pytest.raises(LongRankError, match=r"cannot write .*step-00000001"):
        checkpoints.save(tmp_path, found)
    assert not list(tmp_path.iterdir())


class limited:
    """No file of this process may grow beyond so many bytes."""

    def __init__(self, n_bytes: int) -> None:
        self._n_bytes = n_bytes

    def __enter__(self) -> None:
        import resource

        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._signal = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._n_bytes, self._before[1]))

    def __exit__(self, *exc: object) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
        signal.signal(signal.SIGXFSZ, self._signal)


@pytest.mark.parametrize("one_of", [12, *slow(1)])
def test_a_training_after_a_power_cut_ends_with_the_same_bytes(
    cuts: PowerCuts, undisturbed_short: dict[str, bytes], one_of: int
) -> None:
    from training_tasks import contents, trained

    with cuts.during():
        trained(cuts.folder / "t", **SHORT)

    def resumed(disk: Path) -> dict[str, bytes]:
        trained(disk / "t", **SHORT)
        return contents(disk / "t")

    worlds = [world for _, world in cuts.disk.worlds()]
    without_checksums = [world for world in worlds if "t/record.json" in world and "t/manifest.json" not in world]
    assert len(worlds) > 100 and without_checksums
    for world in [*worlds[::one_of], *without_checksums]:
        assert cuts.tell(world, resumed) == undisturbed_short, sorted(world)
