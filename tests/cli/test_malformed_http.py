"""Malformed requests (cases H1-H16), by the documented command line and over loopback.

Each is refused with its status and one shape of error, never with a traceback, and the server goes on.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import documents, index_of
from http_server import Answer, Running, request, running

KEY = "the-key-of-this-test"
RANKINGS = ("/search", "/rerank", "/v1/rerank", "/v2/rerank")
JSON = "Content-Type: application/json"
OURS = f"Authorization: Bearer {KEY}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("http")
    index_of(documents(20, words=60), folder / "index")
    (folder / "key").write_text(KEY + "\n")
    command = (sys.executable, "-m", "longrank", "serve", str(folder / "index"), "--pipeline", "lexical", "--port", "0")
    with running(folder, *command, "--key-file", str(folder / "key")) as one:
        assert one.process.stdout is not None
        assert one.process.stdout.readline() == "ready\n"
        yield one


def good(path: str) -> dict[str, Any]:
    """Return a request of `path` that is answered."""
    return {"query": "w1 w2"} if path == "/search" else {"query": "w1 w2", "documents": ["w1 w3", "w2"]}


def ask(server: Running, path: str, body: object, *lines: str) -> Answer:
    with server.client() as client:
        lines = lines if any(line.startswith("Content-Type") for line in lines) else (JSON, *lines)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        client.send(request("POST", path, OURS, *lines, body=data))
        return client.answer()


def assert_refused(answer: Answer, status: int, message: str = "") -> None:
    assert answer.status == status, answer.body
    said = answer.json
    assert set(said) - {"error", "error_type", "detail"} == {"code", "message", "request_id"}
    assert message in said["message"]
    assert "Traceback" not in said["message"]
    assert said["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("path", RANKINGS)
def test_a_good_request_is_answered(server: Running, path: str) -> None:
    answer = ask(server, path, good(path))
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("path", RANKINGS)
@pytest.mark.parametrize("body", [b"", b"{", b"query=w1", b'{"query": "w1",}', b"[1] 2"])
def test_case_h1_not_json_is_400(server: Running, path: str, body: bytes) -> None:
    assert_refused(ask(server, path, body, "Content-Length: 0") if not body else ask(server, path, body), 400, "JSON")


@pytest.mark.parametrize("path", RANKINGS)
@pytest.mark.parametrize("body", [b"[]", b'"w1"', b"null", b"7"])
def test_case_h1_json_that_is_no_object_is_422(server: Running, path: str, body: bytes) -> None:
    assert_refused(ask(server, path, body), 422)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_case_h2_a_wrong_content_type_is_415(server: Running, kind: str) -> None:
    assert_refused(ask(server, "/rerank", good("/rerank"), f"Content-Type: {kind}"), 415, kind.partition(";")[0])


def test_case_h3_a_body_over_the_cap_by_its_length_is_413_before_it_comes(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", OURS, JSON, f"Content-Length: {2**21 + 1}"))
        assert_refused(client.answer(), 413, "more than 2097152 bytes")


def test_case_h3_a_body_over_the_cap_in_chunks_is_413_before_its_end(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", OURS, JSON, "Transfer-Encoding: chunked"))
        for _ in range(33):
            client.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        assert_refused(client.answer(), 413)


def test_case_h3_a_length_that_lies_cuts_the_body(server: Running) -> None:
    body = json.dumps(good("/rerank")).encode()
    assert_refused(ask(server, "/rerank", body, f"Content-Length: {len(body) - 1}"), 400, "JSON")


@pytest.mark.parametrize("path", RANKINGS)
def test_case_h4_an_unknown_field_is_422_with_its_pointer(server: Running, path: str) -> None:
    assert_refused(ask(server, path, {**good(path), "quarry": 1}), 422, "/quarry:")


@pytest.mark.parametrize("k", [0, -1, 10**9, 1.5, "3", True])
def test_case_h5_a_k_out_of_range_is_422(server: Running, k: object) -> None:
    assert_refused(ask(server, "/search", {"query": "w1", "k": k}), 422, "/k:")


@pytest.mark.parametrize("path", RANKINGS)
@pytest.mark.parametrize("query", ["", " \t\n"])
def test_case_h6_an_empty_query_is_422(server: Running, path: str, query: str) -> None:
    assert_refused(ask(server, path, {**good(path), "query": query}), 422, "query")


@pytest.mark.parametrize("path", RANKINGS)
def test_case_h7_a_query_of_more_than_10000_characters_is_422(server: Running, path: str) -> None:
    assert_refused(ask(server, path, {**good(path), "query": "w" * 10_001}), 422, "/query")


@pytest.mark.parametrize(
    ("path", "name"),
    [("/rerank", "documents"), ("/rerank", "texts"), ("/v1/rerank", "documents"), ("/v2/rerank", "documents")],
)
def test_case_h8_more_than_1000_documents_are_413(server: Running, path: str, name: str) -> None:
    assert_refused(ask(server, path, {"query": "w1", name: ["w1"] * 1001}), 413, "1001")


@pytest.mark.parametrize("name", ["nothing", "../index", "%2e%2e/index", "/etc", "C:\\x", "a\x00b", "", "x" * 100_000])
def test_case_h9_an_unknown_index_is_404(server: Running, name: str) -> None:
    assert_refused(ask(server, "/search", {"query": "w1", "index": name}), 404)


@pytest.mark.parametrize(
    "target",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/../x",
    ],
)
def test_case_h9_a_path_that_climbs_is_404(server: Running, target: str) -> None:
    assert_refused(server.get(target, OURS), 404)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/rerank", "POST"),
        ("PUT", "/v2/rerank", "POST"),
        ("DELETE", "/search", "POST"),
        ("POST", "/health", "GET"),
    ],
)
def test_case_h10_a_wrong_method_is_405_and_says_which_is_right(
    server: Running, method: str, path: str, allow: str
) -> None:
    with server.client() as client:
        client.send(request(method, path, OURS))
        answer = client.answer()
    assert_refused(answer, 405)
    assert answer.headers["allow"] == allow


def test_case_h10_an_unknown_path_is_404_before_its_body_is_read(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/v3/rerank", OURS, JSON, "Content-Length: 1000000000"))
        assert_refused(client.answer(), 404)


@pytest.mark.parametrize("line", ["X: y", "Authorization: Bearer wrong", f"Authorization: Bearer {KEY}2"])
@pytest.mark.parametrize("path", ["/search", "/info", "/metrics", "/document?id=d1", "/nowhere"])
def test_case_h11_a_wrong_key_is_401(server: Running, path: str, line: str) -> None:
    with server.client() as client:
        client.send(request("GET", path, line))
        assert_refused(client.answer(), 401)


def test_case_h12_a_head_of_more_than_64_kib_is_431(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", OURS, "X-Large: " + "x" * 65_536))
        assert_refused(client.answer(), 431)


def test_case_h13_a_compressed_body_is_415(server: Running) -> None:
    body = gzip.compress(json.dumps(good("/rerank")).encode())
    assert_refused(ask(server, "/rerank", body, "Content-Encoding: gzip"), 415)


@pytest.mark.parametrize("path", RANKINGS)
@pytest.mark.parametrize("more", ['"query": "w2"', '"k": NaN', '"x": -Infinity', '"x": 1e400'])
def test_case_h14_duplicate_keys_and_numbers_that_are_none_are_400(server: Running, path: str, more: str) -> None:
    body = json.dumps(good(path))[:-1] + f", {more}}}"
    assert_refused(ask(server, path, body.encode()), 400)


@pytest.mark.parametrize("host", ["evil.example", "169.254.169.254", "localhost.evil.example"])
def test_case_h15_a_host_that_is_not_allowed_is_400(server: Running, host: str) -> None:
    assert_refused(ask(server, "/rerank", good("/rerank"), f"Host: {host}"), 400, host)


@pytest.mark.parametrize(
    "body", [b'{"query": "\xff"}', b'{"query": "\xc3"}', b'{"query": "\xed\xa0\x80"}', b"\xff\xfe{\x00}\x00"]
)
def test_case_h16_invalid_utf_8_is_400(server: Running, body: bytes) -> None:
    assert_refused(ask(server, "/rerank", body), 400, "not UTF-8")


def test_a_lone_surrogate_is_400(server: Running) -> None:
    assert_refused(ask(server, "/rerank", b'{"query": "\\ud800", "documents": ["w1"]}'), 400, "surrogate")


def test_after_all_that_the_server_is_well_and_its_log_clean(server: Running) -> None:
    assert ask(server, "/rerank", good("/rerank"), "X-Request-Id: last").status == 200
    log = server.wait_for_log(" last\n")
    assert KEY not in log
    assert "Traceback" not in log
    assert "failed" not in log
    assert "internal" not in log
