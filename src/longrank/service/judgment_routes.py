"""Routes of judging: grades of documents, topics with their progress, and pools in blind order."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi import Query as InAddress
from pydantic import Field

from longrank.formats.trec import MAX_GRADE
from longrank.service.dialects.common import NonEmpty, Strict
from longrank.service.errors import Refusal, not_ready
from longrank.service.judging import Judging
from longrank.service.pooling import Pools
from longrank.service.rankings import Rankings
from longrank.service.replies import Judged, PoolReply, TopicsReply
from longrank.service.rerank import Service, check_query
from longrank.service.routes import REFUSALS, StrictRoute
from longrank.types import Query

_Id = Annotated[str, InAddress(max_length=2000, description="Id of a query.")]
_Grade = Annotated[int, Field(ge=-MAX_GRADE, le=MAX_GRADE)]


class Judgment(Strict):
    """A grade of a document for a query; null removes the grade."""

    query: NonEmpty | None = Field(None, description="Text of the query; this or query_id.")
    query_id: NonEmpty | None = Field(None, description="Id of the query; this or query.")
    doc_id: NonEmpty
    grade: _Grade | None
    was: _Grade | None = Field(
        None, description="Grade that is replaced, null: none. Refused with 409 if it is another. Left out: any."
    )


def judgment_routes(service: Service, judging: Judging, rankings: Rankings) -> APIRouter:
    """Return the routes of judging.

    Args:
        service: a server with an index.
        judging: topics and grades.
        rankings: answers the searches of a pool.
    """
    routes = APIRouter(route_class=StrictRoute, responses=REFUSALS, tags=["judging"])
    pools = Pools(service, judging, rankings)

    @routes.get("/judgments", summary="Grades of a query's documents")
    async def grades(query: Annotated[str, InAddress(max_length=10_000)]) -> Judged:
        found = judging.find(query)
        return _judged(judging, found, allowed=found is not None or judging.takes_any)

    @routes.post("/judgments", summary="Grade a document")
    async def judge(body: Judgment) -> Judged:
        index = service.engine.index
        known = index is not None and body.doc_id in index
        if not known and not await asyncio.to_thread(_removes, judging, body):
            raise Refusal(404, "not_found", "/doc_id: no such document in the index")
        query = await asyncio.to_thread(_query, service, judging, body)
        was: int | Literal["any"] | None = body.was if "was" in body.model_fields_set else "any"
        kept = await asyncio.to_thread(judging.judge, query.query_id, body.doc_id, body.grade, was)
        reply = _judged(judging, query, allowed=True)
        if not kept:
            now = reply.grades.get(body.doc_id, "none")
            raise Refusal(
                409, "graded", f"the grade in the file is {now} by now; it stays", fields={"grades": reply.grades}
            )
        return reply

    @routes.get("/topics", summary="Queries to judge, with the number of their grades")
    async def topics() -> TopicsReply:
        rows = [{"n_judged": _n_judged(judging, one), **_named(one)} for one in judging.topics]
        return TopicsReply.model_validate({"topics": rows})

    @routes.get("/pool", summary="Documents to judge for a topic, pooled from all pipelines, in blind order")
    async def pool(query_id: _Id) -> PoolReply:
        if not service.engine.ready:
            raise not_ready()
        query = judging.topic(query_id)
        if query is None:
            raise Refusal(404, "not_found", "/query_id: no such topic")
        documents, graded = await pools.of(query), judging.grades(query_id)
        rows = [{**document, "grade": graded.get(document["doc_id"])} for document in documents]
        return PoolReply.model_validate({**_named(query), "documents": rows})

    return routes


def _query(service: Service, judging: Judging, body: Judgment) -> Query:
    """Return the query of a judgment; a query without an id is a new one.

    Raises:
        Refusal: 404, no such query; 422, not exactly one of its names, or a query that is too long.
        InputError: only topics of a file can be judged.
    """
    if (body.query is None) == (body.query_id is None):
        raise Refusal(422, "invalid", "send either query or query_id")
    if body.query is not None:
        check_query(service.settings, body.query)
        return judging.add(body.query)
    found = judging.topic(body.query_id or "")
    if found is None:
        raise Refusal(404, "not_found", "/query_id: no such topic")
    return found


def _removes(judging: Judging, body: Judgment) -> bool:
    """Tell whether a judgment removes a grade; the document may have left the index since it was graded."""
    if body.grade is not None:
        return False
    query = judging.topic(body.query_id or "") if body.query is None else judging.find(body.query)
    return query is not None and body.doc_id in judging.grades(query.query_id)


def _n_judged(judging: Judging, query: Query) -> int:
    """Count the grades of a query; negative grades mean "not judged"."""
    return sum(grade >= 0 for grade in judging.grades(query.query_id).values())


def _judged(judging: Judging, query: Query | None, *, allowed: bool) -> Judged:
    query_id = None if query is None else query.query_id
    return Judged(query_id=query_id, allowed=allowed, grades={} if query_id is None else judging.grades(query_id))


def _named(query: Query) -> dict[str, Any]:
    return {"query_id": query.query_id, "query": query.text}
