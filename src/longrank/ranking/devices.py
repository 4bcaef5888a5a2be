"""Blocks of a reranking shared out to the workers of an engine; the bytes are those of a single process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from longrank.engines import Engine, check_same_model, in_order, opening_here
from longrank.errors import InputError
from longrank.index.shared import SharedIndex
from longrank.networks.threads import use_threads
from longrank.ranking.evidence_blocks import Block, evidence_of
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.ranking.settings import PipelineSettings
from longrank.types import Evidence, Notes

_MOST = 64  # processes


def devices_of(text: str) -> list[str]:
    """Return the device of each process: ``cpu:2`` is two CPU processes, ``cuda:0,cuda:1`` two GPUs.

    Raises:
        InputError: no such devices, devices of two kinds, or a device is named twice.
    """
    devices = [part.strip() for part in text.split(",")]
    if len({device.partition(":")[0] for device in devices}) > 1:
        raise InputError("devices must be of one kind, since scores differ between kinds", got=text)
    kind, _, number = text.partition(":")
    if kind == "cpu" and number:
        if not number.isdecimal() or not 1 <= int(number) <= _MOST:
            raise InputError(f"cpu:N takes a number of processes, 1 to {_MOST}", got=text)
        return ["cpu"] * int(number)
    if len(set(devices)) < len(devices) or "" in devices:
        raise InputError("each device is named once", got=text, fix="for example cuda:0,cuda:1")
    return devices


@dataclass
class Replica:
    """A pipeline that a worker opens for itself, at its first block.

    Attributes:
        index: the index.
        settings: settings of the pipeline, without the device.
        model: replaces the pipeline's own model.
        device: the worker's device; None: the pipeline's.
        threads: CPU threads of the worker; None: as they are.
        fingerprint: fingerprint of the scorer that the command opened.
    """

    index: SharedIndex
    settings: PipelineSettings
    model: str | None
    device: str | None
    threads: int | None
    fingerprint: str
    _opened: tuple[Pipeline, Notes] | None = field(default=None, init=False)

    def __call__(self, block: Block) -> tuple[list[list[Evidence]], Notes]:
        """Return the evidence of each query of a block, and the remarks on it."""
        if self._opened is None:
            with opening_here():
                self._opened = self._open()
        pipeline, notes = self._opened
        assert pipeline.scorer is not None
        made, before = Notes(), notes.copy()
        evidence = evidence_of(pipeline.index, pipeline.scorer, block)
        made.merge(notes.since(before))
        return evidence, made

    def _open(self) -> tuple[Pipeline, Notes]:
        notes = Notes()
        assignments = {} if self.device is None else {"scorer.options.device": self.device}
        opened = open_pipeline(self.index.open(), self.settings, model=self.model, assignments=assignments, notes=notes)
        assert opened.scorer is not None
        what = "the model, or vectors in the index, changed since this command opened them"
        check_same_model(opened.scorer.fingerprint, self.fingerprint, self.model or self.index.place, what)
        use_threads(self.threads)
        return opened, notes


class Shared:
    """Scores blocks by the workers of an engine; results come in order.

    Args:
        pipeline: the pipeline, opened on the first device.
        model: replaces the pipeline's own model.
        engine: runs the blocks.
        devices: the device of each worker; or one device for all workers, None: the pipeline's.
        notes: takes the remarks of the workers.
    """

    def __init__(
        self, pipeline: Pipeline, model: str | None, engine: Engine, devices: Sequence[str | None], notes: Notes
    ) -> None:
        index = SharedIndex.of(pipeline.index)
        fingerprint = "" if pipeline.scorer is None else pipeline.scorer.fingerprint
        made = [Replica(index, pipeline.settings, model, device, engine.threads, fingerprint) for device in devices]
        self._replicas = made if len(made) > 1 else made * engine.workers
        self._engine, self._notes = engine, notes

    def __call__(self, blocks: Iterable[Block]) -> Iterator[list[list[Evidence]]]:
        """Yield the evidence of each block, in order."""
        for evidence, notes in in_order(self._engine.each(self._replicas, blocks)):
            self._notes.merge(notes)
            yield evidence
