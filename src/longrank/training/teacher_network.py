"""A teacher that is a document network: it reads the samples of a training, without gradients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import torch

from longrank.errors import InputError, shown
from longrank.models.description import describe
from longrank.models.folders import load_network
from longrank.models.network import padded
from longrank.models.network_reader import NetworkReader, query_limit
from longrank.networks.feeding import DEFAULT_BATCH_TOKENS
from longrank.networks.hub import note_unfetched_records
from longrank.networks.loading import choose_max_tokens, loading, position_limit
from longrank.networks.model_files import find_model
from longrank.networks.trainings import DESCRIPTION, read_otherwise
from longrank.storage.kept import Kept, key_of
from longrank.training.ranks import Ranks
from longrank.types import Float32s, Notes

if TYPE_CHECKING:
    from longrank.training.settings import DocumentTraining

_KEPT_BYTES = 1 << 29  # representations kept in memory


class TeacherNetwork:
    """A document network that teaches by its own outputs.

    Args:
        settings: the training; its ``teacher.model`` names the network, its ``read`` the lengths.
        student: the network that learns.
        notes: says if the teacher reads otherwise than in its own training.

    Attributes:
        fingerprint: identity of the teacher's files.
        lineage: trainings of the teacher.

    Raises:
        InputError: no trained document network, or it has another number of outputs than the student where a loss
            reads logits, or reads fewer passages.
        MissingExtra: torch or transformers are not installed.
    """

    def __init__(self, settings: DocumentTraining, student: torch.nn.Module, notes: Notes) -> None:
        model = find_model(str(settings.teacher and settings.teacher.model), records=True)
        note_unfetched_records(model.name, model.path, notes)
        with loading(model):
            if describe(model.path)["untrained"]:
                raise InputError(
                    "the teacher has never been trained", path=model.path / DESCRIPTION, fix="train it first"
                )
            network, tokenizer, _ = load_network(model.path)
        if network.unit != student.unit:
            raise InputError(
                f"the teacher's output is a {network.unit}, the student's a {student.unit}",
                path=model.path,
                fix="train both with the same network.options.outputs",
            )
        most, least = student.max_passages, network.max_passages
        if least is not None and (most is None or most > least):
            raise InputError(
                f"the teacher reads at most {least} passages of a document, the student {most or 'any number'}",
                path=model.path,
                fix="make both with the same number of positions",
            )
        self.fingerprint, self.lineage = model.fingerprint, model.lineage
        self._network = network.to(Ranks().device)
        self._reader = NetworkReader(
            network,
            tokenizer,
            max_tokens=choose_max_tokens(
                model, settings.read.max_tokens, tokenizer.model_max_length, position_limit(network.encoder)
            ),
            max_query_tokens=query_limit(network, settings.read.max_query_tokens),
            batch_tokens=DEFAULT_BATCH_TOKENS,
            notes=Notes(),  # the student counts cut texts
            path=model.path,
        )
        self._kept = Kept[Float32s](_KEPT_BYTES)
        now = settings.read.model_dump() | {"max_query_tokens": self._reader.packer.max_query_tokens}
        for key, then in read_otherwise(model.run, now):
            notes.say(
                f"the teacher '{model.name}' was trained with read.{key} {shown(then)} "
                f"but reads with {shown(now[key])}, as its student"
            )

    def outputs(self, pairs: Sequence[tuple[str, str]], sizes: Sequence[int], reads: str) -> torch.Tensor:
        """Return the outputs of documents, [D, C], or their scores, [D].

        Args:
            pairs: (query, passage) of all documents, end to end.
            sizes: passages of each document.
            reads: ``logits`` or ``scores``.
        """
        ends = accumulate(sizes)
        rows = np.concatenate([self._rows(pairs[end - size : end]) for size, end in zip(sizes, ends, strict=True)])
        passages = torch.from_numpy(rows).to(self._network.encoder.device)
        with torch.no_grad():
            padded_rows = padded(passages, torch.tensor(sizes))
            outputs: torch.Tensor = (
                self._network.logits(*padded_rows) if reads == "logits" else self._network.aggregate(*padded_rows)
            )
        return outputs

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> Float32s:
        """Return the representations of a document's passages: read alone, so that they do not depend on what is kept.

        A resumed training keeps other documents than an undisturbed one.
        """
        key = key_of([text for pair in pairs for text in pair])
        rows = self._kept.get(key)
        if rows is None:
            rows, _ = self._reader.read(pairs)
            self._kept.add(key, rows, rows.nbytes)
        return rows
