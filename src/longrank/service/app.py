"""The application: every route, what it takes and what it answers.

Bodies are parsed strictly (`strict_json`); what is wrong with one is a `Refusal`, which the transport writes down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import Discriminator, Field, Tag
from starlette.exceptions import HTTPException

from longrank.errors import InputError
from longrank.service.dialects import cohere, jina, tei
from longrank.service.dialects.common import NonEmpty, Strict
from longrank.service.dialects.jina import TEXT_TAGS
from longrank.service.errors import Refusal, not_ready
from longrank.service.replies import CohereReply, DocumentReply, JinaReply, Problem, SearchReply, TeiResult
from longrank.service.rerank import Answer, Asked, Desk, rerank, seconds_left
from longrank.service.search import document, find, found_json
from longrank.service.strict_json import parse
from longrank.service.transport import Transport, arrival_of, request_id_of

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class SearchRequest(Strict):
    """A search of the index."""

    query: NonEmpty
    pipeline: str | None = Field(None, description="One of /info; the default one if not said.")
    k: Annotated[int, Field(ge=1, le=100)] = 10
    passages: Annotated[int, Field(ge=0, le=20)] = 3
    index: str | None = Field(None, description="The index that is meant; any other than the served one is refused.")


def create_app(desk: Desk) -> Transport:
    """Return the ASGI application of a server.

    Args:
        desk: what it answers with.
    """
    app = FastAPI(
        title="LongRank",
        version=version("longrank"),
        description="Ranks long documents by the passages that make them relevant, and shows those passages.",
        docs_url=None,
        redirect_slashes=False,
        redoc_url=None,
    )
    app.include_router(_rankings(desk))
    app.include_router(_facts(desk))
    app.include_router(_page())
    for kind in (RequestValidationError, HTTPException, InputError):
        app.add_exception_handler(kind, _refuse)
    return Transport(app, desk.settings, admission=desk.admission, metrics=desk.metrics)


class _Route(APIRoute):
    """A route whose body is strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with the body parsed before FastAPI looks at it."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            if request.method == "POST":
                await strict.json()
            return await handle(strict)

        return strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Return the body's value, parsed once."""
        if not hasattr(self, "_value"):
            self._value = parse(await self.body())
        return self._value


def _rankings(desk: Desk) -> APIRouter:
    routes = APIRouter(route_class=_Route, responses=_REFUSALS, tags=["ranking"])

    @routes.post("/v2/rerank", summary="Rerank texts (Cohere v2)", responses={200: {"model": CohereReply}})
    async def cohere_rerank(request: Request, body: cohere.CohereRequest) -> JSONResponse:
        answer = await _ranked(desk, request, cohere.asked(body))
        return await _written(cohere.answered, body, answer, request_id_of(request.scope))

    @routes.post("/v1/rerank", summary="Rerank texts (Cohere v1, Jina, vLLM)", responses={200: {"model": JinaReply}})
    async def jina_rerank(request: Request, body: jina.JinaRequest) -> JSONResponse:
        answer = await _ranked(desk, request, jina.asked(body))
        return await _written(jina.answered, body, answer, request_id_of(request.scope))

    @routes.post(
        "/rerank",
        summary="Rerank texts (TEI by `texts`; Jina, vLLM, Infinity by `documents`)",
        responses={200: {"model": list[TeiResult] | JinaReply}},
    )
    async def plain_rerank(request: Request, body: _Plain) -> JSONResponse:
        if isinstance(body, tei.TeiRequest):
            answer = await _ranked(desk, request, tei.asked(body))
            reply = await _written(tei.answered, body, answer)
            if answer.warnings:
                reply.headers["x-warnings"] = "; ".join(answer.warnings)  # a bare list has no other place
            return reply
        answer = await _ranked(desk, request, jina.asked(body))
        return await _written(jina.answered, body, answer, request_id_of(request.scope))

    @routes.post("/search", summary="Search the index", responses={200: {"model": SearchReply}})
    async def search(request: Request, body: SearchRequest) -> JSONResponse:
        if body.index is not None and body.index != desk.engine.index_name:
            raise Refusal(404, "not_found", "/index: no such index is served")
        deadline = _deadline(desk, request)
        found = await find(
            desk, body.query, pipeline=body.pipeline, k=body.k, passages=body.passages, deadline=deadline
        )
        asked = {"k": body.k, "passages": body.passages, "request_id": request_id_of(request.scope)}
        return await _written(found_json, desk, found, body.query, **asked)

    return routes


def _facts(desk: Desk) -> APIRouter:
    routes = APIRouter(tags=["server"])

    @routes.get("/health", summary="Whether the server runs")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @routes.get("/ready", summary="Whether it ranks", responses={503: _REFUSALS[503]})
    async def ready() -> dict[str, str]:
        if not desk.engine.ready:
            raise not_ready()
        return {"status": "ready"}

    @routes.get("/metrics", summary="Figures for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(desk.metrics.text(), headers={"content-type": desk.metrics.content_type})

    @routes.get("/info", summary="What is served, and the limits")
    async def info() -> dict[str, Any]:
        return {
            "name": "longrank",
            "version": version("longrank"),
            **desk.engine.describe(),
            "limits": desk.settings.public,
        }

    @routes.get("/document", summary="A document of the index, whole", responses={404: _REFUSALS[404]})
    async def whole(id: Annotated[str, Query(max_length=2000)]) -> DocumentReply:
        found = document(desk, id)
        return DocumentReply(doc_id=found.doc_id, title=found.title, text=found.text)

    return routes


def _page() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    folder = files("longrank.service").joinpath("page")
    pages = {name: folder.joinpath(name).read_bytes() for name in ("index.html", "reference.html")}
    static = {one.name: one.read_bytes() for one in folder.iterdir() if one.name.rpartition(".")[2] in _TYPES}

    @routes.get("/")
    async def index() -> Response:
        return Response(pages["index.html"], media_type="text/html")

    @routes.get("/docs")
    async def reference() -> Response:
        return Response(pages["reference.html"], media_type="text/html")

    @routes.get("/static/{name}")
    async def file(name: str) -> Response:
        if name not in static:
            raise Refusal(404, "not_found", "no such file")
        return Response(static[name], headers={"content-type": _TYPES[name.rpartition(".")[2]]})

    return routes


def _dialect(body: Any) -> str:
    fields = body if isinstance(body, dict) else {}
    return "tei" if "texts" in fields else "jina"


_TAGS = ("tei", "jina", *TEXT_TAGS)  # of unions; no field is called so
_Plain = Annotated[
    Annotated[tei.TeiRequest, Tag("tei")] | Annotated[jina.JinaRequest, Tag("jina")], Discriminator(_dialect)
]


async def _written(write: Callable[..., Any], *given: Any, **named: Any) -> JSONResponse:
    """Write an answer down, beside the event loop: it may be megabytes."""
    return await asyncio.to_thread(lambda: JSONResponse(write(*given, **named)))


async def _ranked(desk: Desk, request: Request, asked: Asked) -> Answer:
    return await rerank(desk, asked, _deadline(desk, request))


def _deadline(desk: Desk, request: Request) -> float:
    """Return when an answer is no longer wanted, counted from the request's arrival, of `time.monotonic`."""
    return arrival_of(request.scope) + seconds_left(desk.settings, request.headers.get("x-timeout-seconds"))


async def _refuse(_: Request, error: Exception) -> Response:
    """Raise the refusal that stands for an error; the transport answers it."""
    raise _refusal_of(error) from None


def _refusal_of(error: Exception) -> Refusal:
    if isinstance(error, HTTPException):
        code = {404: "not_found", 405: "method"}.get(error.status_code, "bad_request")
        return Refusal(error.status_code, code, str(error.detail), error.headers)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        place = [str(part) for part in first["loc"][1:] if part not in _TAGS]  # the first says body or query string
        return Refusal(422, "invalid", f"/{'/'.join(place)}: {first['msg']}")
    return Refusal(422, "invalid", str(error))


_MEANINGS = {
    400: "not strict JSON, or a host that is not allowed",
    401: "no or a wrong key",
    404: "no such index, document or page",
    408: "the body took too long",
    413: "too large",
    415: "not application/json, or compressed",
    422: "a field is wrong",
    429: "overloaded; Retry-After says when to come again",
    503: "not ready, or stopping",
    504: "the deadline has passed",
}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": meaning} for status, meaning in _MEANINGS.items()
}
