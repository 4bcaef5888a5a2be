"""A small HTTP server with the documented wire format of OpenSearch and Elasticsearch searches; neither engine runs.

It answers ``POST /INDEX/_search`` for the queries ``multi_match``, ``ids``, ``terms`` and ``script_score``, keeps each
request, and gives the documented errors of unknown indexes, wrong passwords and wrong requests.

    https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-search
    https://docs.opensearch.org/latest/api-reference/search-apis/search/
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSWORD = "s3cret"


@dataclass
class Engine:
    """Documents of an index, requests, and what the next answers add or are."""

    documents: Mapping[str, dict[str, Any]]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    password: str | None = None
    key: str | None = None
    delay: float = 0.0
    analysed: tuple[str, ...] = ()
    length: int | None = None

    def refusal(self, path: str, authorization: str | None) -> tuple[int, dict[str, Any]] | None:
        allowed = {None if self.password is None else _basic(self.password), self.key and f"ApiKey {self.key}"}
        if (self.password or self.key) and authorization not in allowed:
            return 401, _error(401, "security_exception", "unable to authenticate user [ann] for REST request [/]")
        if path != "/pages/_search":
            return 404, _error(404, "index_not_found_exception", f"no such index [{path.split('/')[1]}]")
        return None

    def _terms(self, name: str, document: dict[str, Any]) -> set[Any]:
        value = document.get(name)
        return {*value.split("-")} if name in self.analysed else {value}

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        kind, query = next(iter(body["query"].items()))
        if kind == "multi_match":
            words = query["query"].lower().split()
            names = [name.partition("^")[0] for name in query["fields"]]
            texts = {key: " ".join(str(one.get(name, "")) for name in names) for key, one in self.documents.items()}
            scores = {key: float(sum(text.lower().count(word) for word in words)) for key, text in texts.items()}
        elif kind == "ids":
            scores = {key: 1.0 for key in query["values"] if key in self.documents}
        elif kind == "terms":
            name, values = next(iter(query.items()))
            scores = {key: 1.0 for key, one in self.documents.items() if self._terms(name, one) & {*values}}
        elif kind == "script_score":
            vector = query["script"]["params"]["vector"]
            scores = {key: sum(map(float.__mul__, vector, one["vector"])) for key, one in self.documents.items()}
        else:
            return 400, _error(400, "parsing_exception", f"unknown query [{kind}]")
        best = sorted((key for key in scores if scores[key] > 0), key=lambda key: -scores[key])[: body["size"]]
        hits = [{"_index": "pages", "_id": key, "_score": scores[key], "_source": self.documents[key]} for key in best]
        total = {"value": len(hits), "relation": "eq"}
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        found = {"total": total, "max_score": hits[0]["_score"] if hits else None, "hits": hits}
        return 200, {"took": 2, "timed_out": False, "_shards": shards, "hits": found, **self.more}


def _basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"ann:{password}".encode()).decode()


def _error(status: int, kind: str, reason: str) -> dict[str, Any]:
    cause = {"type": kind, "reason": reason}
    return {"error": {"root_cause": [cause], **cause}, "status": status}


@contextmanager
def serving(documents: Mapping[str, dict[str, Any]]) -> Iterator[Engine]:
    """Serve an index ``pages`` until the block ends."""
    engine = Engine(documents)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            engine.requests.append(body)
            engine.paths.append(path)
            time.sleep(engine.delay)
            refusal = engine.refusal(path, self.headers["Authorization"])
            status, answer = refusal or engine.answer(body)
            content = json.dumps(answer).encode()[: engine.length]
            self.send_response(status)
            self.send_header("X-Elastic-Product", "Elasticsearch")  # without it, its client refuses the answer
            accepts = self.headers["Accept"] or ""
            kind = "application/vnd.elasticsearch+json;compatible-with=9" if "vnd." in accepts else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    engine.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
