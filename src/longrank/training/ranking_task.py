"""Learning to rank: samples of documents in, the loss of their scores out; validated by reranking the dev queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from longrank.aggregation import make_aggregator
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, parse_measure, summarise
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.models.description import FILE, describe
from longrank.models.folders import load_network, save_network
from longrank.models.network import DocumentNetwork, padded
from longrank.protocols import ScoringTask, Segmenter
from longrank.ranking.passages import text_read
from longrank.scoring.create import new_network
from longrank.scoring.models import Model, find_model
from longrank.scoring.network import DEFAULT_BATCH_TOKENS, choose_max_tokens, position_limit
from longrank.scoring.network_reader import NetworkReader, query_limit
from longrank.text.segment import make_segmenter
from longrank.training.candidates import CandidateOptions, Sources
from longrank.training.loss_terms import loss_kind, weighted_loss
from longrank.training.passages import make_passage_choice
from longrank.training.samples import Samples, make_samples
from longrank.training.settings import TeacherSettings, TrainingSettings
from longrank.types import Notes, Passage, Qrels, Query, Run, ScoredDoc

_KEPT_DOCUMENTS = 4096  # whose passages are kept in memory


@dataclass(frozen=True, slots=True)
class Data:
    """What a ranking task learns from and is validated on.

    Attributes:
        index: where documents are.
        queries: query_id -> query.
        qrels: all judgments.
        run: the first stage.
        train: the queries to learn from.
        dev: the queries to validate on.
    """

    index: Index
    queries: Mapping[str, Query]
    qrels: Qrels
    run: Run
    train: Sequence[str]
    dev: Sequence[str]


class _Reading(NamedTuple):
    """What is read at a time: of each document of an instance, the texts of some passages."""

    query: str
    texts: list[list[str]]
    labels: tuple[float, ...]
    taught: list[float]


class RankingTask:
    """A document network that learns from samples of documents; a `longrank.training.loop.Task`.

    Args:
        reader: the network and what makes its input.
        tokenizer: of transformers, to be saved with it.
        segmenter: splits documents.
        samples: of the training queries.
        data: what they were drawn from.
        settings: the whole training.
        taught: (query_id, doc_id) -> the teacher's score, where there is one.

    Attributes:
        network: what is trained.
        fingerprint: names the weights that it begins with.

    Raises:
        InputError: the loss does not fit the samples, or its teacher is missing.
    """

    def __init__(
        self,
        reader: NetworkReader,
        tokenizer: Any,
        segmenter: Segmenter,
        *,
        samples: Samples,
        data: Data,
        settings: TrainingSettings,
        fingerprint: str,
        taught: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self.network: DocumentNetwork = reader.network
        self.fingerprint = fingerprint
        self._reader, self._tokenizer, self._samples, self._data = reader, tokenizer, samples, data
        self._settings, self._taught = settings, taught
        self._loss, self._reads = weighted_loss(settings.loss), loss_kind(settings.loss[0]).reads
        self._width = len(samples[0].doc_ids)
        _check_loss(settings, self._width)
        self._choice = make_passage_choice(settings.samples.passages, keep=settings.samples.keep)
        self._measure = parse_measure(settings.validation.measure)
        self._passages: Callable[[str], tuple[tuple[Passage, ...], tuple[str, ...]]] = lru_cache(_KEPT_DOCUMENTS)(
            lambda doc_id: _passages_of(data.index, segmenter, doc_id, settings.read.title)
        )

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances; that of an instance is the mean over its readings."""
        read = [self._readings(n) for n in instances]
        readings = [one for own in read for one in own]
        pairs = self._reader.packer.pairs
        packed = [pair for one in readings for texts in one.texts for pair in pairs(one.query, texts)]
        sizes = torch.tensor([len(texts) for one in readings for texts in one.texts])
        outputs = self._outputs(*padded(self._reader.encode(packed), sizes))
        losses = []
        for own, some in zip(read, outputs.split([len(own) for own in read]), strict=True):
            labels = torch.tensor([one.labels[0] for one in own], device=some.device)
            teacher = torch.tensor([one.taught for one in own], device=some.device) if self._taught else None
            losses.append(self._loss(some, labels=labels, teacher=teacher))
        return torch.stack(losses).mean()

    def _outputs(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what the loss reads: the scores of readings [R, G], or the logits of their only documents [R, C]."""
        if self._reads == "logits":
            return self.network.logits(passages, mask)
        return self.network.aggregate(passages, mask).view(-1, self._width)

    def _readings(self, n: int) -> list[_Reading]:
        """Return what is read for instance n: for each of its documents some of its passages, once or several times."""
        group = self._samples[n]
        texts = [self._passages(doc_id)[1] for doc_id in group.doc_ids]
        chosen = self._choice(group, [len(own) for own in texts], self._settings.loop.seed, n)
        query = self._data.queries[group.query_id].text
        taught = [self._teacher(group.query_id, doc_id) for doc_id in group.doc_ids] if self._taught else []
        return [
            _Reading(
                query, [[own[i] for i in places] for own, places in zip(texts, one, strict=True)], group.labels, taught
            )
            for one in chosen
        ]

    def _teacher(self, query_id: str, doc_id: str) -> float:
        assert self._taught is not None
        score = self._taught.get((query_id, doc_id))
        if score is None:
            raise InputError(
                f"the teacher's evidence lacks document {doc_id!r} of query {query_id!r}",
                fix="let samples.depth be at most the depth of the evidence, and in_run true",
            )
        return score

    def _task(self, query_id: str, doc_id: str) -> ScoringTask:
        passages, texts = self._passages(doc_id)
        return ScoringTask(self._data.queries[query_id], doc_id, passages, texts)

    def validate(self) -> float:
        """Return the mean of the measure over the dev queries, reranked."""
        run = Run("dev", (row for query_id in self._data.dev for row in self._reranked(query_id)))
        qrels = {query_id: self._data.qrels[query_id] for query_id in self._data.dev}
        (values,) = evaluate(qrels, run, [self._measure]).values()
        return summarise(str(self._measure), list(values.values()))

    def _reranked(self, query_id: str) -> list[ScoredDoc]:
        candidates = self._data.run.get(query_id)[: self._settings.validation.depth]
        tasks = [self._task(query_id, row.doc_id) for row in candidates]
        scored = zip(tasks, self._reader.score(tasks), strict=True)
        return [ScoredDoc(query_id, task.doc_id, one.document) for task, one in scored if one.document is not None]

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the network with its tokenizer and the record of its training."""
        save_network(folder, self.network, self._tokenizer, record)


def _passages_of(
    index: Index, segmenter: Segmenter, doc_id: str, title: bool
) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Return a document's passages, and what is read of each."""
    document = index.document(doc_id)
    passages = segmenter.segment(document).passages
    return passages, tuple(text_read(document, passage.text, title=title) for passage in passages)


def _check_loss(settings: TrainingSettings, width: int) -> None:
    """Refuse losses that want other groups than the samples are, or a teacher where there is none.

    Raises:
        InputError: they do.
    """
    for term in settings.loss:
        kind = loss_kind(term)
        if kind.group not in (0, width) or (kind.group == 0 and width < 2):
            wanted = {0: "groups of two documents or more", 1: "single documents", 2: "pairs"}.get(
                kind.group, "triplets"
            )
            raise InputError(f"the loss {term.name} needs {wanted}", got=f"samples.kind = {settings.samples.kind}")
        if kind.needs == "teacher" and settings.teacher is None:
            raise InputError(f"the loss {term.name} needs a teacher", fix="set teacher.evidence")


def open_task(settings: TrainingSettings, data: Data, notes: Notes) -> RankingTask:
    """Build what a training names; models are loaded now.

    Raises:
        InputError: a name is unknown, a setting does not fit, a model or an evidence file cannot be read, or nothing
            is left to learn from.
        MissingExtra: torch or transformers are not installed.
    """
    model = find_model(settings.network.model)
    network, tokenizer = _network(settings, model)
    limits = tokenizer.model_max_length, position_limit(network.encoder)
    reader = NetworkReader(
        network,
        tokenizer,
        max_tokens=choose_max_tokens(model, settings.read.max_tokens, *limits),
        max_query_tokens=query_limit(network, settings.read.max_query_tokens),
        batch_tokens=DEFAULT_BATCH_TOKENS,
        notes=notes,
    )
    segmenter = make_segmenter(settings.read.passages, settings.read.options, reader.offset_tokenizer)
    taught = None if settings.teacher is None else _taught(settings.teacher)
    samples = _samples(settings, data, notes)
    return RankingTask(
        reader,
        tokenizer,
        segmenter,
        samples=samples,
        data=data,
        settings=settings,
        fingerprint=model.fingerprint,
        taught=taught,
    )


def _network(settings: TrainingSettings, model: Model) -> tuple[Any, Any]:
    """Return the network to train and its tokenizer: the one in a folder, or a new one on a pretrained model."""
    wanted = settings.network
    if (model.path / FILE).is_file():
        found = describe(model.path)["network"]
        if found != wanted.name or wanted.options or wanted.preset:
            raise InputError(
                f"is the document network {found}, which is trained on as it is",
                path=model.path,
                got=f"network.name = {wanted.name}" if found != wanted.name else "network.options or preset",
                fix="name it, and leave options and preset out",
            )
        network, tokenizer, _ = load_network(model.path)
    else:
        network, tokenizer = new_network(
            wanted.name, model, options=wanted.options, preset=wanted.preset, seed=settings.loop.seed
        )
    if wanted.dropout is not None:
        for module in network.encoder.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = wanted.dropout
    return network, tokenizer


def _samples(settings: TrainingSettings, data: Data, notes: Notes) -> Samples:
    wanted = settings.samples
    options = CandidateOptions(
        relevance_level=wanted.relevance_level,
        depth=wanted.depth,
        in_run=wanted.in_run,
        negatives=wanted.negatives,
        ranks=None if wanted.ranks is None else (wanted.ranks[0], wanted.ranks[1]),
        unjudged=wanted.unjudged,
    )
    doc_ids = [document.doc_id for document in data.index] if wanted.negatives == "random" else None
    sources = Sources(data.qrels, data.run, doc_ids=doc_ids)
    seed, n_negatives = settings.loop.seed, wanted.n_negatives
    return make_samples(wanted.kind, data.train, sources, options, seed=seed, notes=notes, n_negatives=n_negatives)


def _taught(teacher: TeacherSettings) -> dict[tuple[str, str], float]:
    """Return the teacher's score of each query and document."""
    aggregate = make_aggregator(teacher.aggregator)
    _, evidence = read_evidence(Path(teacher.evidence))
    return {(one.query_id, one.doc_id): aggregate(one) for one in evidence}
