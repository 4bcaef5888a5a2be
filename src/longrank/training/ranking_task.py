"""Train a document network: samples of documents go in, the loss of their scores comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from longrank.evaluation.measures import evaluate, summarise
from longrank.evaluation.names import parse_measure
from longrank.models.folders import save_network
from longrank.models.network import DocumentNetwork, padded
from longrank.protocols import Segmenter
from longrank.ranking.passages import texts_read
from longrank.text.sentences import splitter_in
from longrank.training.cuts import Cuts
from longrank.training.initial_network import open_initial
from longrank.training.loss_terms import loss_kind, weighted_loss
from longrank.training.losses import log_probabilities
from longrank.training.passages import Reading, make_passage_choice
from longrank.training.ranking_data import Data, Material
from longrank.training.ranks import Ranks
from longrank.training.settings import DocumentTraining
from longrank.training.teacher_evidence import learns_two_outputs
from longrank.training.teacher_network import TeacherNetwork
from longrank.types import Document, Notes, Run, ScoredDoc

_KEPT_DOCUMENTS = 4096  # documents whose passages are kept in memory


class _Reading(NamedTuple):
    """A reading of an instance: the texts of some passages of each document."""

    query: str
    doc_ids: tuple[str, ...]
    texts: list[list[str]]
    labels: tuple[float, ...]
    taught: list[float]


class RankingTask:
    """A document network that learns from samples of documents; a `longrank.training.loop.Task`.

    Args:
        settings: the whole training.
        data: queries, judgments and documents.
        material: the samples and the teacher's scores.
        notes: counts cut queries and documents, and dev queries of no use.

    Attributes:
        network: to be trained.
        reader: the network with its input.
        fingerprint: names the weights that the network begins with.
        lineage: the earlier trainings of the weights, from their description.
        splitter: names the sentence splitter and its version; None if the passages count no sentences.
        teacher: the teacher, if it is a document network.

    Raises:
        InputError: an unknown loss, measure, choice of passages or option; or as `open_initial`.
        MissingExtra: torch or transformers are not installed.
    """

    def __init__(self, settings: DocumentTraining, data: Data, material: Material, notes: Notes) -> None:
        self.reader, self._tokenizer, segmenter, self.fingerprint, self.lineage = open_initial(settings, notes)
        self.splitter = splitter_in(segmenter.fingerprint)
        self.network: DocumentNetwork = self.reader.network
        notes.merge(material.notes)
        self._samples, self._data, self._settings, self._taught = material.samples, data, settings, material.taught
        self._note_queries(notes)
        self._two_outputs = learns_two_outputs(settings)
        self._loss, self._reads = weighted_loss(settings.loss), loss_kind(settings.loss[0]).reads
        by_network = settings.teacher is not None and settings.teacher.model is not None
        self.teacher = TeacherNetwork(settings, self.network, notes) if by_network else None
        self._width = len(material.samples[0].doc_ids)
        self._cuts = Cuts(notes)
        self._choice = make_passage_choice(settings.samples.passages, keep=settings.samples.keep)
        self._measure = parse_measure(settings.validation.measure)
        self._texts: Callable[[str], tuple[str, ...]] = lru_cache(_KEPT_DOCUMENTS)(
            lambda doc_id: self._read(data.index.document(doc_id, metadata=False), segmenter)
        )

    def _read(self, document: Document, segmenter: Segmenter) -> tuple[str, ...]:
        """Return the text that the network reads of each passage of a document."""
        segmentation = segmenter.segment(document)
        self._cuts.add("documents whose title is cut", document.doc_id, segmentation.title is not None)
        return texts_read(document, segmentation, title=self._settings.read.title)

    def _note_queries(self, notes: Notes) -> None:
        """Count dev queries that choose nothing, and queries that are cut."""
        data, depth, packer = self._data, self._settings.validation.depth, self.reader.packer
        for query_id in data.dev if self._settings.loop.validate_every is not None else ():
            relevant = any(data.qrels[query_id].get(row.doc_id, 0) > 0 for row in data.run.get(query_id)[:depth])
            what = f"dev queries without a relevant document among the first {depth}, which choose nothing"
            notes.add(what, query_id, not relevant)
        for query_id in (*data.train, *data.dev):
            cut = query_id in data.queries and packer.cuts_query(data.queries[query_id].text)
            notes.add(f"queries cut at {packer.max_query_tokens} tokens", query_id, cut)

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over instances; the loss of an instance is the mean over its readings."""
        by_instance = [self._readings(n) for n in instances]
        readings = [reading for readings in by_instance for reading in readings]
        documents = [pair for reading in readings for pair in zip(reading.doc_ids, reading.texts, strict=True)]
        doc_ids, texts = zip(*documents, strict=True)
        pairs = [(reading.query, text) for reading in readings for passages in reading.texts for text in passages]
        rows, cut = self._represented(pairs)
        self._count_cut(doc_ids, texts, cut)
        sizes = [len(passages) for passages in texts]
        outputs = self._outputs(*padded(rows, torch.tensor(sizes)))
        labels = torch.tensor([reading.labels for reading in readings], device=outputs.device)
        inputs = {"labels": labels[:, 0] if self._reads == "logits" else labels}
        if (taught := self._teacher(readings, pairs, sizes, outputs)) is not None:
            inputs["teacher"] = taught
        losses, start = [], 0
        for part in map(len, by_instance):
            here = slice(start, start := start + part)
            losses.append(self._loss(outputs[here], **{name: values[here] for name, values in inputs.items()}))
        return torch.stack(losses).mean()

    def _teacher(
        self,
        readings: Sequence[_Reading],
        pairs: Sequence[tuple[str, str]],
        sizes: Sequence[int],
        outputs: torch.Tensor,
    ) -> torch.Tensor | None:
        """Return the teacher's scores of the documents of readings, [R, G], or its outputs, [R, C]."""
        if self.teacher is not None:
            return self.teacher.outputs(pairs, sizes, self._reads).to(outputs.device).view_as(outputs)
        if self._taught is None:
            return None
        taught = torch.tensor([reading.taught for reading in readings], device=outputs.device)
        return log_probabilities(taught) if self._two_outputs else taught

    def _represented(self, pairs: Sequence[tuple[str, str]]) -> tuple[torch.Tensor, Sequence[bool]]:
        """Return the representation of each (query, passage), [N, *F], and whether the passage was cut.

        Representations of a frozen encoder come from the score cache, if there is one.
        """
        if self._settings.network.frozen:
            rows, cut = self.reader.read(pairs)
            return torch.from_numpy(rows).to(self.network.encoder.device), cut.tolist()
        packed = self.reader.packed(pairs)
        return self.reader.encode(packed), [pair.truncated for pair in packed]

    def _outputs(self, passages: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the input of the loss: scores of readings [R, G], or logits of their only documents [R, C]."""
        if self._reads == "logits":
            return self.network.logits(passages, mask)
        return self.network.aggregate(passages, mask).view(-1, self._width)

    def _readings(self, n: int) -> list[_Reading]:
        """Return the readings of instance n."""
        group = self._samples[n]
        texts = [self._texts(doc_id) for doc_id in group.doc_ids]
        query = self._data.queries[group.query_id].text
        taught = [] if self._taught is None else [self._taught[group.query_id, doc_id] for doc_id in group.doc_ids]
        return [
            _Reading(query, group.doc_ids, _some(texts, places), group.labels, taught)
            for places in self._choice(group, list(map(len, texts)), self._settings.loop.seed, n)
        ]

    def validate(self) -> float:
        """Return the mean of the measure over the dev queries, reranked."""
        dev = self._data.dev
        rankings = Ranks().shared(len(dev), lambda n: self._reranked(dev[n]))
        run = Run("dev", (row for ranking in rankings for row in ranking))
        qrels = {query_id: self._data.qrels[query_id] for query_id in self._data.dev}
        (values,) = evaluate(qrels, run, [self._measure]).values()
        return summarise(str(self._measure), list(values.values()))

    def _reranked(self, query_id: str) -> list[ScoredDoc]:
        candidates = self._data.run.get(query_id)[: self._settings.validation.depth]
        if not candidates:
            return []
        query, doc_ids = self._data.queries[query_id].text, [row.doc_id for row in candidates]
        texts = [self._texts(doc_id) for doc_id in doc_ids]
        rows, cut = self.reader.read([(query, text) for passages in texts for text in passages])
        self._count_cut(doc_ids, texts, cut.tolist())
        sizes = torch.tensor([len(passages) for passages in texts])
        scores = self.network.aggregate(*padded(torch.from_numpy(rows).to(self.network.encoder.device), sizes))
        return [ScoredDoc(query_id, *scored) for scored in zip(doc_ids, scores.tolist(), strict=True)]

    def _count_cut(self, doc_ids: Sequence[str], texts: Sequence[Sequence[str]], cut: Sequence[bool]) -> None:
        """Count documents with a cut passage, each once; ``cut`` has a flag per passage of all documents."""
        flags = iter(cut)
        for doc_id, passages in zip(doc_ids, texts, strict=True):
            cut_here = any([next(flags) for _ in passages])
            self._cuts.add(f"documents with passages cut at {self._settings.read.max_tokens} tokens", doc_id, cut_here)

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the network with its tokenizer and the record of its training."""
        save_network(folder, self.network, self._tokenizer, record)


def _some(texts: Sequence[Sequence[str]], places: Reading) -> list[list[str]]:
    """Return the texts of the passages at `places` of each document."""
    return [[passages[i] for i in chosen] for passages, chosen in zip(texts, places, strict=True)]
