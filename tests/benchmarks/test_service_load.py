"""The load generator asks what it says, and counts what it gets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from longrank.networks.model_files import find_model
from longrank.scoring.cross_encoder import CrossEncoder
from tiny_models import save_cross_encoder, task


@pytest.fixture
def load() -> ModuleType:
    return import_module("benchmarks.service_load")


@pytest.fixture
def requests(load: ModuleType) -> ModuleType:
    return import_module("benchmarks.service_requests")


@pytest.fixture
def throughput(load: ModuleType) -> ModuleType:
    return import_module("benchmarks.service_throughput")


def test_requests_are_the_same_in_every_run_and_share_no_passage(requests: ModuleType) -> None:
    one, other = requests.asked(1, 3), requests.asked(2, 3)
    assert one == requests.asked(1, 3)
    texts = [text for request in (one, other) for document in request.passages for text in document]
    assert len(set(texts)) == len(texts)
    assert all(300 <= len(text.split()) <= 1500 for text in one.documents)
    assert one.n_passages == sum(map(len, one.passages))
    assert json.loads(one.body)["documents"] == one.documents


ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 429 No\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12",
]


def served(use: Callable[[str], object]) -> list[bytes]:
    """Serve the three answers, one for each request, and return what was asked."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while len(asked) < len(ANSWERS):
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head + await reader.readexactly(4))
            writer.write(ANSWERS[len(asked) - 1])
        writer.close()

    async def whole() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            await use(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    asyncio.run(whole())
    return asked


def test_a_connection_reads_bodies_with_a_length_and_in_chunks_and_notices_when_it_is_lost(
    requests: ModuleType,
) -> None:
    found = []

    async def use(url: str) -> None:
        async with requests.Connection(url) as connection:
            found.extend([await connection.post("/v2/rerank", b"body") for _ in ANSWERS])

    asked = served(use)
    assert [(one.status, one.body) for one in found] == [(200, b"{}"), (429, b"abcd"), (0, b"")]
    assert found[1].headers["retry-after"] == "3"
    assert all(one.startswith(b"POST /v2/rerank HTTP/1.1\r\n") for one in asked)


def test_a_summary_counts_good_answers_until_the_last_one_and_refusals_apart(
    load: ModuleType, requests: ModuleType
) -> None:
    request = requests.Asked("q", ["d"], [["a", "b", "c"]])
    answers = [
        (requests.Answer(200, 1.0), 11.0),
        (requests.Answer(200, 3.0), 14.0),
        (requests.Answer(429, 0.01, {"retry-after": "2"}), 15.0),
        (requests.Answer(503, 0.03), 20.0),
        (requests.Answer(0, 9.0), 20.0),
    ]
    found = load._summary([load.Done(request, *one) for one in answers], started=10.0)
    assert found["answered"] == 2
    assert found["passages_per_second"] == pytest.approx(6 / 4)
    assert (found["p50"], found["refusal_p50"]) == (pytest.approx(2.0), pytest.approx(0.02))
    assert found["statuses"] == {0: 1, 200: 2, 429: 1, 503: 1}
    assert found["refusals_without_retry_after"] == 1


def test_both_servers_get_the_same_passages(requests: ModuleType, throughput: ModuleType) -> None:
    request = requests.asked(3, 2)
    assert json.loads(throughput.passages_body(request))["passages"] == request.passages
    assert json.loads(throughput.documents_body(request))["passages"] == [[text] for text in request.documents]


@pytest.mark.neural
def test_the_other_server_ranks_documents_by_their_best_passage_as_we_do(load: ModuleType, tmp_path: Path) -> None:
    """By the same network's logits, and so in the order of LongRank's scorer."""
    pytest.importorskip("fastapi", reason="needs the extra serve")
    peer = import_module("benchmarks.service_peer")
    folder = save_cross_encoder(tmp_path / "model", n_outputs=1)
    (endpoint,) = [route.endpoint for route in peer.peer_app(str(folder)).routes if route.path == "/rerank"]
    documents = [["the fox", "money and a boat"], ["a long river in the north", "who was the king"], ["blue water"]]
    found = endpoint(peer.Request(query="where is the river", passages=documents))
    scorer = CrossEncoder(find_model(str(folder)))
    scores = scorer.score([task("where is the river", document) for document in documents])
    best = [float(one.scores.max()) for one in scores]
    assert [one["index"] for one in found] == sorted(range(3), key=lambda n: -best[n])
