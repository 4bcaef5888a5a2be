"""Things to train in a second, and trainings in processes that are killed on the way."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import preloaded
from longrank.training.loop import train
from longrank.training.loop_settings import LoopSettings

N_TOKENS, LENGTH = 30, 6
SETTINGS: dict[str, Any] = {
    "seed": 3,
    "steps": 12,
    "batch": 6,
    "clip": 1.0,
    "validate_every": 5,
    "checkpoint_every": 3,
    "optimizer": {"name": "adamw", "learning_rate": 0.01, "head_learning_rate": 0.03, "weight_decay": 0.01},
    "schedule": {"name": "linear"},
}


def settings(**changes: Any) -> LoopSettings:
    """Return settings of a training of a second, some of them changed."""
    return LoopSettings.model_validate(SETTINGS | changes)


class Words(torch.nn.Module):
    """A bag of words with a head; `base_model` is without it, as in transformers."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.base_model = torch.nn.Sequential(torch.nn.Embedding(N_TOKENS, 8), torch.nn.LayerNorm(8))
        self.dropout = torch.nn.Dropout(dropout)
        self.head = torch.nn.Linear(8, 1)
        self.unused = torch.nn.Linear(2, 2)  # never has a gradient
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the scores of texts, [N], of token ids [N, L]."""
        scores: torch.Tensor = self.head(self.dropout(self.base_model(ids).mean(1)))[:, 0] * self.scale
        return scores


class Pairs:
    """Learns that texts with small token ids are better; a pair is a function of its number."""

    def __init__(self, dropout: float = 0.1, seed: int = 5) -> None:
        torch.manual_seed(seed)
        self.network = Words(dropout)
        self.seen: list[list[int]] = []

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the pairwise hinge loss."""
        self.seen.append(list(instances))
        scores = self.network(torch.cat([self._pair(number) for number in instances])).view(-1, 2)
        return torch.nn.functional.relu(1 - scores[:, 0] + scores[:, 1]).mean()

    def validate(self) -> float:
        """Return the share of other pairs in the right order."""
        assert not self.network.training
        scores = self.network(torch.cat([self._pair(10**6 + number) for number in range(40)])).view(-1, 2)
        return float((scores[:, 0] > scores[:, 1]).float().mean())

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write weights and record."""
        import json

        from safetensors.torch import save_file

        from longrank.storage.folders import atomic_folder

        with atomic_folder(folder) as new:
            save_file(self.network.state_dict(), new / "model.safetensors")
            (new / "record.json").write_text(json.dumps(record, sort_keys=True))

    def _pair(self, number: int) -> torch.Tensor:
        draw = np.random.RandomState(number % 2**32)
        return torch.from_numpy(np.stack([draw.randint(0, 20, LENGTH), draw.randint(10, N_TOKENS, LENGTH)]))


class FailAt:
    """Makes call `n`, counted from 1, of what writing consists of go wrong; `calls` counts them."""

    NAMES = ("fsync", "rename", "replace")

    def __init__(self, n: int, error: OSError | None = None) -> None:
        self._n, self._error, self.calls = n, error, 0
        self._real = {name: getattr(os, name) for name in self.NAMES}

    def __enter__(self) -> FailAt:
        for name in self.NAMES:
            setattr(os, name, self._counted(name))
        return self

    def __exit__(self, *exc: object) -> None:
        for name, function in self._real.items():
            setattr(os, name, function)

    def _counted(self, name: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self._n and self._error is not None:
                raise self._error
            if self.calls == self._n:
                os.kill(os.getpid(), signal.SIGKILL)
            return self._real[name](*args, **options)

        return call


def trained(
    folder: Path,
    fail_at: int = 0,
    slow: float = 0.0,
    dropout: float = 0.1,
    environment: Mapping[str, Any] | None = None,
    **changes: Any,
) -> None:
    """Train in this process; it is killed at a certain call, if there is one. `slow` seconds are added to each step."""
    import time

    os.environ.update({name: str(value) for name, value in (environment or {}).items()} | {"OMP_NUM_THREADS": "1"})
    torch.set_num_threads(1)
    task = Pairs(dropout, seed=5 + (environment or {}).get("RANK", 0))  # the first process's weights count
    if slow:
        real = task.loss
        task.loss = lambda instances: (time.sleep(slow), real(instances))[1]  # type: ignore[method-assign]
    with FailAt(fail_at):
        train(task, settings(**changes), folder)


class Processes:
    """Starts processes in which torch is imported already: they begin within milliseconds."""

    def __init__(self) -> None:
        self._context = preloaded.context()

    def start(self, *args: Any, **options: Any) -> Any:
        """Begin `trained` with these arguments."""
        process = self._context.Process(target=trained, args=args, kwargs=options)
        process.start()
        return process

    def run(self, *args: Any, **options: Any) -> int:
        """Do `trained`; return its exit code, the signal's less than 0 if it was killed."""
        process = self.start(*args, **options)
        process.join(60)
        assert process.exitcode is not None
        return int(process.exitcode)


def together(n: int, folder: Path, processes: Processes, **changes: Any) -> list[int]:
    """Train in `n` processes at once, as torchrun starts them; return their exit codes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"WORLD_SIZE": n, "LOCAL_WORLD_SIZE": n, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    started = [processes.start(folder, environment=common | {"RANK": r, "LOCAL_RANK": r}, **changes) for r in range(n)]
    for process in started:
        process.join(60)
    return [process.exitcode for process in started]


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def main() -> None:
    """Train under torchrun: ``training_tasks.py FOLDER``."""
    torch.set_num_threads(1)
    train(Pairs(0.0, seed=5 + int(os.environ["RANK"])), settings(batch=7), Path(sys.argv[1]))


if __name__ == "__main__":
    main()
