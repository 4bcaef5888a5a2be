"""First stages by name: everything that decides a ranking, with where the numbers come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class FirstStage:
    """The settings of a first stage.

    Attributes:
        similarity: ``bm25`` or ``ql``.
        k1: of BM25; see `BM25`.
        b: of BM25.
        mu: of query likelihood; see `QueryLikelihood`.
        doc_lengths: ``lucene`` or ``exact``; see `Searcher`.
        feedback: ``none``, or a key of `FEEDBACKS`.
        options: of that feedback model; what is not named has its default.
        analyzer: what the index must have been built with; empty if that does not matter.
    """

    similarity: str = "bm25"
    k1: float = 0.9
    b: float = 0.4
    mu: float = 1000.0
    doc_lengths: str = "lucene"
    feedback: str = "none"
    options: Mapping[str, Any] = field(default_factory=dict)
    analyzer: str = ""

    @property
    def about(self) -> str:
        """What it is, in a line."""
        parameters = f"BM25, k1 = {self.k1}, b = {self.b}" if self.similarity == "bm25" else f"QL, mu = {self.mu}"
        feedback = [self.feedback] if self.feedback != "none" else []
        analyzer = [f"of an index with --analyzer {self.analyzer}"] if self.analyzer else []
        return ", ".join([parameters, *feedback, *analyzer])


SETTINGS = tuple(one.name for one in fields(FirstStage) if one.name not in ("options", "analyzer"))
"""The settings that every first stage has."""

_BASES = {
    "bm25-anserini": FirstStage(k1=0.9, b=0.4),  # Anserini's default; MaxP, Birch, h2oloo, PARADE
    "bm25-lucene": FirstStage(k1=1.2, b=0.75),  # Lucene's and Solr's default; Santos et al.
    "bm25-msmarco-passage": FirstStage(k1=0.82, b=0.68),  # h2oloo, tuned for recall at 1000
    "bm25-msmarco-doc": FirstStage(k1=3.44, b=0.87),  # h2oloo, tuned for average precision
    "ql": FirstStage(similarity="ql", mu=1000.0),  # Anserini's default
}
_H2OLOO = {"": "none", "_ax": "axiomatic", "_prf": "bm25prf", "_rm3": "rm3"}
_H2OLOO_TUNED = {"": "bm25-msmarco-doc", "_p": "bm25-msmarco-passage"}


def _presets(feedbacks: tuple[str, ...]) -> dict[str, FirstStage]:
    """Return each base alone and with each feedback, h2oloo's sixteen under the tags of their runs, and Santos' two."""
    presets = dict(_BASES)
    presets |= {f"{name}+{fb}": replace(base, feedback=fb) for name, base in _BASES.items() for fb in feedbacks}
    for suffix, feedback in _H2OLOO.items():
        for collection, tuned in _H2OLOO_TUNED.items():
            presets[f"bm25base{suffix}{collection}"] = replace(_BASES["bm25-anserini"], feedback=feedback)
            presets[f"bm25tuned{suffix}{collection}"] = replace(_BASES[tuned], feedback=feedback)
    for name, analyzer in (("santos-bm25", "none"), ("santos-bm25-porter", "porter")):
        presets[name] = replace(_BASES["bm25-lucene"], analyzer=analyzer)
    return presets


PRESETS: Mapping[str, FirstStage] = MappingProxyType(_presets(("rm3", "bm25prf", "axiomatic", "rocchio")))
"""First stages by name: ``BASE``, ``BASE+FEEDBACK``, the baselines of h2oloo at TREC 2019 (``_p``: of passages), and
those of Santos et al., without and with stemming and stop words."""
