"""Analyses of collections, evidence, runs and costs."""

from __future__ import annotations

from longrank.verbs.analyze.collection import collection, relevant_passages
from longrank.verbs.analyze.evidence import depth, positions, sentences
from longrank.verbs.analyze.latency import latency
from longrank.verbs.analyze.runs import agreement, deltas, judged
from longrank.verbs.analyze.shown import evidence


class analyze:  # noqa: N801 - read as longrank.analyze.deltas(...)
    """Analyses of collections, evidence, runs and costs: ``longrank.analyze.deltas(qrels, run, baseline)``.

    Each returns an `Analysis`: ``values``, a table to print, ``write(path)`` (JSON) and ``draw(path)`` (SVG).
    """

    collection = staticmethod(collection)
    relevant_passages = staticmethod(relevant_passages)
    evidence = staticmethod(evidence)
    positions = staticmethod(positions)
    sentences = staticmethod(sentences)
    depth = staticmethod(depth)
    deltas = staticmethod(deltas)
    judged = staticmethod(judged)
    agreement = staticmethod(agreement)
    latency = staticmethod(latency)
