"""A Lucene index as a first stage, built and searched by Anserini or pyserini.

    longrank retrieve lucene:PATH QUERIES -o RUN

Documents and scores are Lucene's; ties are in LongRank's order. pyserini offers RM3 and Rocchio for feedback.
Anserini's last step rounds scores to four decimals and lowers each of equal scores by a millionth, so that every tool
keeps its order (ScoreTiesAdjusterReranker). LongRank skips this step and keeps Lucene's scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.registries import check_at_least, suggestion
from longrank.retrieval.anserini import SEARCHER, anserini
from longrank.retrieval.feedback import FEEDBACKS
from longrank.retrieval.noting import Noting
from longrank.retrieval.presets import FirstStage
from longrank.retrieval.similarities import parameters_of
from longrank.types import Notes, Query, Run, ScoredDoc

_SIMILARITIES = {"bm25": "set_bm25", "ql": "set_qld"}  # methods of Anserini's searcher
_ANALYZERS = ("", "porter")
_OPTIONS = {
    "none": (),
    "rm3": ("fb_terms", "fb_docs", "original_query_weight"),
    "rocchio": ("fb_terms", "fb_docs", "alpha", "beta"),
}
"""Feedback models of pyserini and their options."""


class LuceneRetriever(Noting):
    """Ranks the documents of a Lucene index; thread-safe, but calls wait for each other.

    Attributes:
        path: folder of the index.
        notes: notes of the retriever.
    """

    def __init__(self, path: Path | str, stage: FirstStage | None = None, *, notes: Notes | None = None) -> None:
        """Open an index.

        Args:
            path: folder of the index. Its documents need the fields ``id`` and ``contents``, as Anserini writes
                them, and term vectors for feedback. Queries are analysed as by Anserini's default (English,
                without stop words, Porter).
            stage: similarity ``bm25`` or ``ql``, feedback ``none``, ``rm3`` or ``rocchio``. Default: BM25 with
                Anserini's parameters.
            notes: counts rankings that end in a tie with documents left out.

        Raises:
            MissingExtra: pyserini is not installed.
            InputError: no fitting Java, no such index, or a setting that pyserini lacks.
        """
        self.path, self.notes = Path(path), Notes() if notes is None else notes
        stage = FirstStage() if stage is None else stage
        options = _offered(stage)
        if not self.path.is_dir():
            raise InputError("no such folder", path=self.path)
        self._java = anserini()
        self._least = 1  # least number of documents per search
        with self._refusals():
            self._searcher = self._java.call(self._opened, stage, options)

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first, ties by doc_id descending.

        Among documents with equal scores at the cut-off, Lucene keeps the lowest ids, not the highest; such rankings
        are counted.

        Raises:
            InputError: k < 1, or Lucene refuses the query (more than 1024 distinct terms).
        """
        check_at_least("k", k, 1)
        text = query.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # no unpaired surrogates
        with self._refusals(f"query {query.query_id!r}: "):
            rows = self._java.call(self._search, text, max(k + 1, self._least))
        hits = [ScoredDoc(query.query_id, doc_id, score) for doc_id, score in rows]
        if len(hits) > k and hits[k - 1].score == hits[k].score:
            self.notes.add("rankings that end in a tie, of which Lucene chose the lowest doc_ids", query.query_id)
        return list(Run("", hits[:k]).get(query.query_id))

    @contextmanager
    def _refusals(self, where: str = "") -> Iterator[None]:
        """Turn Java's exceptions into a one-line error."""
        try:
            yield
        except self._java.fault as fault:
            message = getattr(fault, "innermessage", None) or str(fault).partition("\n")[0]
            raise InputError(f"{where}Lucene refuses", path=self.path, got=message) from None

    def _search(self, text: str, n: int) -> list[tuple[str, float]]:
        return [(hit.docid, hit.score) for hit in self._searcher.search(text, n)]

    def _opened(self, stage: FirstStage, options: dict[str, Any]) -> Any:
        searcher = self._java.load(SEARCHER)(str(self.path))
        getattr(searcher, _SIMILARITIES[stage.similarity])(*map(float, parameters_of(stage).values()))
        if options and not searcher.reader.getTermVectors(0):
            fix = "build it with --storeDocvectors"
            raise InputError(f"has no term vectors, which {stage.feedback} needs", path=self.path, fix=fix)
        if stage.feedback == "rm3":
            searcher.set_rm3(*options.values())
        elif stage.feedback == "rocchio":
            terms, docs, alpha, beta = options.values()
            searcher.set_rocchio(None, terms, docs, terms, docs, alpha, beta, 0.0, False, False)
            self._least = docs  # it reads its own results; RM3 searches again
        steps = searcher.cascade.rerankers
        steps.remove(steps.size() - 1)  # the rounding
        return searcher


def _offered(stage: FirstStage) -> dict[str, Any]:
    """Return the options of the feedback, in the order of `_OPTIONS`.

    Raises:
        InputError: a setting that pyserini lacks, or an option out of range.
    """
    fix = "; longrank index builds an index that has it"
    if stage.doc_lengths != "lucene":
        raise InputError("a Lucene index has rounded lengths only", got=stage.doc_lengths, fix=f"use lucene{fix}")
    for setting, value, known in (
        ("similarity", stage.similarity, _SIMILARITIES),
        ("feedback", stage.feedback, tuple(_OPTIONS)),
        ("analyzer", stage.analyzer, _ANALYZERS),
        *((f"option of {stage.feedback}", name, _OPTIONS.get(stage.feedback, ())) for name in stage.options),
    ):
        if value not in known:
            raise InputError(f"pyserini has no such {setting}", got=value, fix=suggestion(value, known) + fix)
    if stage.feedback == "none":
        return {}
    model = FEEDBACKS[stage.feedback](**stage.options)
    return {name: getattr(model, name) for name in _OPTIONS[stage.feedback]}
