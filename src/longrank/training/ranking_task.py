"""Learning to rank: samples of documents in, the loss of their scores out; validated by reranking the dev queries."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from longrank.aggregation import make_aggregator
from longrank.errors import InputError, shown
from longrank.evaluation.measures import evaluate, parse_measure, summarise
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.models.create import checked_options, options_of, preset_options
from longrank.models.description import FILE, describe
from longrank.models.folders import load_network, save_network
from longrank.models.network import DocumentNetwork, padded
from longrank.protocols import ScoringTask, Segmenter
from longrank.ranking.passages import text_read
from longrank.scoring.create import new_network
from longrank.scoring.models import Model, find_model
from longrank.scoring.network import DEFAULT_BATCH_TOKENS, choose_max_tokens, position_limit
from longrank.scoring.network_reader import NetworkReader, query_limit
from longrank.text.packing import Packed
from longrank.text.segment import make_segmenter
from longrank.training.candidates import CandidateOptions, Candidates, Sources, find_candidates, with_both_sides
from longrank.training.checks import check_losses, check_outputs, check_taught
from longrank.training.loss_terms import loss_kind, weighted_loss
from longrank.training.passages import Reading, make_passage_choice
from longrank.training.ranks import Ranks
from longrank.training.samples import LCE_NEGATIVES, Samples, make_samples
from longrank.training.settings import NetworkSettings, TeacherSettings, TrainingSettings
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
    doc_ids: tuple[str, ...]
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
        fingerprint: names the weights that the network begins with.
        notes: counts documents that were cut.
        taught: (query_id, doc_id) -> the teacher's score of all that is sampled, where there is one.

    Attributes:
        network: what is trained.
        fingerprint: as given.

    Raises:
        InputError: an unknown loss, measure or choice of passages, or an option that it does not take.
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
        notes: Notes,
        taught: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self.network: DocumentNetwork = reader.network
        self.fingerprint = fingerprint
        self._reader, self._tokenizer, self._samples, self._data = reader, tokenizer, samples, data
        self._settings, self._taught = settings, taught
        self._loss, self._reads = weighted_loss(settings.loss), loss_kind(settings.loss[0]).reads
        self._width = len(samples[0].doc_ids)
        self._notes, self._cut = notes, set[str]()
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
        of_document = [
            name for one in readings for name, texts in zip(one.doc_ids, one.texts, strict=True) for _ in texts
        ]
        self._count_cut(name for name, one in zip(of_document, packed, strict=True) if one.truncated)
        outputs = self._outputs(*padded(self._represented(packed), sizes))
        losses = []
        for own, some in zip(read, outputs.split([len(own) for own in read]), strict=True):
            labels = torch.tensor([one.labels[0] for one in own], device=some.device)
            teacher = (
                torch.tensor([one.taught for one in own], device=some.device) if self._taught is not None else None
            )
            losses.append(self._loss(some, labels=labels, teacher=teacher))
        return torch.stack(losses).mean()

    def _represented(self, packed: Sequence[Packed]) -> torch.Tensor:
        """Return the representation of each pair, [N, *F]; a frozen encoder's are computed once or looked up."""
        if not self._settings.network.frozen:
            return self._reader.encode(packed)
        return torch.from_numpy(self._reader.rows(packed)).to(self.network.encoder.device)

    def _outputs(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what the loss reads: the scores of readings [R, G], or the logits of their only documents [R, C]."""
        if self._reads == "logits":
            return self.network.logits(passages, mask)
        return self.network.aggregate(passages, mask).view(-1, self._width)

    def _readings(self, n: int) -> list[_Reading]:
        """Return what is read for instance n: for each of its documents some of its passages, once or several times."""
        group = self._samples[n]
        texts = [self._passages(doc_id)[1] for doc_id in group.doc_ids]
        query = self._data.queries[group.query_id].text
        taught = [] if self._taught is None else [self._taught[group.query_id, doc_id] for doc_id in group.doc_ids]
        return [
            _Reading(query, group.doc_ids, _some(texts, places), group.labels, taught)
            for places in self._choice(group, [len(own) for own in texts], self._settings.loop.seed, n)
        ]

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
        scored = list(zip(tasks, self._reader.score(tasks), strict=True))
        self._count_cut(task.doc_id for task, one in scored if one.truncated.any())
        return [ScoredDoc(query_id, task.doc_id, one.document) for task, one in scored if one.document is not None]

    def _count_cut(self, doc_ids: Iterable[str]) -> None:
        """Count documents of which something was cut, each once."""
        for doc_id in doc_ids:
            if doc_id not in self._cut:
                self._cut.add(doc_id)
                self._notes.add(f"documents with passages cut at {self._settings.read.max_tokens} tokens", doc_id)

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


def _some(texts: Sequence[Sequence[str]], places: Reading) -> list[list[str]]:
    """Return those of the passages' texts of documents that a reading names."""
    return [[own[i] for i in chosen] for own, chosen in zip(texts, places, strict=True)]


def open_task(settings: TrainingSettings, data: Data, notes: Notes, *, score_cache: Path | None = None) -> RankingTask:
    """Build what a training names; models are loaded now.

    Args:
        settings: the whole training.
        data: what is learned from.
        notes: counts dropped queries, cut texts and the like.
        score_cache: a file in which a frozen encoder's vectors are kept (`longrank.scoring.row_cache`).

    Raises:
        InputError: a name is unknown, a setting does not fit, a model or an evidence file cannot be read, or nothing
            is left to learn from.
        MissingExtra: torch or transformers are not installed.
    """
    model = find_model(settings.network.model)
    network, tokenizer = _network(settings, model)
    network.to(Ranks().device)  # before what feeds it asks where it is
    check_outputs(settings, 2 if network.unit == "logprob" else 1)
    limits = tokenizer.model_max_length, position_limit(network.encoder)
    reader = NetworkReader(
        network,
        tokenizer,
        max_tokens=choose_max_tokens(model, settings.read.max_tokens, *limits),
        max_query_tokens=query_limit(network, settings.read.max_query_tokens),
        batch_tokens=DEFAULT_BATCH_TOKENS,
        notes=Notes(),  # it would count cut queries again in each validation; they are counted below
    )
    if score_cache is not None and not settings.network.frozen:
        raise InputError("a score cache is for encoders that are not trained", fix="set network.frozen = true")
    if score_cache is not None:
        reader.use_cache(score_cache, "float32")
    segmenter = make_segmenter(settings.read.passages, settings.read.options, reader.offset_tokenizer)
    _check_passages(network, segmenter)
    samples, taught = make_training_samples(settings, data, notes), None
    if settings.teacher is not None:
        taught = _taught(settings.teacher, set(data.train))
        check_taught(_sampled_from(settings, data), taught)
    for query_id in (*data.train, *data.dev):
        cut = query_id in data.queries and reader.packer.cuts_query(data.queries[query_id].text)
        notes.add(f"queries cut at {reader.packer.max_query_tokens} tokens", query_id, cut)
    return RankingTask(
        reader,
        tokenizer,
        segmenter,
        samples=samples,
        data=data,
        settings=settings,
        fingerprint=model.fingerprint,
        notes=notes,
        taught=taught,
    )


def _network(settings: TrainingSettings, model: Model) -> tuple[Any, Any]:
    """Return the network to train and its tokenizer: the one in a folder, or a new one on a pretrained model."""
    wanted = settings.network
    if (model.path / FILE).is_file():
        _check_same(wanted, describe(model.path), model.path)
        network, tokenizer, _ = load_network(model.path)
    else:
        network, tokenizer = new_network(
            wanted.name, model, options=wanted.options, preset=wanted.preset, seed=settings.loop.seed
        )
    dropout = 0.0 if wanted.frozen else wanted.dropout
    if dropout is not None:
        _set_dropout(network.encoder, dropout)
    if wanted.frozen:
        _freeze(network)
    return network, tokenizer


def _check_same(wanted: NetworkSettings, found: Mapping[str, Any], path: Path) -> None:
    """Refuse a document network in a folder that is another than the one to be trained.

    Raises:
        InputError: it has another name or other options.
    """
    if found["network"] != wanted.name:
        raise InputError(
            f"is the document network {found['network']}, the training is of {wanted.name}",
            path=path,
            fix=f"longrank create {wanted.name} --model makes one on its encoder",
        )
    options = checked_options(wanted.name, preset_options(wanted.name, wanted.preset) | wanted.options)
    then = {**options_of(wanted.name), **found["options"]}
    for option, value in options.items():
        if then.get(option) != value:
            raise InputError(
                f"is a network whose {option} is {shown(then.get(option))}",
                path=path,
                got=f"network.options.{option} = {value}",
                fix="leave network.options and network.preset out, or as they were",
            )


def _check_passages(network: DocumentNetwork, segmenter: Segmenter) -> None:
    """Refuse passages of which a document may have more than the network reads.

    Raises:
        InputError: it may.
    """
    cap, most = getattr(segmenter, "cap", None), network.max_passages
    if cap is not None and most is not None and not 0 < cap.most <= most:
        raise InputError(
            f"the network {network.name} reads at most {most} passages of a document",
            got=f"max_passages = {cap.most}" if cap.most else "no max_passages",
            fix=f"set read.options.max_passages = {most}",
        )


def _set_dropout(encoder: torch.nn.Module, dropout: float) -> None:
    """Set all dropouts of an encoder: modules, and numbers that modules hand to attention (ModernBERT, Longformer)."""
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, dropout)


def _freeze(network: DocumentNetwork) -> None:
    """Let nothing be trained that the representations of passages depend on.

    Raises:
        InputError: nothing else is there.
    """
    read = {weights.data_ptr() for weights in network.encoded_by()[1].values()}
    for values in network.parameters():
        values.requires_grad = values.data_ptr() not in read and values.requires_grad
    if not any(values.requires_grad for values in network.parameters()):
        raise InputError(f"with a frozen encoder there is nothing to train in {network.name}", got="network.frozen")


def make_training_samples(settings: TrainingSettings, data: Data, notes: Notes) -> Samples:
    """Return what is learned from, after checking that the losses can learn from it.

    Args:
        settings: the whole training.
        data: what it is drawn from.
        notes: counts dropped queries and documents, and why.

    Raises:
        InputError: as `make_samples` and `check_losses`.
    """
    sources, options = _sources(settings, data, notes)
    kind, seed, n_negatives = settings.samples.kind, settings.loop.seed, settings.samples.n_negatives
    samples = make_samples(kind, data.train, sources, options, seed=seed, notes=notes, n_negatives=n_negatives)
    check_losses(settings, len(samples[0].doc_ids))
    return samples


def _sampled_from(settings: TrainingSettings, data: Data) -> list[Candidates]:
    """Return what the samples are drawn from, of queries that have enough."""
    wanted, notes = settings.samples, Notes()
    found = find_candidates(data.train, *_sources(settings, data, notes), notes)
    if wanted.kind == "pointwise":
        return found
    n_negatives = (wanted.n_negatives or LCE_NEGATIVES) if wanted.kind == "groups" else 1
    return with_both_sides(found, n_negatives, notes)


def _sources(settings: TrainingSettings, data: Data, notes: Notes) -> tuple[Sources, CandidateOptions]:
    wanted = settings.samples
    options = CandidateOptions(
        relevance_level=wanted.relevance_level,
        depth=wanted.depth,
        in_run=wanted.in_run,
        negatives=wanted.negatives,
        ranks=None if wanted.ranks is None else (wanted.ranks[0], wanted.ranks[1]),
        unjudged=wanted.unjudged,
    )
    doc_ids = data.index.doc_ids(np.arange(len(data.index))) if wanted.negatives == "random" else None
    qrels = data.qrels if wanted.in_run else _judged_here(data, notes)
    return Sources(qrels, data.run, doc_ids=doc_ids), options


def _judged_here(data: Data, notes: Notes) -> Qrels:
    """Return the training queries' judgments of documents that the index has; qrels may be of a larger collection."""
    here: dict[str, dict[str, int]] = {}
    for query_id in data.train:
        judged = data.qrels.get(query_id, {})
        here[query_id] = {doc_id: grade for doc_id, grade in judged.items() if doc_id in data.index}
        lacking = next((doc_id for doc_id in judged if doc_id not in here[query_id]), "")
        notes.add("judged documents that the index lacks, left out", lacking, len(judged) - len(here[query_id]))
    return here


def _taught(teacher: TeacherSettings, query_ids: Container[str]) -> dict[tuple[str, str], float]:
    """Return the teacher's score of each document of these queries."""
    aggregate = make_aggregator(teacher.aggregator)
    _, evidence = read_evidence(Path(teacher.evidence))
    return {(one.query_id, one.doc_id): aggregate(one) for one in evidence if one.query_id in query_ids}
