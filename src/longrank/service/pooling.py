"""Pools of documents to judge: the best documents of every pipeline, in an order that hides pipelines and ranks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from longrank.draws import digest
from longrank.service.judging import Judging
from longrank.service.rankings import Rankings, Search
from longrank.service.rerank import Service
from longrank.service.search import Selection
from longrank.types import Query

_PASSAGES = 3  # shown of each document
_SHOWN = ("start", "end", "text", "words", "highlights", "place")


class Pools:
    """Pools of the topics, each computed once for each state of the index.

    Args:
        service: a server with an index.
        judging: topics, depth and seed.
        rankings: answers the searches.
    """

    def __init__(self, service: Service, judging: Judging, rankings: Rankings) -> None:
        self._service, self._judging, self._rankings = service, judging, rankings
        self._known: dict[tuple[str, str, str, str | None], list[dict[str, Any]]] = {}

    async def of(self, query: Query) -> list[dict[str, Any]]:
        """Return the pooled documents of a query in blind order: doc_id, title, passages in the text's order.

        Raises:
            Refusal: as `Rankings.search`.
        """
        index = self._service.engine.index
        assert index is not None
        language = query.fields.get(index.options.analyzer_field) if index.options.analyzer_field else None
        key = (index.digest, query.query_id, query.text, language)
        if key in self._known:
            return self._known[key]
        replies = [
            await self._reply(name, query.text, Selection(lang=language)) for name in self._service.engine.names()
        ]
        pool = blind((result for reply in replies for result in reply["results"]), query.query_id, self._judging.seed)
        if all(reply["digest"] == index.digest for reply in replies):  # the index may change meanwhile
            self._known[key] = pool
        return pool

    async def _reply(self, pipeline: str, text: str, selection: Selection) -> dict[str, Any]:
        deadline = time.monotonic() + self._service.settings.deadline
        asked = Search(text, pipeline, self._judging.depth, _PASSAGES, selection)
        return await self._rankings.search(asked, deadline)


def blind(results: Iterable[Mapping[str, Any]], query_id: str, seed: int) -> list[dict[str, Any]]:
    """Return each document once, in an order drawn by the seed, with the passages that the first result with any shows.

    Args:
        results: results of all pipelines, as replies have them.
        query_id: the query.
        seed: seed of the order.
    """
    documents: dict[str, Mapping[str, Any]] = {}
    for result in results:
        if result["doc_id"] not in documents or not documents[result["doc_id"]]["passages"]:
            documents[result["doc_id"]] = result
    order = sorted(documents, key=lambda doc_id: digest(seed, query_id, doc_id))
    return [_shown(documents[doc_id]) for doc_id in order]


def _shown(result: Mapping[str, Any]) -> dict[str, Any]:
    passages = sorted(result["passages"], key=lambda passage: int(passage["start"]))
    return {
        "doc_id": result["doc_id"],
        "title": result["title"],
        "passages": [_without_scores(passage) for passage in passages],
    }


def _without_scores(passage: Mapping[str, Any]) -> dict[str, Any]:
    return {name: passage[name] for name in _SHOWN if name in passage}
