"""Routes with strict bodies, and descriptions of their refusals."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from longrank.service.replies import Problem
from longrank.service.strict_json import parse


class StrictRoute(APIRoute):
    """A route whose body is strict JSON (`strict_json`)."""

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


_MEANINGS = {
    400: "not strict JSON, or a host name that is not allowed",
    401: "missing or wrong key",
    404: "no such index, document or page",
    409: "documents that are in the index already, another process is changing the index, or another grade in the file",
    408: "the body took too long",
    413: "too large",
    415: "not application/json, or compressed",
    422: "invalid field",
    429: "overloaded; retry after Retry-After seconds",
    502: "the store that is searched does not answer",
    503: "models still loading, or stopping",
    504: "deadline passed",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": meaning} for status, meaning in _MEANINGS.items()
}
"""Descriptions of the refusals by status, for the OpenAPI description."""
