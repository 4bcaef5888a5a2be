"""Connections of slow, silent, many and malformed clients."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra serve")

from http_server import Client, Running, request, running

TIMEOUT = 1.5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    limits = {"header_timeout": TIMEOUT, "keep_alive": TIMEOUT, "body_timeout": TIMEOUT, "max_body_bytes": 1_000_000}
    with running(tmp_path_factory.mktemp("server"), **limits) as one:
        yield one


def wait_until_closed(clients: list[Client], seconds: float) -> None:
    until = time.monotonic() + seconds
    for client in clients:
        client.socket.settimeout(max(0.1, until - time.monotonic()))
        while client.socket.recv(65536):
            pass


def test_500_half_open_heads_are_closed_in_time_and_a_normal_client_is_served_meanwhile(server: Running) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(500)]
        for client in clients:
            client.send(b"POST /rerank HTTP/1.1\r\nHost: local")
        for _ in range(20):
            assert server.post("/rerank").status == 200
        wait_until_closed(clients, 60)
    assert server.post("/rerank").status == 200


def test_a_head_that_comes_byte_by_byte_gets_no_more_time(server: Running) -> None:
    sent = 0
    with server.client() as client, pytest.raises(OSError):
        for byte in request("GET", "/health", "X-Slow: " + "x" * 1000):
            client.send(bytes([byte]))
            sent += 1
            time.sleep(0.05)
    assert sent < 800  # 40 seconds' worth; a slower machine sends fewer


def test_100_half_bodies_are_closed_in_time(server: Running) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(100)]
        for client in clients:
            lines = ("Content-Type: application/json", "Content-Length: 1000")
            client.send(request("POST", "/rerank", *lines, body=b"{"))
        assert server.post("/rerank").status == 200
        assert clients[0].answer().status == 408
        wait_until_closed(clients, 60)


def test_a_silent_connection_is_closed_without_a_word(server: Running) -> None:
    with server.client() as client:
        assert client.is_closed()


def test_an_idle_connection_is_closed_after_its_time(server: Running) -> None:
    with server.client() as client:
        assert client.get("/health").status == 200
        assert client.is_closed()


def test_half_a_head_after_a_whole_request_is_closed_in_time_too(server: Running) -> None:
    with server.client() as client:
        client.send(request("GET", "/health") + b"GET /hea")
        assert client.answer().status == 200
        assert client.is_closed()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r\n\r\n",
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"x" * 100_000,
    ],
)
def test_what_is_not_http_is_answered_with_a_4xx_of_our_shape_and_closed(server: Running, garbage: bytes) -> None:
    with server.client() as client:
        client.send(garbage)
        answer = client.answer()
        assert 400 <= answer.status < 500
        assert set(answer.json) == {"code", "message", "request_id"}
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert client.is_closed()


SEEDS = (
    request("POST", "/rerank", "Content-Type: application/json", "Expect: 100-continue", body=b'{"query": "w1"}'),
    request(
        "POST",
        "/rerank",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
        body=b"2;x=y\r\n{}\r\n0\r\n\r\n",
    ),
    request("GET", "/health", "Connection: keep-alive, Upgrade", "Upgrade: websocket"),
    request("HEAD", "/", "Content-Length: 3", body=b"abc"),
    request("CONNECT", "localhost:80"),
    b"GET /health HTTP/1.0\r\n\r\n",
)
PIECES = (
    b"\r\n",
    b"\n",
    b"\0",
    b": ",
    b"Content-Length: 5\r\n",
    b"\xff\xfe",
    b"Host: x\r\n",
    b"%0d%0a",
    b"A" * 70_000,
    b"-1",
)


def mutated(draw: random.Random) -> bytes:
    """Return a request or two with pieces left out, put in and changed."""
    data = bytearray(b"".join(draw.choice(SEEDS) for _ in range(draw.choice((1, 1, 2)))))
    for _ in range(draw.randint(0, 4)):
        place = draw.randrange(len(data))
        if draw.random() < 0.4:
            data[place:place] = draw.choice(PIECES)
        elif draw.random() < 0.6:
            del data[place : place + draw.randint(1, 20)]
        else:
            data[place] = draw.randrange(256)
    return bytes(data)


def test_whatever_is_sent_is_no_error_of_the_server_and_leaves_nothing_behind(server: Running) -> None:
    draw = random.Random(7)
    assert server.get("/health").status == 200
    open_before = server.n_files()
    for _ in range(400):
        with server.client() as client:
            with suppress(OSError):
                client.send(mutated(draw))
            client.socket.settimeout(0.01)
            with suppress(OSError, TimeoutError):
                assert not client.socket.recv(20).startswith(b"HTTP/1.1 5")
    assert server.get("/health").status == 200
    until = time.monotonic() + 60
    while server.n_files() > open_before and time.monotonic() < until:
        time.sleep(0.1)
    assert server.n_files() <= open_before
    assert not any(word in server.log.read_text() for word in ("Traceback", "Exception", "Fatal", "failed"))


def test_a_malformed_chunk_is_answered_with_400(server: Running) -> None:
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        client.send(b"5\r\nabcde\r\nZZ\r\n")
        assert client.answer().status == 400
        assert client.is_closed()


@pytest.mark.parametrize(("size", "status"), [(60_000, 200), (65_536, 431), (70_000, 431), (200_000, 431)])
def test_a_head_of_more_than_64_kib_is_refused_with_431(server: Running, size: int, status: int) -> None:
    with server.client() as client:
        client.send(request("GET", "/health", "X-Large: " + "x" * size))
        assert client.answer().status == status


def test_many_headers_are_refused_by_their_size_too(server: Running) -> None:
    with server.client() as client:
        client.send(request("GET", "/health", *(f"X-{n}: y" for n in range(20_000))))
        assert client.answer().status == 431


def test_requests_that_come_at_once_are_answered_in_order(server: Running) -> None:
    with server.client() as client:
        bodies = [b"x" * n for n in (1, 20, 300, 4000)]
        client.send(
            b"".join(request("POST", "/rerank", "Content-Type: application/json", body=body) for body in bodies)
        )
        assert [client.answer().json["bytes"] for _ in bodies] == [1, 20, 300, 4000]


def test_http_1_0_is_served_and_the_connection_closed(server: Running) -> None:
    with server.client() as client:
        client.send(b"GET /health HTTP/1.0\r\n\r\n")
        assert client.answer().status == 200
        assert client.is_closed()
    with server.client() as client:
        head = (
            b"POST /rerank HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
        client.send(head)
        assert client.answer().json["bytes"] == 2
        assert client.is_closed()


@pytest.mark.parametrize("line", ["Upgrade: websocket\r\nConnection: Upgrade", "Upgrade: h2c\r\nConnection: Upgrade"])
def test_an_upgrade_is_not_made_and_the_request_answered(server: Running, line: str) -> None:
    with server.client() as client:
        client.send(f"GET /health HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n".encode())
        assert client.answer().status == 200


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize("framing", ["Content-Length: 67108864", "Transfer-Encoding: chunked"])
def test_a_client_that_sends_64_mib_to_a_cap_of_one_reads_its_refusal(
    server: Running, framing: str, connection: str
) -> None:
    """A connection that is closed before its body was read is reset, and the reset overtakes the answer."""
    piece = b"x" * 65536 if "Length" in framing else b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", framing, f"Connection: {connection}"))
        for _ in range(1024):
            client.send(piece)
        client.send(b"" if "Length" in framing else b"0\r\n\r\n")
        assert client.answer().status == 413


def test_a_stream_of_64_mib_over_the_cap_takes_less_than_16_mib_of_memory(server: Running) -> None:
    server.post("/rerank", b"x" * 1_000_000)
    before = server.rss()
    with server.client() as client:
        client.send(request("POST", "/rerank", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        peak = 0
        for n in range(1024):
            client.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            peak = max(peak, server.rss() if n % 64 == 0 else 0)
        assert client.answer().status == 413
    assert peak - before < 16 << 20


def test_a_body_that_goes_on_after_the_answer_is_not_read_for_ever(server: Running) -> None:
    with server.client() as client:
        client.send(request("GET", "/health", "Transfer-Encoding: chunked"))
        assert client.answer().status == 200
        began = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - began < TIMEOUT + 60:
                client.send(b"3\r\nabc\r\n")
                time.sleep(0.02)


def test_a_large_answer_that_is_taken_slowly_comes_whole(server: Running) -> None:
    with server.client() as client:
        client.send(request("GET", "/large", "Connection: close"))
        time.sleep(0.5)
        assert len(client.answer().body) == 8_000_000


def test_connections_beyond_the_limit_are_refused_with_503_and_those_within_are_served(tmp_path: Path) -> None:
    with running(tmp_path, max_connections=20) as server, ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(20)]
        assert all(client.get("/health").status == 200 for client in clients)
        for _ in range(30):
            answer = server.get("/health")
            assert (answer.status, answer.json["code"], answer.headers["retry-after"]) == (
                503,
                "too_many_connections",
                "1",
            )
        assert all(client.get("/health").status == 200 for client in clients)
        clients[0].socket.close()
        until = time.monotonic() + 60
        while (status := server.get("/health").status) == 503 and time.monotonic() < until:
            time.sleep(0.05)
        assert status == 200
