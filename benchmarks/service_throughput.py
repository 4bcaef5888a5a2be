"""Passages per second of `longrank serve` beside a minimal FastAPI server.

    python -m benchmarks.service_throughput --model FOLDER [--clients 8] [--rounds 5] [-o FOLDER]

The other server (`benchmarks.service_peer`) is FastAPI with one endpoint, which hands the passages of a request to
sentence-transformers' ``CrossEncoder.predict`` and takes the best of each document. It gets the very passages that
LongRank makes of the documents (150 words, 75 of them new), so that both read the same texts. Same model, same requests
of 4 documents of 300 to 1,500 words (`benchmarks.service_requests`), in processes of their own with two threads for
PyTorch each; in a round, which each has in turn, every client sends a request, and again if it is told to come later.
CPU time is that of the server's process. One more round is the other server's usual use: it gets documents as a whole
and reads what fits into 512 tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.service_requests import Asked, Connection, Server, asked

DOCUMENTS = 4
_WORDS_READ = 380  # of a document of English prose, about, that 512 tokens hold beside a question


class Contestant(NamedTuple):
    """A server, and how it is asked."""

    name: str
    server: Server
    path: str
    body: Callable[[Asked], bytes]


class Taken(NamedTuple):
    """Duration of a round."""

    seconds: float
    cpu_seconds: float


async def one_round(contestant: Contestant, requests: Sequence[Asked]) -> Taken:
    """Let a client for each request have it answered; return the time until all are."""
    bodies = [contestant.body(request) for request in requests]

    async def client(body: bytes) -> None:
        async with Connection(contestant.server.url) as connection:
            while (answer := await connection.post(contestant.path, body)).status == 429:
                await asyncio.sleep(int(answer.headers["retry-after"]))
        if answer.status != 200:
            raise RuntimeError(f"{contestant.name} answered {answer.status}: {answer.body[:200]!r}")

    started, cpu = time.perf_counter(), contestant.server.cpu_seconds()
    await asyncio.gather(*map(client, bodies))
    return Taken(time.perf_counter() - started, contestant.server.cpu_seconds() - cpu)


async def compared(
    ours: Contestant, peer: Contestant, truncating: Contestant, clients: int, rounds: int
) -> dict[str, Any]:
    """Measure both in turn, each with the same requests, after one request each to warm up."""
    taken: dict[str, list[Taken]] = {ours.name: [], peer.name: []}
    passages = []
    for one in (ours, peer):
        await one_round(one, [asked(0, DOCUMENTS)])
    for n in range(rounds):
        requests = [asked(1 + n * clients + m, DOCUMENTS) for m in range(clients)]
        passages.append(sum(request.n_passages for request in requests))
        for one in (ours, peer) if n % 2 == 0 else (peer, ours):
            taken[one.name].append(await one_round(one, requests))
            print(f"round {n + 1}: {one.name} {taken[one.name][-1]}", file=sys.stderr, flush=True)
    cut = await one_round(truncating, requests)
    words = [len(text.split()) for request in requests for text in request.documents]
    return {
        "clients": clients,
        "passages_per_second": {
            name: statistics.median(n / one.seconds for n, one in zip(passages, all_taken, strict=True))
            for name, all_taken in taken.items()
        },
        "ratios": _ratios([one.seconds for one in taken[ours.name]], [one.seconds for one in taken[peer.name]]),
        "cpu_ratios": _ratios(
            [one.cpu_seconds for one in taken[ours.name]], [one.cpu_seconds for one in taken[peer.name]]
        ),
        "truncating": {
            "documents_per_cpu_second": len(words) / cut.cpu_seconds,
            "documents_per_cpu_second_of_ours": len(words) / taken[ours.name][-1].cpu_seconds,
            "share_of_text_read": sum(min(n, _WORDS_READ) for n in words) / sum(words),
        },
        "rounds": taken,
    }


def _ratios(ours: Sequence[float], peer: Sequence[float]) -> list[float]:
    return [b / a for a, b in zip(ours, peer, strict=True)]


def markdown(found: dict[str, Any]) -> str:
    """Write the figures as a table."""
    cut = found["truncating"]
    rows = [f"| {name} | {rate:.1f} |" for name, rate in found["passages_per_second"].items()]
    wall, cpu = (f"{statistics.median(one):.2f} ({min(one):.2f} to {max(one):.2f})" for one in _all_ratios(found))
    return "\n".join(
        [
            "| server | passages/s |",
            "|---|--:|",
            *rows,
            "",
            f"Ratio, the median of {len(found['ratios'])} rounds: {wall}; of CPU time: {cpu}. Where the other server "
            f"gets documents as a whole, it reads about {cut['share_of_text_read']:.0%} of them, and "
            f"{cut['documents_per_cpu_second']:.1f} documents per second of CPU time; LongRank, which reads all, "
            f"{cut['documents_per_cpu_second_of_ours']:.1f}.",
            "",
        ]
    )


def _all_ratios(found: dict[str, Any]) -> tuple[list[float], list[float]]:
    return found["ratios"], found["cpu_ratios"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="the folder of a cross-encoder")
    parser.add_argument("--pipeline", default="maxp")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch, for each server")
    parser.add_argument("-o", "--output", type=Path, help="a folder for service-throughput.json and .md")
    args = parser.parse_args()
    found = measured(args.model, args.pipeline, args.clients, args.rounds, args.threads)
    print(markdown(found))
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "service-throughput.json").write_text(json.dumps(found, indent=1) + "\n")
        (args.output / "service-throughput.md").write_text(markdown(found))


def measured(model: str, pipeline: str, clients: int, rounds: int, threads: int) -> dict[str, Any]:
    """Start both servers and compare them."""
    command = ["-m", "longrank", "serve", "--rerank-only", "--pipeline", f"{pipeline}={model}", "--port", "0"]
    other = ["-m", "benchmarks.service_peer", model, "--threads", str(threads)]
    with tempfile.TemporaryDirectory() as folder:
        logs = (Path(folder) / "ours", Path(folder) / "peer")
        with Server(command, threads, logs[0]) as ours, Server(other, threads, logs[1]) as peer:
            return asyncio.run(
                compared(
                    Contestant("longrank serve", ours, "/v2/rerank", lambda request: request.body),
                    Contestant("FastAPI and CrossEncoder.predict", peer, "/rerank", passages_body),
                    Contestant("the same, truncating", peer, "/rerank", documents_body),
                    clients,
                    rounds,
                )
            )


def passages_body(request: Asked) -> bytes:
    """Return a request of our passages for the other server."""
    return json.dumps({"query": request.query, "passages": request.passages}).encode()


def documents_body(request: Asked) -> bytes:
    """Return a request of whole documents for the other server."""
    return json.dumps({"query": request.query, "passages": [[text] for text in request.documents]}).encode()


if __name__ == "__main__":
    main()
