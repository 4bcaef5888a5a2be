"""A cross-encoder: query and passage are read together by a network with a classification head.

monoBERT (Nogueira and Cho 2019), BERT-MaxP (Dai and Callan 2019), Birch and others: any Hugging Face model for
sequence classification with one output (relevance) or two (not relevant, relevant), or for next-sentence prediction
(`longrank.networks.heads`). The score is one of `longrank.scoring.relevance`; default: the logit of one output, the
difference of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.models.description import check_trained, describe
from longrank.networks.acceleration import accelerate_by, computed_by
from longrank.networks.backends import check_backend
from longrank.networks.feeding import (
    DEFAULT_MAX_QUERY_TOKENS,
    QUERY_END,
    Feeder,
    OffsetTokenizer,
)
from longrank.networks.heads import load_classifier, n_outputs, stated_tokens
from longrank.networks.loading import choose_device, choose_max_tokens, loading, position_limit
from longrank.networks.model_files import Model
from longrank.networks.trainings import DESCRIPTION, TRAINED
from longrank.protocols import PassageScores, ScoringTask
from longrank.registries import check_at_least
from longrank.scoring.long_context import choose_global_attention, global_attention_mask
from longrank.scoring.output_labels import denies
from longrank.scoring.relevance import check_score, per_task, score_of
from longrank.text.packing import Packed
from longrank.types import Notes

if TYPE_CHECKING:
    import torch


class CrossEncoder:
    """A cross-encoder such as monoBERT: query and passage are read together.

    Args:
        model: the model's files.
        score: one of `longrank.scoring.relevance.SCORES`; default: ``logit`` for one output, ``logit_diff`` for two.
        relevant: which of two outputs means relevant, 0 or 1; default: 1, unless the model's labels deny it.
        max_tokens: longest query and passage together; default: the model's limit.
        max_query_tokens: longest query.
        global_attention: ``cls`` (default) or ``query``, for Longformer only (`longrank.scoring.long_context`).
        batch_tokens: padded tokens per batch; default: 2,048 on a CPU, 16,384 on an accelerator.
        device: a torch device, or ``auto``.
        dtype: ``float32``, ``bf16`` or ``int8``, of the encoder's products (`longrank.networks.acceleration`).
        backend: a key of `longrank.networks.backends.BACKENDS`; computes the encoder.
        allow_untrained: score with a document network (``maxp``, ...) that has never been trained.
        notes: remarks on the model.

    Raises:
        InputError: the model cannot be loaded or is no classifier of one or two outputs, or is an untrained
            network that is not allowed; or an option is out of range, or the model's labels say that output 0 means
            relevant, and `relevant` is not given.
        MissingExtra: torch, transformers or packages of the backend are not installed.
        IntegrityError: the files of a quantised model are damaged.
    """

    needs_model, scores_documents, reads_pairs = True, False, True
    example = "cross-encoder/ms-marco-MiniLM-L6-v2"

    def __init__(
        self,
        model: Model,
        *,
        score: str | None = None,
        relevant: int | None = None,
        max_tokens: int | None = None,
        max_query_tokens: int = DEFAULT_MAX_QUERY_TOKENS,
        global_attention: str | None = None,
        batch_tokens: int | None = None,
        device: str = "auto",
        dtype: str = "float32",
        backend: str = "torch",
        allow_untrained: bool = False,
        notes: Notes | None = None,
    ) -> None:
        check_at_least("max_query_tokens", max_query_tokens, 1)
        self.model = model
        self._notes = Notes() if notes is None else notes
        device = check_backend(backend, dtype, device)
        with loading(model):
            network, tokenizer = load_classifier(model, self._notes)
            self._network = network.to(choose_device(device))
        check_trained(model.name, model.path, allow_untrained, self._notes)
        chosen = 1 if relevant is None else relevant
        self.unit, self._relevant = _choose_score(model, n_outputs(network), score, chosen)
        if n_outputs(network) == 2:
            if relevant is None:
                _check_labels(model, network)
            _note_other_score(model, self.unit, self._notes)
            _note_new_head(model, network, self._notes)
        self._global = choose_global_attention(model, network, global_attention)
        limits = (tokenizer.model_max_length, stated_tokens(model), position_limit(self._network))
        self.max_tokens = choose_max_tokens(model, max_tokens, *limits)
        self.encoder = self._network.base_model
        accelerate_by(backend, self.encoder, model, self._notes, dtype=dtype, first_only=True)
        where = self._network.device
        self._feeder = Feeder(
            tokenizer,
            self.max_tokens,
            max_query_tokens=max_query_tokens,
            batch_tokens=batch_tokens,
            device=str(where),
            notes=self._notes,
            query_ends=self._global is not None,
        )
        self.packer = self._feeder.packer
        self.offset_tokenizer = OffsetTokenizer(self._feeder.tokenizer, self.packer.passage_room)
        attention = f"global_attention={self._global} " if self._global else ""
        self.fingerprint = (
            f"cross-encoder {model.fingerprint} score={self.unit} relevant={chosen} max_tokens={self.max_tokens} "
            f"max_query_tokens={max_query_tokens} {attention}batch_tokens={self._feeder.batch_tokens} "
            f"device={where.type} {computed_by(dtype, backend)}"
        )

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the score of each passage; batches are formed among all passages of the call.

        Raises:
            LongRankError: a score is not finite; names query, document and passage.
        """
        if not tasks:
            return []
        packed = [pair for task in tasks for pair in self.packer.pairs(task.query.text, task.texts)]
        logits = self._feeder.run(packed, self._forward)
        return per_task(tasks, packed, score_of(logits, self.unit, self._relevant))

    def cuts_query(self, query: str) -> bool:
        """Say whether the query is cut."""
        return self.packer.cuts_query(query)

    def logits(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return the network's outputs for a query and its passages, float32[P, 1 or 2]."""
        packed: list[Packed] = list(self.packer.pairs(query, passages))
        return self._feeder.run(packed, self._forward)

    def _forward(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        if self._global is not None:
            mask = global_attention_mask(features["input_ids"], self._global, features.pop(QUERY_END))
            features = {**features, "global_attention_mask": mask}
        logits: torch.Tensor = self._network(**features).logits
        return logits


def _note_other_score(model: Model, unit: str, notes: Notes) -> None:
    """Note if a LongRank model of two outputs is scored by another value than the value of its training.

    The second output alone ranks differently from the difference of the two.
    """
    if (model.path / DESCRIPTION).is_file():
        learned = describe(model.path)["options"].get("score", "logit")
    elif (model.path / TRAINED).is_file():
        learned = "logit_diff"
    else:
        return
    if (learned == "logit") != (unit == "logit"):
        notes.say(
            f"'{model.name}' was trained with score = {learned}, and passages are scored by {unit}: --set "
            f"scorer.options.score={learned} ranks as its validation did"
        )


def _check_labels(model: Model, network: Any) -> None:
    """Refuse a model whose labels say that output 0 means relevant.

    LongRank's own trainings make output 1 mean relevant, whatever the labels of the model that they began with.

    Raises:
        InputError: the model is refused.
    """
    labels = network.config.id2label or {}
    first, second = str(labels.get(0, "")), str(labels.get(1, ""))
    if denies(second, first) and not _is_own(model):
        raise InputError(
            f"output 1 of '{model.name}' does not mean relevant by its id2label: output 0 is {first!r}",
            path=model.network / "config.json",
            got=second,
            fix="choose relevant = 0, or relevant = 1 if the labels are wrong",
        )


def _is_own(model: Model) -> bool:
    """Say whether LongRank wrote the folder."""
    return (model.path / DESCRIPTION).is_file() or (model.path / TRAINED).is_file()


def _note_new_head(model: Model, network: Any, notes: Notes) -> None:
    """Note a head of two outputs whose biases are exactly 0, as transformers draws a head that a file lacks.

    Losses of two outputs train the biases. A loss of the second output alone, such as MaxP's hinge, does not, so this
    is no proof. LongRank's own folders say themselves if they are untrained.
    """
    within = {id(module) for module in network.base_model.modules()}
    biases = [
        bias
        for module in network.modules()
        if id(module) not in within and (bias := getattr(module, "bias", None)) is not None and len(bias) == 2
    ]
    if biases and not _is_own(model) and not any(bias.any() for bias in biases):
        notes.say(
            f"the head of '{model.name}' has biases of exactly 0, as a new head: if the program that wrote the folder "
            "reported newly initialized weights, the scores are random; convert the original again, with its own class"
        )


def _choose_score(model: Model, n_outputs: int, score: str | None, relevant: int) -> tuple[str, int]:
    """Return the name of the score and the output that means relevant."""
    if n_outputs not in (1, 2):
        raise InputError("a cross-encoder has one output or two", path=model.path, got=n_outputs)
    if score is not None:
        check_score(score)
    if relevant not in (0, 1):
        raise InputError("relevant must be 0 or 1", got=relevant)
    if n_outputs == 1 and relevant == 0:
        raise InputError(f"'{model.name}' has one output, which means relevant", got="relevant = 0", fix="leave it out")
    if n_outputs == 1 and score == "logit_diff":
        raise InputError(f"'{model.name}' has one output, so there is no difference of two", got=score, fix="use logit")
    return score or ("logit" if n_outputs == 1 else "logit_diff"), relevant if n_outputs == 2 else 0
