"""The training loop: steps, validations and checkpoints of any task.

A training is a function of its task, its settings and the number of processes. However often it is killed, it ends
with the weights of an undisturbed training (on a CPU, byte for byte): a step is a function of its number and of the
weights before, and checkpoints hold all state. docs/decisions/training-loop.md compares it with transformers' Trainer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import torch

from longrank.errors import IntegrityError, LongRankError
from longrank.training import checkpoints, run_folder
from longrank.training.checkpoints import Checkpoint, Position, Tensors
from longrank.training.log import TrainingLog, check_tensorboard
from longrank.training.loop_settings import LoopSettings
from longrank.training.ranks import Ranks
from longrank.training.schedules import schedule
from longrank.training.updates import Learner, Updates, check_possible, with_precision
from longrank.types import Notes

_VERSIONS = ("longrank", "torch", "accelerate", "safetensors")


class Task(Learner, Protocol):
    """A network with a loss and a validation.

    The training moves `network` to its device, and `loss` follows it. Instances are pure functions of their number,
    which has no upper limit; each process may ask for any instance. `loss` draws from torch's global generator.
    """

    def validate(self) -> float:
        """Return a ranking measure on the development queries, higher is better; the network is in evaluation mode.

        Under torchrun, every process calls this; they may share the queries out (`Ranks.shared`).
        """
        ...

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the network, on any device, and the record to a folder, atomically; replace an older folder."""
        ...


def train(
    task: Task,
    settings: LoopSettings,
    folder: Path,
    *,
    run: Mapping[str, Any] | None = None,
    begin: Callable[[], object] = lambda: None,
    progress: Callable[[int], object] = lambda n: None,
    notes: Notes | None = None,
    tensorboard: bool = False,
) -> dict[str, Any]:
    """Train, or resume an interrupted training.

    Under torchrun, every process calls this with the same arguments.

    Args:
        task: its network ends with the saved weights, in evaluation mode. A finished training leaves it unchanged.
        settings: steps, batches, learning rates.
        folder: of `longrank.training.run_folder`; the folder above must exist.
        run: everything else that the result depends on (data, model, losses, ...), JSON-able; kept in the record.
        begin: called in every process before the first step, when the folder is known to be this training's.
        progress: called in the first process with the number of steps just done, or done earlier.
        notes: counts damaged checkpoints; says if the training was finished before.
        tensorboard: also write TensorBoard's log; needs the extra.

    Returns:
        The record: ``settings``, ``run``, ``processes``, ``steps`` done, ``trained`` parameters, ``best_step`` and
        ``best_measure`` (null without validation), ``losses`` (mean of each tenth), ``validations``, ``last`` (SHA-256
        of the last weights and optimizer), ``versions``. No dates; paths as `run` names them.

    Raises:
        InputError: `folder` holds something else or a training with other settings, or a setting does not fit.
        LongRankError: the loss or a measure is not finite, or writing failed; the training can be resumed.
    """
    ranks, notes = Ranks(), notes if notes is not None else Notes()
    settings = _here(settings, ranks, notes)
    check_loop(settings, ranks, task.network, tensorboard=tensorboard)
    _about_rates(settings, notes)
    identity = identity_of(settings, run or {}, ranks)
    with ExitStack() as opened:
        if ranks.first:
            opened.enter_context(run_folder.begun(folder, identity))
        ranks.wait()
        record = run_folder.finished(folder)
        if record is not None:
            notes.say(f"{folder}: this training is finished; nothing was done")
            return record
        begin()
        opened.enter_context(_repeatable(ranks.device))
        training = _Training(task, settings, folder, ranks, notes, begun_as=run_folder.digest_of_beginning(folder))
        board = folder / "tensorboard" if tensorboard else None
        training.resume(board, progress, opened)
        training.steps(progress)
        training.finish(identity)
        ranks.wait()
    return run_folder.finished(folder) or {}


def check_loop(settings: LoopSettings, ranks: Ranks, network: torch.nn.Module, *, tensorboard: bool) -> None:
    """Refuse settings that are impossible here, before a folder keeps them.

    Raises:
        InputError: as `check_possible`.
        MissingExtra: TensorBoard is not installed.
    """
    check_possible(settings, ranks, network)
    if tensorboard:
        check_tensorboard()


def _here(settings: LoopSettings, ranks: Ranks, notes: Notes) -> LoopSettings:
    """Return the settings with the precision that ``auto`` stands for here, and note the choice."""
    chosen = with_precision(settings, ranks.device.type)
    if chosen != settings:
        notes.say(f"loop.precision = auto: {'bf16' if chosen.precision == 'bf16' else 'float32'} on this machine")
    return chosen


def note_best(record: Mapping[str, Any], measure: str, notes: Notes) -> None:
    """Note the measure of the best weights, if the training was validated."""
    if record.get("best_step") is not None:
        notes.say(f"best {measure} on dev {record['best_measure']:.4f}, after step {record['best_step']}")


def _about_rates(settings: LoopSettings, notes: Notes) -> None:
    """Note a learning rate that never reaches half of its setting, as in a training that ends during its warm-up."""
    factors = schedule(settings.schedule.name, settings.schedule.options).factors
    every = max(1, settings.steps // 1000)
    highest = max(
        factors(step, settings.steps).encoder for step in (*range(0, settings.steps, every), settings.steps - 1)
    )
    if highest < 0.5:
        notes.say(
            f"the learning rate reaches only {highest:.1%} of its setting: the schedule's warm-up is longer than the "
            f"{settings.steps} steps (loop.schedule.options)"
        )


def identity_of(settings: LoopSettings, run: Mapping[str, Any], ranks: Ranks) -> dict[str, Any]:
    """Return the identity of a training: everything that its result depends on."""
    return {"settings": settings.identity(), "run": dict(run), "processes": ranks.n}


class _Training:
    """A training under way; only the first process has a log."""

    def __init__(
        self, task: Task, settings: LoopSettings, folder: Path, ranks: Ranks, notes: Notes, *, begun_as: str
    ) -> None:
        self._begun_as = begun_as
        self._task, self._settings, self._folder, self._ranks, self._notes = task, settings, folder, ranks, notes
        self._updates = Updates(task, settings, ranks)
        self._position = Position()
        self._best: Tensors | None = None
        self._log: TrainingLog | None = None
        self._checkpoints = folder / run_folder.CHECKPOINTS
        self._place: Path | None = None  # of the last checkpoint

    def resume(self, board: Path | None, progress: Callable[[int], object], opened: ExitStack) -> None:
        """Load the last undamaged checkpoint, if there is one; open the log."""
        self._place, text = checkpoints.newest(self._checkpoints, self._notes, self._begun_as), ""
        if self._place is not None:
            checkpoint = checkpoints.load(self._place)
            try:
                checkpoints.set_weights(self._task.network, checkpoint.weights)
            except IntegrityError as error:
                cure = "another version of LongRank began this training; train in a new folder"
                raise IntegrityError(f"{self._place}: {error} ({cure})") from error
            checkpoints.set_optimizer_state(self._task.network, self._updates.optimizer, checkpoint.optimizer)
            self._updates.scaler.load_state_dict(checkpoint.position.scaler)
            self._position, self._best, text = checkpoint.position, checkpoint.best, checkpoint.log
        self._ranks.wait()  # until all processes have read
        if self._ranks.first:
            checkpoints.clean(self._checkpoints, self._place)
            self._log = opened.enter_context(TrainingLog(self._folder / run_folder.LOG, text, board))
            progress(self._position.step)

    def steps(self, progress: Callable[[int], object]) -> None:
        """Do the remaining steps, with validations and checkpoints between them."""
        self._task.network.train()
        while not self._is_over():
            step = self._updates.run(self._position.step)
            self._position.step += 1
            validates = self._settings.validates_after(self._position.step)
            if self._log is not None:
                self._log.add(self._position.step, **step._asdict())
            if validates:
                self._validate()
            if validates or self._settings.saves_after(self._position.step):
                self._save()
            if self._ranks.first:
                progress(1)
        self._task.network.eval()

    def finish(self, identity: Mapping[str, Any]) -> None:
        """Save the best weights, or the last weights without validation, and write the record."""
        if self._best is not None:
            checkpoints.set_weights(self._task.network, self._best)
        if self._log is None or self._place is None:
            return
        record = {
            **identity,
            **self._log.summary(),
            "steps": self._position.step,
            "best_step": self._position.best_step,
            "best_measure": self._position.best_measure,
            "trained": sum(len(values.flatten()) for values in self._task.network.parameters() if values.requires_grad),
            "last": checkpoints.digests(self._place),
            "versions": {name: version(name) for name in _VERSIONS},
        }
        self._task.save(self._folder / run_folder.MODEL, record)
        run_folder.finish(self._folder, record)

    def _is_over(self) -> bool:
        patience = self._settings.patience
        out_of_patience = patience is not None and self._position.waited >= patience
        return out_of_patience or self._position.step >= self._settings.steps

    def _validate(self) -> None:
        """Measure in all processes together; keep the weights if they are the best so far."""
        position = self._position
        measured = torch.tensor(self._measure(), dtype=torch.float64, device=self._ranks.device)
        measure = float(self._ranks.from_first(measured))
        if self._log is not None:
            self._log.add(position.step, measure=measure)
        if position.best_measure is None or measure > position.best_measure:
            position.best_step, position.best_measure, position.waited = position.step, measure, 0
            self._best = checkpoints.weights_of(self._task.network)
        else:
            position.waited += 1

    def _measure(self) -> float:
        network = self._task.network.eval()
        with torch.no_grad():
            measure = float(self._task.validate())
        network.train()
        if not abs(measure) < float("inf"):
            raise LongRankError(f"the measure after step {self._position.step} is not a finite number")
        return measure

    def _save(self) -> None:
        if self._log is None:
            return
        self._position.scaler = self._updates.scaler.state_dict()
        checkpoint = Checkpoint(
            self._position,
            checkpoints.weights_of(self._task.network),
            checkpoints.optimizer_state(self._task.network, self._updates.optimizer),
            self._best,
            self._log.text,
        )
        self._place = checkpoints.save(self._checkpoints, checkpoint, self._begun_as)


@contextmanager
def _repeatable(device: torch.device) -> Iterator[None]:
    """Restore torch's random state at the end; on a CPU, compute the same bytes each time."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        if device.type == "cpu":
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.utils.deterministic.fill_uninitialized_memory = False  # it costs time, and changes no result
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before[0], warn_only=before[1])
            torch.utils.deterministic.fill_uninitialized_memory = filled
