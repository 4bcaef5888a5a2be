"""The application: all routes, with their requests and replies.

Bodies are parsed strictly (`strict_json`); errors are raised as a `Refusal`, which the transport answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from pydantic import Discriminator, Field, Tag
from starlette.exceptions import HTTPException

from longrank.errors import InputError
from longrank.service.changes import Changes
from longrank.service.dialects import cohere, jina, tei
from longrank.service.dialects.common import DEADLINE, NonEmpty, Seconds, Strict
from longrank.service.dialects.jina import TEXT_TAGS
from longrank.service.errors import Refusal, not_ready
from longrank.service.front import rankings_of
from longrank.service.judgment_routes import judgment_routes
from longrank.service.rankings import Rankings, Search
from longrank.service.replies import ChangeReply, CohereReply, DocumentReply, JinaReply, SearchReply, TeiResult
from longrank.service.rerank import Answer, RerankRequest, Service
from longrank.service.routes import REFUSALS, StrictRoute
from longrank.service.search import Selection, document
from longrank.service.source_files import SourceFiles
from longrank.service.transport import Transport, arrival_of, request_id_of
from longrank.service.within import seconds_left

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class SearchRequest(Strict):
    """A search of the index."""

    query: NonEmpty
    pipeline: str | None = Field(None, description="A pipeline of /info. Default: the first.")
    k: Annotated[int, Field(ge=1, le=100)] = 10
    passages: Annotated[int, Field(ge=0, le=20)] = 3
    deadline: Seconds | None = Field(None, description=DEADLINE)
    index: str | None = Field(None, description="Name of the index; other names than the served index are refused.")
    filter: dict[str, Any] | None = Field(
        None, description="Filter of the documents by metadata: {field: value or operators}, $and, $or, $not."
    )
    show: Annotated[list[NonEmpty], Field(max_length=100)] = Field([], description="Metadata fields in the results.")
    lang: str | None = Field(
        None, description="Language of the query, for an index of several languages; default: all of them."
    )
    facets: Annotated[list[NonEmpty], Field(max_length=20)] = Field(
        [],
        description="Metadata fields whose values are counted, among the documents that share a term with the query.",
    )


class AddRequest(Strict):
    """Documents to add to the index."""

    documents: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            description="Objects with doc_id, title, text; their other fields are metadata. An index that was built "
            "for some metadata keeps only these.",
        ),
    ]
    replace: bool = Field(False, description="Replace documents that have the same ids.")


def create_app(service: Service) -> Transport:
    """Return the ASGI application of a server.

    Args:
        service: the parts of the server.
    """
    rankings = rankings_of(service)
    app = FastAPI(
        title="LongRank",
        version=version("longrank"),
        description="Ranks long documents by the passages that make them relevant, and shows the passages.",
        docs_url=None,
        redirect_slashes=False,
        redoc_url=None,
    )
    app.include_router(_rankings(service, rankings))
    app.include_router(_facts(service))
    app.include_router(_page())
    if service.settings.writable:
        app.include_router(_changes(service))
    if service.judging is not None:
        app.include_router(judgment_routes(service, service.judging, rankings))
    if service.files is not None:
        app.include_router(_files(service.files))
    for kind in (RequestValidationError, HTTPException, InputError):
        app.add_exception_handler(kind, _refuse)
    return Transport(app, service.settings, admission=service.admission, metrics=service.metrics)


def _rankings(service: Service, rankings: Rankings) -> APIRouter:
    routes = APIRouter(route_class=StrictRoute, responses=REFUSALS, tags=["ranking"])

    async def ranked(request: Request, wanted: RerankRequest) -> Answer:
        return await rankings.rerank(wanted, *_times(service, request, wanted.seconds))

    @routes.post("/v2/rerank", summary="Rerank texts (Cohere v2)", responses={200: {"model": CohereReply}})
    async def cohere_rerank(request: Request, body: cohere.CohereRequest) -> JSONResponse:
        answer = await ranked(request, cohere.to_request(body))
        return await _written(cohere.reply, body, answer, request_id_of(request.scope))

    @routes.post("/v1/rerank", summary="Rerank texts (Cohere v1, Jina, vLLM)", responses={200: {"model": JinaReply}})
    async def jina_rerank(request: Request, body: jina.JinaRequest) -> JSONResponse:
        answer = await ranked(request, jina.to_request(body))
        return await _written(jina.reply, body, answer, request_id_of(request.scope))

    @routes.post(
        "/rerank",
        summary="Rerank texts (TEI by `texts`; Jina, vLLM, Infinity by `documents`)",
        responses={200: {"model": list[TeiResult] | JinaReply}},
    )
    async def plain_rerank(request: Request, body: _Plain) -> JSONResponse:
        if isinstance(body, tei.TeiRequest):
            answer = await ranked(request, tei.to_request(body))
            reply = await _written(tei.reply, body, answer)
            if answer.warnings:
                reply.headers["x-warnings"] = _in_header("; ".join(answer.warnings))  # a bare list has no other place
            return reply
        answer = await ranked(request, jina.to_request(body))
        return await _written(jina.reply, body, answer, request_id_of(request.scope))

    @routes.post("/search", summary="Search the index", responses={200: {"model": SearchReply}})
    async def search(request: Request, body: SearchRequest) -> JSONResponse:
        if body.index is not None and body.index != service.engine.index_name:
            raise Refusal(404, "not_found", f"/index: no such index; this server has {service.engine.index_name!r}")
        selection = Selection(body.filter, body.show, body.facets, body.lang)
        asked = Search(body.query, body.pipeline, body.k, body.passages, selection)
        reply = await rankings.search(asked, *_times(service, request, body.deadline))
        return JSONResponse({"request_id": request_id_of(request.scope), **reply})

    return routes


def _in_header(text: str) -> str:
    """Percent-encode what is not printable ASCII: a warning may name a model in any script."""
    return quote(text, safe="".join(map(chr, range(32, 127))))


def _changes(service: Service) -> APIRouter:
    routes = APIRouter(route_class=StrictRoute, responses=REFUSALS, tags=["index"])
    changes = Changes(service.engine)

    def check(n_documents: int) -> None:
        if not service.engine.ready:
            raise not_ready()
        if n_documents > service.settings.max_documents:
            limit = service.settings.max_documents
            raise Refusal(413, "too_large", f"/documents: {n_documents} documents; the limit is {limit}")

    @routes.post("/documents", summary="Add or replace documents of the index")
    async def add(body: AddRequest) -> ChangeReply:
        check(len(body.documents))
        return await asyncio.to_thread(changes.add, body.documents, replace=body.replace)

    @routes.delete("/documents/{doc_id:path}", summary="Delete a document of the index")
    async def delete(doc_id: str) -> ChangeReply:
        check(1)
        return await asyncio.to_thread(changes.delete, doc_id)

    return routes


def _facts(service: Service) -> APIRouter:
    routes = APIRouter(tags=["server"])

    @routes.get("/health", summary="Liveness")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @routes.get("/ready", summary="Readiness: models are loaded", responses={503: REFUSALS[503]})
    async def ready() -> dict[str, str]:
        if not service.engine.ready:
            raise not_ready()
        return {"status": "ready"}

    @routes.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(service.metrics.text(), headers={"content-type": service.metrics.content_type})

    @routes.get("/info", summary="Index, pipelines, aggregators and limits")
    async def info() -> dict[str, Any]:
        return {
            "name": "longrank",
            "version": version("longrank"),
            **service.engine.describe(),
            "judging": None if service.judging is None else service.judging.describe(),
            "limits": service.settings.public,
        }

    @routes.get("/document", summary="A whole document of the index", responses={s: REFUSALS[s] for s in (404, 502)})
    async def whole(id: Annotated[str, Query(max_length=2000)]) -> DocumentReply:
        source, digest = await asyncio.to_thread(document, service, id)
        return DocumentReply(doc_id=source.doc_id, title=source.title, text=source.text, digest=digest)

    return routes


def _files(files: SourceFiles) -> APIRouter:
    routes = APIRouter(tags=["server"])

    @routes.get("/files/{path:path}", summary="A source file", response_class=FileResponse)
    def file(path: str) -> Response:
        return files.response(path)

    return routes


def _page() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    folder = files("longrank.service").joinpath("page")
    pages = {name: folder.joinpath(name).read_bytes() for name in ("index.html", "reference.html")}
    static = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}

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


_TAGS = ("tei", "jina", *TEXT_TAGS)  # tags of unions, which are not parts of a field's place
_Plain = Annotated[
    Annotated[tei.TeiRequest, Tag("tei")] | Annotated[jina.JinaRequest, Tag("jina")], Discriminator(_dialect)
]


async def _written(write: Callable[..., Any], *args: Any, **options: Any) -> JSONResponse:
    """Write a reply in another thread: it may be megabytes."""
    return await asyncio.to_thread(lambda: JSONResponse(write(*args, **options)))


def _times(service: Service, request: Request, seconds: float | None) -> tuple[float, float | None]:
    """Return the times of `time.monotonic` until which an answer is useful, and at which it is due; None: whole."""
    arrival = arrival_of(request.scope)
    deadline = arrival + seconds_left(service.settings, request.headers.get("x-timeout-seconds"))
    return deadline, None if seconds is None else min(deadline, arrival + seconds)


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
