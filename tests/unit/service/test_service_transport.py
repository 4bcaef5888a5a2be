"""Checks of requests and headers of answers, over loopback."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("uvicorn", reason="needs the extra serve")

from http_server import Client, Running, request, running

KEY = "s3cret-key-of-the-server"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    limits = {"max_body_bytes": 100_000, "max_buffered_bytes": 150_000, "body_timeout": 1.0}
    with running(tmp_path_factory.mktemp("server"), **limits) as one:
        yield one


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("locked"), key=KEY) as one:
        yield one


def refused_head(client: Client, status: int, code: str) -> dict[str, str]:
    """Read a refusal, check its shape, and return its headers."""
    answer = client.answer()
    assert (answer.status, answer.json["code"]) == (status, code)
    assert set(answer.json) >= {"code", "message", "request_id"}
    assert answer.json["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.json["message"]
    return dict(answer.headers)


# --- type, encoding, size -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "X: y"]
)
def test_a_body_of_another_type_than_json_is_refused_with_415(server: Running, line: str) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", line, body=b"{}"))
        refused_head(client, 415, "media_type")


def test_a_type_with_a_charset_or_in_capitals_is_json(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: Application/JSON; charset=UTF-8", body=b"{}"))
        assert client.answer().status == 200


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip"])
def test_a_compressed_body_is_refused_with_415(server: Running, coding: str) -> None:
    with server.client() as client:
        client.send(
            request("POST", "/rerank", "Content-Type: application/json", f"Content-Encoding: {coding}", body=b"{}")
        )
        refused_head(client, 415, "media_type")


def test_a_body_whose_said_length_is_over_the_cap_is_refused_with_413_before_it_comes(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Content-Length: 100001"))
        refused_head(client, 413, "too_large")


def test_a_chunked_body_over_the_cap_is_refused_with_413_before_its_end(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        for _ in range(11):
            client.send(b"2710\r\n" + b"x" * 10_000 + b"\r\n")  # and no last chunk
        refused_head(client, 413, "too_large")


def test_a_body_of_exactly_the_cap_is_read(server: Running) -> None:
    assert server.post("/rerank", b"x" * 100_000).json["bytes"] == 100_000


def test_a_chunked_body_under_the_cap_is_read_whole(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        client.send(b"3\r\nabc\r\n")
        time.sleep(0.05)
        client.send(b"2;name=value\r\nde\r\n0\r\n\r\n")
        assert client.answer().json["bytes"] == 5


@pytest.mark.parametrize("length", ["-1", "1e3", "9" * 5000, "1, 2", "0x10", ""])
def test_a_length_that_is_no_number_is_refused_with_400(server: Running, length: str) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", f"Content-Length: {length}"))
        refused_head(client, 400, "bad_request")


def test_a_body_shorter_than_its_length_says_is_refused_with_408_in_time(server: Running) -> None:
    with server.client(timeout=10) as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Content-Length: 50", body=b"{"))
        assert refused_head(client, 408, "slow")["connection"] == "close"
        assert client.is_closed()


def test_a_body_longer_than_its_length_says_is_cut_there_and_the_rest_is_no_request(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Content-Length: 2", body=b"{} more"))
        assert client.answer().json["bytes"] == 2
        refused_head(client, 400, "bad_request")
        assert client.is_closed()


def test_bodies_that_are_received_at_the_same_time_are_bounded_with_503(server: Running) -> None:
    with server.client() as one, server.client() as other:
        head = request("POST", "/rerank", "Content-Type: application/json", "Content-Length: 100000")
        one.send(head + b"x" * 99_000)
        time.sleep(0.2)
        other.send(head + b"x" * 99_000)
        assert refused_head(other, 503, "overloaded")["retry-after"] == "1"
        one.send(b"x" * 1000)
        assert one.answer().json["bytes"] == 100_000
    assert server.post("/rerank", b"x" * 100_000).status == 200


# --- who may ask ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8330", "localhost.evil.example", "127.0.0.2", "[::2]", ""]
)
def test_a_host_that_is_not_allowed_is_refused_with_400(server: Running, host: str) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", f"Host: {host}", body=b"{}"))
        refused_head(client, 400, "bad_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8330", "127.0.0.1:1", "[::1]:8330", "localhost."])
def test_the_hosts_that_are_allowed_may_have_any_port(server: Running, host: str) -> None:
    with server.client() as client:
        client.send(request("GET", "/", f"Host: {host}"))
        assert client.answer().status == 200


def test_probes_need_no_host_and_no_key(locked: Running) -> None:
    assert locked.get("/health", "Host: 10.0.0.7:8330").status == 200
    assert locked.get("/ready", "Host: 10.0.0.7:8330").status == 200


@pytest.mark.parametrize(
    "line",
    [
        "X: y",
        "Authorization: Bearer",
        "Authorization: Bearer wrong",
        f"Authorization: Basic {KEY}",
        f"Authorization: {KEY}",
        f"Authorization: Bearer {KEY}x",
        f"Authorization: Bearer {KEY[:-1]}",
        f"Authorization: Bearer {KEY}, Bearer {KEY}",
        "Authorization: Bearer \xff\xfe",
    ],
)
def test_a_wrong_or_missing_key_is_refused_with_401(locked: Running, line: str) -> None:
    with locked.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", line, body=b"{}"))
        assert refused_head(client, 401, "unauthorized")["www-authenticate"] == "Bearer"


def test_the_key_opens_and_never_reaches_the_log(locked: Running) -> None:
    answer = locked.post("/rerank", b"{}", f"Authorization: bearer {KEY}", "X-Request-Id: with-the-key")
    assert answer.status == 200
    assert KEY not in locked.wait_for_log("with-the-key")


def test_there_is_no_cors_and_a_preflight_is_refused(server: Running) -> None:
    with server.client() as client:
        client.send(request("OPTIONS", "/rerank", "Origin: http://evil.example", "Access-Control-Request-Method: POST"))
        answer = client.answer()
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert not any(name.startswith("access-control") for name in answer.headers)


# --- what every answer is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/nowhere"), ("PUT", "/rerank"), ("POST", "/boom")])
def test_every_answer_has_the_headers_that_keep_a_page_safe(server: Running, method: str, path: str) -> None:
    with server.client() as client:
        client.send(request(method, path, "Content-Type: application/json"))
        headers = client.answer().headers
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers


def test_a_fit_request_id_is_kept_and_another_is_replaced(server: Running) -> None:
    assert server.post("/rerank", b"{}", "X-Request-Id: a.B-7_").json["request_id"] == "a.B-7_"
    for unfit in ("a b", "x" * 65, "<script>", "\xe9"):
        answer = server.post("/rerank", b"{}", f"X-Request-Id: {unfit}")
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


def test_an_error_inside_is_a_500_of_the_same_shape_that_says_nothing_of_it(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/boom", "Content-Type: application/json", "X-Request-Id: bang", body=b"{}"))
        answer = client.answer()
    assert (answer.status, answer.json["code"], answer.json["request_id"]) == (500, "internal", "bang")
    assert b"secret" not in answer.body
    log = server.wait_for_log("bang failed")
    assert "bang failed: RuntimeError in boom " in log
    assert "secret" not in log  # what the error says may be what was asked


def test_on_tei_s_path_an_error_has_tei_s_fields_too(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", body=b"{}"))
        body = client.answer().json
    assert (body["error"], body["error_type"]) == (body["message"], body["code"])


def test_the_log_has_one_escaped_line_for_each_request_whatever_it_is(server: Running) -> None:
    hostile = "%0d%0aFORGED%20line%1b[31m%e2%80%ae" + "x" * 5000
    server.get(f"/{hostile}?q=what-was-asked", "X-Request-Id: hostile-one")
    server.get("/boom", "X-Request-Id: hostile-two")
    log = server.wait_for_log("hostile-two\n")
    assert "\nFORGED" not in log
    assert not any(character in log for character in "\r\x1b\u202e")
    assert "what-was-asked" not in log
    assert all(len(line) <= 2020 for line in log.split("\n"))
    (line,) = [line for line in log.split("\n") if "hostile-one" in line]
    assert line.split()[1:4] == ["127.0.0.1", "GET", "/\\r\\nFORGED"]


# --- connections ----------------------------------------------------------------------------------------------------


def test_a_connection_serves_many_requests_refused_ones_too(server: Running) -> None:
    with server.client() as client:
        for _ in range(3):
            assert client.get("/health").status == 200
            client.send(request("POST", "/rerank", body=b"x" * 50_000))
            refused_head(client, 415, "media_type")
            assert client.get("/nowhere").status == 404
            assert client.post("/rerank", b"x" * 50_000).json["bytes"] == 50_000


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(server: Running) -> None:
    with server.client() as client:
        lines = ("Content-Type: application/json", "Content-Length: 2", "Expect: 100-continue")
        client.send(request("POST", "/rerank", *lines))
        assert client.answer(of_head=True).status == 100
        client.send(b"{}")
        assert client.answer().json["bytes"] == 2


def test_a_head_is_asked_for_without_a_body(server: Running) -> None:
    with server.client() as client:
        client.send(request("HEAD", "/health"))
        head = client.answer(of_head=True)
        assert (head.status, int(head.headers["content-length"]) > 0) == (200, True)
        assert client.get("/health").status == 200


def test_a_ranking_whose_client_leaves_is_cancelled(server: Running) -> None:
    with server.client() as client:
        client.send(
            request(
                "POST", "/rerank", "Content-Type: application/json", "X-Until: /never", "X-Request-Id: left", body=b"{}"
            )
        )
    server.wait_for_log("/rerank 499")
    assert "left" in server.get("/health").json["left"]


def test_a_client_that_leaves_in_the_middle_of_its_body_is_let_go(server: Running) -> None:
    with server.client() as client:
        lines = ("Content-Type: application/json", "Content-Length: 50", "X-Request-Id: half")
        client.send(request("POST", "/rerank", *lines, body=b"{"))
    server.wait_for_log(" 499 ")
    assert json.loads(server.get("/health").body)["status"] == "ok"
