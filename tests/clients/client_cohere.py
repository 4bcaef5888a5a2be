"""Cohere's SDK, 5.x or 7.x: ClientV2, AsyncClientV2 and Client."""

from __future__ import annotations

import asyncio
from typing import Any

import cohere
from asking import answer, failed, timed

SPANS = {"mode": "enabled", "threshold": 0.3, "max_spans": 2}


def rerank(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Rank with all three clients; the second version's with evidence and spans."""
    asked = {"model": "maxp", "query": query, "documents": texts}
    own = {"additional_body_parameters": {"evidence": True, "passages": 1, "relevant_spans": SPANS}}
    second = cohere.ClientV2(key, base_url=url).rerank(**asked, request_options=own)

    async def awaited() -> Any:
        client = cohere.AsyncClientV2(key, base_url=url)
        return await asyncio.gather(*(client.rerank(**asked, top_n=2) for _ in range(4)))

    first = cohere.Client(key, base_url=url).rerank(**asked, return_documents=True)
    return {
        "version": cohere.__version__,
        "v2": [one.dict() for one in second.results],
        "meta": second.meta.dict(),
        "async": [[one.index for one in answered.results] for answered in asyncio.run(awaited())],
        "v1": [[one.index, one.relevance_score, one.document.text] for one in first.results],
    }


def spans(url: str, key: str, query: str, texts: list[str]) -> list[list[list[Any]]]:
    """Return the typed spans that the SDK's own argument asks for (7.x)."""
    client = cohere.ClientV2(key, base_url=url)
    found = client.rerank(model="maxp", query=query, documents=texts, relevant_spans=SPANS)
    return [[[span.start, span.end, span.score] for span in one.relevant_spans or []] for one in found.results]


def errors(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Return what is raised for a wrong key, a wrong host, and requests that are wrong in several ways."""
    client, stranger = cohere.ClientV2(key, base_url=url), cohere.ClientV2("wrong", base_url=url)
    asked: dict[str, Any] = {"model": "maxp", "query": query, "documents": texts}
    host = {"additional_headers": {"Host": "elsewhere.example"}, "max_retries": 0}
    return {
        "key": failed(lambda: stranger.rerank(**asked)),
        "host": failed(lambda: client.rerank(**asked, request_options=host)),
        "documents": failed(lambda: client.rerank(**{**asked, "documents": []})),
        "top_n": failed(lambda: client.rerank(**asked, top_n=-1)),
        "many": failed(lambda: client.rerank(**{**asked, "documents": ["a"] * 1001})),
    }


def busy(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Ask once without retrying, then as the SDK does by itself."""
    client = cohere.ClientV2(key, base_url=url)
    asked = {"model": "maxp", "query": query, "documents": texts}
    refused = failed(lambda: client.rerank(**asked, request_options={"max_retries": 0}))
    found, seconds = timed(lambda: client.rerank(**asked))
    return {"refused": refused, "order": [one.index for one in found.results], "seconds": seconds}


answer(rerank, spans, errors, busy)
