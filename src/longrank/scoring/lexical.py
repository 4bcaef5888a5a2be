"""BM25 of a passage: the scorer that needs no network.

A passage is scored as if it were a document of the collection, in Lucene's form of BM25 (Robertson
and Zaragoza 2009, without the constant factor k1 + 1):

    score(q, p) = sum over terms t of  qtf * idf(t) * tf / (tf + k1 * (1 - b + b * |p| / avgdl))
    idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))

N, df and avgdl count whole documents: those of the index, or those that came with the query (`TextStatistics`).
tf and |p|, the number of terms, are the passage's own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np

from longrank.errors import InputError
from longrank.index.similarity import idf
from longrank.protocols import CollectionStatistics, PassageScores, ScoringTask
from longrank.scoring.mixed import MixedScorer
from longrank.scoring.passage_terms import Analyzer, PassageTerms
from longrank.text.analysis import ANALYZERS, note_query
from longrank.types import Document, Notes, Query


class TextStatistics:
    """Statistics of the documents that came with a query, as an index of them would have; counted at first use.

    Args:
        documents: the documents.
        analyzer: the analysis chain of query and documents; None: that of English.
    """

    digest = "texts"

    def __init__(self, documents: Sequence[Document], analyzer: Analyzer | None = None) -> None:
        self._documents, self._analyzer = documents, analyzer or ANALYZERS["porter"]

    @cached_property
    def _counts(self) -> tuple[Counter[str], int, int]:
        """Documents per term, terms of all documents, documents that hold a term."""
        terms = [self._analyzer(f"{document.title}\n{document.text}") for document in self._documents]
        dfs = Counter(term for some in terms for term in set(some))
        return dfs, sum(map(len, terms)), sum(map(bool, terms))

    @property
    def n_nonempty(self) -> int:
        """Number of documents that hold a term, N."""
        return self._counts[2]

    @property
    def avgdl(self) -> float:
        """Mean number of terms of these documents; 0 if there are none."""
        return self._counts[1] / max(1, self._counts[2])

    def query_terms(self, query: Query) -> Counter[str]:
        """Return the terms of a query with their numbers of occurrences."""
        return Counter(self._analyzer(query.text))

    def document_analyzer(self, doc_id: str) -> Analyzer:
        """Return the analyzer, that of all these documents."""
        return self._analyzer

    def df(self, term: str) -> int:
        """Return the number of documents that hold `term`."""
        return self._counts[0][term]


class LexicalScorer:
    """BM25 of the passage with the statistics of the index, or of the texts that came with the query; no torch.

    Args:
        statistics: an index; None: every task must bring its own statistics.
        k1: saturation of repeated terms, >= 0.
        b: weight of passage length, 0 to 1.

    Raises:
        InputError: `k1` or `b` out of range.
    """

    needs_model, scores_documents = False, False
    unit = "bm25"

    def __init__(self, statistics: CollectionStatistics | None, *, k1: float = 0.9, b: float = 0.4) -> None:
        if not 0 <= k1 < math.inf:
            raise InputError("k1 must be 0 or more", got=k1)
        if not 0 <= b <= 1:
            raise InputError("b must be between 0 and 1", got=b)
        self._statistics, self._k1, self._b = statistics, float(k1), float(b)
        self._terms: dict[Analyzer, PassageTerms] = {}

    @property
    def fingerprint(self) -> str:
        """Names the collection, k1 and b."""
        digest = TextStatistics.digest if self._statistics is None else self._statistics.digest
        return f"lexical k1={self._k1} b={self._b} collection={digest}"

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return BM25 per passage, >= 0; nothing is truncated. The terms of the documents used last are kept in memory.

        Raises:
            InputError: no index was given, and a task has no statistics.
        """
        scores: list[PassageScores] = []
        for _, group in groupby(tasks, key=lambda task: (task.query.text, task.query.fields, id(task.statistics))):
            of_query = list(group)
            statistics = of_query[0].statistics or self._statistics
            if statistics is None:
                raise InputError("BM25 of a passage needs the statistics of a collection", fix="give an index")
            weights = _query_weights(statistics, of_query[0].query)
            for analyzer, some in groupby(of_query, key=lambda task: statistics.document_analyzer(task.doc_id)):
                scores += self._scores(statistics, weights, analyzer, [task.texts for task in some])
        return scores

    def _scores(
        self,
        statistics: CollectionStatistics,
        weights: Mapping[str, float],
        analyzer: Analyzer,
        documents: Sequence[Sequence[str]],
    ) -> list[PassageScores]:
        """Score the passages of documents that share an analyzer, by the weights of a query's terms."""
        found = self._terms.setdefault(analyzer, PassageTerms(analyzer)).count(list(weights), documents)
        relative = found.lengths / statistics.avgdl if statistics.avgdl else np.zeros(len(found.lengths))
        saturation = self._k1 * (1 - self._b + self._b * relative)
        weight = np.array(list(weights.values()), np.float64)[found.terms]
        gains = (weight * found.counts / (found.counts + saturation[found.passages])).tolist()
        ends = np.searchsorted(found.passages, np.arange(len(saturation)), side="right").tolist()
        scores = np.array([math.fsum(gains[start:end]) for start, end in pairwise([0, *ends])], np.float32)
        last = np.cumsum([len(texts) for texts in documents])[:-1]
        return [PassageScores(part, np.zeros(len(part), np.bool_)) for part in np.split(scores, last)]


def reads_words(scorer: object) -> bool:
    """Tell whether a scorer, or a scorer or selector that it consists of, scores passages by their words."""
    parts = [getattr(scorer, name) for name in ("scorer", "selector") if hasattr(scorer, name)]
    return isinstance(scorer, LexicalScorer) or any(map(reads_words, [*parts, *getattr(scorer, "scorers", ())]))


def note_words(scorer: object, query: Query, statistics: CollectionStatistics, notes: Notes) -> None:
    """Count a query as `note_query`, and a query whose words tell no passages apart, if no model does so in a mix."""
    note_query(query, statistics.query_terms, notes)
    is_mix = getattr(scorer, "unit", "") == MixedScorer.unit and not reads_words(getattr(scorer, "selector", None))
    if not is_mix and not _query_weights(statistics, query):
        what = "queries without a word of the documents that is no stop word: by words, every passage scores 0"
        notes.add(what, query.query_id)


def _query_weights(statistics: CollectionStatistics, query: Query) -> dict[str, float]:
    counts = statistics.query_terms(query)
    dfs = {term: statistics.df(term) for term in counts}
    return {term: n * float(idf(dfs[term], statistics.n_nonempty)) for term, n in counts.items() if dfs[term]}
