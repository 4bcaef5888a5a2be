"""Measure searches of `longrank serve` in one process, and with one and two replicas on a Ray cluster of this machine.

    python -m benchmarks.service_cluster --folder DIR [--docs 5000] [--searches 200] [--clients 4]

Generated documents (`benchmarks.million`) of 200 words in the mean; pipeline `lexical`, which reads the passages of 100
documents for each query, or another by `--pipeline`; one thread for each process. The servers run one after another,
and first answer a tenth of the searches to warm up. Checks that all give the same results. Prints a JSON line for each:
milliseconds of a search by a single client (median), and searches per second of all clients together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.million import documents, queries
from benchmarks.service_requests import Connection, Server
from longrank.index import Index

SERVERS = {
    "one process": [],
    "1 replica": ["--engine", "ray", "--workers", "1"],
    "2 replicas": ["--engine", "ray", "--workers", "2"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--docs", type=int, default=5000)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--pipeline", default="lexical")
    args = parser.parse_args()
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 gives way to all other programs of the machine
    args.folder.mkdir(parents=True, exist_ok=True)
    source, index = args.folder / "docs.jsonl", args.folder / "index"
    with source.open("w") as stream:
        stream.writelines(documents(args.docs, 0))
    if not index.exists():
        Index.build(source, index)
    texts, expected = queries(args.searches, 1), None
    for name, options in SERVERS.items():
        command = ["-m", "longrank", "serve", str(index), "--pipeline", args.pipeline, "--port", "0", *options]
        with Server(command, 1, args.folder / "log") as server:
            report, found = asyncio.run(measured(server, texts, args.clients))
        expected = expected or found
        if found != expected:
            raise SystemExit(f"{name}: other results than of one process")
        print(json.dumps({"server": name, **report}), flush=True)


async def measured(server: Server, texts: Sequence[str], clients: int) -> tuple[dict[str, Any], list[Any]]:
    """Return the figures of a server, and its results."""
    await asked(server, texts[: len(texts) // 10], clients)
    _, seconds, _ = await asked(server, texts[: len(texts) // 4], 1)
    results, _, taken = await asked(server, texts, clients)
    median, rate = statistics.median(seconds), len(texts) / taken
    return {"milliseconds": round(1000 * median, 1), "clients": clients, "per_second": round(rate, 1)}, results


async def asked(server: Server, texts: Sequence[str], clients: int) -> tuple[list[Any], list[float], float]:
    """Return the results of searches by some clients, the seconds of each, and of all together."""
    results: list[Any] = [None] * len(texts)
    seconds, numbers = [0.0] * len(texts), iter(range(len(texts)))

    async def client() -> None:
        async with Connection(server.url) as connection:
            for n in numbers:
                began = time.perf_counter()
                answer = await connection.post("/search", json.dumps({"query": texts[n], "k": 10}).encode())
                seconds[n] = time.perf_counter() - began
                results[n] = json.loads(answer.body)["results"]

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return results, seconds, time.perf_counter() - began


if __name__ == "__main__":
    main()
