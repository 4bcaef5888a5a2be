"""First stages by name, with the sources of their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class FirstStage:
    """The settings of a first stage.

    Attributes:
        similarity: a key of `SIMILARITIES`.
        parameters: options of the similarity; the others have their defaults.
        doc_lengths: ``lucene`` or ``exact``; see `Searcher`.
        feedback: ``none``, or a key of `FEEDBACKS`.
        options: options of the feedback model; the others have their defaults.
        analyzer: the analyzer that the index must have; empty: any.
        kind: ``words``, or a key of `VECTOR_STAGES`: ``dense`` or ``sparse`` passages; ``hybrid`` or
            ``sparse-hybrid``: words and these, fused.
        vectors: options of the stage in `VECTOR_STAGES`; the others have their defaults.
    """

    similarity: str = "bm25"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    doc_lengths: str = "lucene"
    feedback: str = "none"
    options: Mapping[str, Any] = field(default_factory=dict)
    analyzer: str = ""
    kind: str = "words"
    vectors: Mapping[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """The settings in a line."""
        if self.kind == "dense":
            return "Cosine of the best passage, from stored vectors (`dense:VECTORS` names them)"
        if self.kind == "sparse":
            return "Product of the best passage, from stored sparse vectors (`sparse:VECTORS` names them)"
        kind = {"hybrid": "dense", "sparse-hybrid": "sparse"}.get(self.kind)
        return self._words + (f" fused with {kind} passages (`{self.kind}:VECTORS`)" if kind else "")

    @property
    def reads_words(self) -> bool:
        """True if the stage searches for words, alone or beside vectors."""
        return self.kind not in ("dense", "sparse")

    @property
    def _words(self) -> str:
        parameters = [f"{name} = {value}" for name, value in self.parameters.items()]
        feedback = [self.feedback] if self.feedback != "none" else []
        analyzer = [f"for an index with --analyzer {self.analyzer}"] if self.analyzer else []
        return ", ".join([self.similarity.upper(), *parameters, *feedback, *analyzer])


SETTINGS = ("similarity", "doc_lengths", "feedback")
"""The settings that every first stage has."""


def _bm25(k1: float, b: float) -> FirstStage:
    return FirstStage(parameters={"k1": k1, "b": b})


_BASES = {
    "bm25-anserini": _bm25(k1=0.9, b=0.4),  # Anserini's default; MaxP, Birch, h2oloo, PARADE
    "bm25-lucene": _bm25(k1=1.2, b=0.75),  # Lucene's and Solr's default; Santos et al.
    "bm25-msmarco-passage": _bm25(k1=0.82, b=0.68),  # h2oloo, tuned for recall at 1000
    "bm25-msmarco-doc": _bm25(k1=3.44, b=0.87),  # h2oloo, tuned for average precision
    "ql": FirstStage("ql", {"mu": 1000.0}),  # Anserini's default
}
_WITH_VECTORS = {
    "dense": FirstStage(kind="dense"),
    "hybrid": replace(_BASES["bm25-anserini"], kind="hybrid"),
    "sparse": FirstStage(kind="sparse"),
    "sparse-hybrid": replace(_BASES["bm25-anserini"], kind="sparse-hybrid"),
}
_H2OLOO = {"": "none", "_ax": "axiomatic", "_prf": "bm25prf", "_rm3": "rm3"}
_H2OLOO_TUNED = {"": "bm25-msmarco-doc", "_p": "bm25-msmarco-passage"}


def _presets(feedbacks: tuple[str, ...]) -> dict[str, FirstStage]:
    """Return each base alone and with each feedback model, h2oloo's sixteen baselines by run tag, and Santos' two."""
    presets = dict(_BASES)
    presets |= {f"{name}+{fb}": replace(base, feedback=fb) for name, base in _BASES.items() for fb in feedbacks}
    for suffix, feedback in _H2OLOO.items():
        for collection, tuned in _H2OLOO_TUNED.items():
            presets[f"bm25base{suffix}{collection}"] = replace(_BASES["bm25-anserini"], feedback=feedback)
            presets[f"bm25tuned{suffix}{collection}"] = replace(_BASES[tuned], feedback=feedback)
    for name, analyzer in (("santos-bm25", "none"), ("santos-bm25-porter", "porter")):
        presets[name] = replace(_BASES["bm25-lucene"], analyzer=analyzer)
    return presets | _WITH_VECTORS


PRESETS: Mapping[str, FirstStage] = MappingProxyType(_presets(("rm3", "bm25prf", "axiomatic", "rocchio")))
"""First stages by name: ``BASE``, ``BASE+FEEDBACK``, h2oloo's baselines at TREC 2019 (``_p``: for passages), and the
baselines of Santos et al., without and with stemming and stop words; and stages that need stored passage vectors."""
