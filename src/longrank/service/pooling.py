"""Pools of documents to judge: the best documents of every pipeline, in an order that hides pipelines and ranks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from longrank.draws import digest
from longrank.ranking.found import Result, passage_json
from longrank.service.judging import Judging
from longrank.service.rerank import Service
from longrank.service.search import search_index
from longrank.types import Query

_PASSAGES = 3  # shown of each document
_SHOWN = ("start", "end", "text", "words", "highlights", "place")


class Pools:
    """Pools of the topics, each computed once for each state of the index.

    Args:
        service: a server with an index.
        judging: topics, depth and seed.
    """

    def __init__(self, service: Service, judging: Judging) -> None:
        self._service, self._judging = service, judging
        self._known: dict[tuple[str, str], list[dict[str, Any]]] = {}

    async def of(self, query: Query) -> list[dict[str, Any]]:
        """Return the pooled documents of a query in blind order: doc_id, title, passages in the text's order.

        Raises:
            Refusal: as `search_index`.
        """
        index = self._service.engine.index
        assert index is not None
        key = (index.digest, query.query_id)
        if key not in self._known:
            found = [result for name in self._service.engine.names() for result in await self._results(name, query)]
            self._known[key] = blind(found, query.query_id, self._judging.seed)
        return self._known[key]

    async def _results(self, pipeline: str, query: Query) -> list[Result]:
        deadline = time.monotonic() + self._service.settings.deadline
        answer = await search_index(
            self._service,
            query.text,
            pipeline=pipeline,
            k=self._judging.depth,
            passages=_PASSAGES,
            deadline=deadline,
        )
        return answer.results


def blind(results: Iterable[Result], query_id: str, seed: int) -> list[dict[str, Any]]:
    """Return each document once, in an order drawn by the seed, with the passages that the first result with any shows.

    Args:
        results: results of all pipelines.
        query_id: the query.
        seed: seed of the order.
    """
    documents: dict[str, Result] = {}
    for result in results:
        if result.doc_id not in documents or not documents[result.doc_id].passages:
            documents[result.doc_id] = result
    order = sorted(documents, key=lambda doc_id: digest(seed, query_id, doc_id))
    return [_shown(documents[doc_id]) for doc_id in order]


def _shown(result: Result) -> dict[str, Any]:
    passages = sorted(result.passages, key=lambda passage: passage.start)
    return {
        "doc_id": result.doc_id,
        "title": result.title,
        "passages": [_without_scores(passage_json(passage)) for passage in passages],
    }


def _without_scores(passage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: passage[name] for name in _SHOWN if name in passage}
