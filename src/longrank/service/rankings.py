"""The two rankings that a server answers: searches of the index, and rerankings of texts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from longrank.service.rerank import Answer, RerankRequest, Service, rerank
from longrank.service.search import NO_SELECTION, Selection, reply_json, search_index
from longrank.service.within import rerank_within


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the index.

    Attributes:
        query: the query.
        pipeline: name of a served pipeline; None: the default.
        k: documents to return.
        passages: passages to show of each document.
        selection: filter, shown fields and facets.
    """

    query: str
    pipeline: str | None
    k: int
    passages: int
    selection: Selection = NO_SELECTION


class Rankings(Protocol):
    """Answers rankings; times are those of `time.monotonic`."""

    async def search(self, asked: Search, deadline: float, by: float | None = None) -> dict[str, Any]:
        """Return the reply to a search, without its id.

        Args:
            asked: the search.
            deadline: time until which the answer is useful.
            by: time of an answer with the passages that are read by then; None: all is read.

        Raises:
            InputError, Refusal: as `search_index`.
        """

    async def rerank(self, asked: RerankRequest, deadline: float, by: float | None = None) -> Answer:
        """Return the documents of a request, ranked; arguments as of `search`.

        Raises:
            Refusal: as `longrank.service.rerank.rerank`.
        """


class Here:
    """Answers rankings in this process.

    Args:
        service: the loaded pipelines.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def search(self, asked: Search, deadline: float, by: float | None = None) -> dict[str, Any]:
        """Answer a search, as `Rankings.search`."""
        options: dict[str, Any] = {"k": asked.k, "passages": asked.passages, "selection": asked.selection}
        answer = await search_index(
            self._service, asked.query, pipeline=asked.pipeline, deadline=deadline, by=by, **options
        )
        return await asyncio.to_thread(reply_json, self._service, answer, asked.query, **options)

    async def rerank(self, asked: RerankRequest, deadline: float, by: float | None = None) -> Answer:
        """Answer a reranking, as `Rankings.rerank`."""
        if by is None:
            return await rerank(self._service, asked, deadline)
        return await rerank_within(self._service, asked, by)
