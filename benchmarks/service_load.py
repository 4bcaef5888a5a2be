"""Measure `longrank serve` under load: too many clients, slow clients, and a signal to stop.

    python -m benchmarks.service_load [--pipeline minilm] [--model FOLDER] [--seconds 20] [-o FOLDER]

The server runs in a process of its own with two threads for PyTorch; the clients share its cores. Every request is
another one, of 4 documents of 300 to 1,500 words (`benchmarks.service_requests`). In turn:

- closed loops: 1, 2, 8, 32 and 128 clients, each of which sends its next request when the last is answered, or
  when the ``Retry-After`` of a refusal is over; `--seconds` each. Passages per second until the last answer.
- overload: requests arrive at random, five times as many as 8 clients were answered, each on a connection of its own.
  Goodput: passages that were answered, per second until the last answer, over what 8 clients get before and after.
  Recovery: from the last arrival until a client that asks one request after the other is answered in 1.5 times the
  usual time.
- slow clients: 500 that never end their head, 100 that never end their body, each back again as soon as it is thrown
  out; how long they were let, and what a client that asks one request after the other notices.
- SIGTERM with 20 requests of one document in flight: how many are lost, the exit code, and the time it takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.service_requests import Answer, Asked, Connection, Server, Stock, asked

CLIENTS = (1, 2, 8, 32, 128)
OVERLOAD, CAPACITY_AT = 5, 8
HALF_HEADS, HALF_BODIES, IN_FLIGHT = 500, 100, 20
PATIENCE = 32  # seconds: a little more than the server has with a body
PATH = "/v2/rerank"
HEAD = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()


class Done(NamedTuple):
    """A request, its answer, and when that came."""

    asked: Asked
    answer: Answer
    at: float


async def closed_loops(url: str, clients: int, seconds: float, requests: Stock) -> dict[str, Any]:
    """Measure so many clients that ask one request after the other."""
    requests.fill(2 * clients + int(4 * seconds))
    started = time.monotonic()
    done: list[Done] = []
    await asyncio.gather(*(_client(url, started + seconds, requests, done) for _ in range(clients)))
    return {"clients": clients, **_summary(done, started)}


async def _client(url: str, end: float, requests: Stock, done: list[Done]) -> None:
    async with Connection(url) as connection:
        while time.monotonic() < end:
            request = requests.take()
            answer = await connection.post(PATH, request.body)
            done.append(Done(request, answer, time.monotonic()))
            if answer.status != 200:
                await asyncio.sleep(min(end - time.monotonic(), float(answer.headers.get("retry-after", 1))))


async def overload(url: str, per_second: float, seconds: float, normal: float, requests: Stock) -> dict[str, Any]:
    """Measure requests that arrive at random, independent of earlier requests; `normal`: the usual latency."""
    rng = random.Random(5)
    arrivals = np.cumsum([rng.expovariate(per_second) for _ in range(int(per_second * seconds))]).tolist()
    requests.fill(len(arrivals) + 50)
    started = time.monotonic()
    done: list[Done] = []
    tasks = []
    for at in arrivals:
        await asyncio.sleep(started + at - time.monotonic())
        tasks.append(asyncio.create_task(_arrival(url, requests.take(), done)))
    ended = time.monotonic()
    recovered = await _recovery(url, ended, 1.5 * normal, requests, done)
    await asyncio.gather(*tasks)
    return {"requests_per_second": per_second, "recovered_after": recovered, **_summary(done, started)}


async def overloaded(url: str, seconds: float, normal: float, requests: Stock) -> dict[str, Any]:
    """Measure overload, and a number of clients that is served well before and after it."""
    before = await closed_loops(url, CAPACITY_AT, seconds, requests)
    pushed = await overload(url, OVERLOAD * before["answers_per_second"], 1.5 * seconds, normal, requests)
    after = await closed_loops(url, CAPACITY_AT, seconds, requests)
    capacity = (before["passages_per_second"] + after["passages_per_second"]) / 2
    return {**pushed, "capacity": capacity, "goodput": pushed["passages_per_second"] / capacity}


async def _arrival(url: str, request: Asked, done: list[Done]) -> None:
    async with Connection(url) as connection:
        answer = await connection.post(PATH, request.body)
    done.append(Done(request, answer, time.monotonic()))


async def _recovery(url: str, since: float, usual: float, requests: Stock, done: list[Done]) -> float:
    """Return after how many seconds a client is answered as usual; until then it adds to the load."""
    async with Connection(url) as connection:
        while True:
            began = time.monotonic() - since
            request = requests.take()
            answer = await connection.post(PATH, request.body)
            if answer.status == 200 and answer.seconds <= usual:
                return began
            done.append(Done(request, answer, time.monotonic()))
            if answer.status != 200:
                await asyncio.sleep(0.5)


async def slow_clients(url: str, seconds: float, requests: Stock) -> dict[str, Any]:
    """Measure a normal client without and with many clients that never finish a request."""
    body = asked(0, 4).body
    half = HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body[: len(body) // 2]
    without = await closed_loops(url, 1, seconds, requests)
    lived: dict[str, list[float]] = {"heads": [], "bodies": []}
    slow = [
        asyncio.create_task(_slow(url, begun, lived[kind]))
        for kind, n, begun in (("heads", HALF_HEADS, HEAD), ("bodies", HALF_BODIES, half))
        for _ in range(n)
    ]
    await asyncio.sleep(1)
    beside = await closed_loops(url, 1, max(seconds, PATIENCE), requests)
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    longest = {f"longest_of_{kind}": max(found, default=None) for kind, found in lived.items()}
    thrown = {f"{kind}_thrown_out": len(found) for kind, found in lived.items()}
    return {"without": without, "beside": beside, **longest, **thrown}


async def _slow(url: str, begun: bytes, lived: list[float]) -> None:
    """Begin a request, wait until the server has had enough, and come back."""
    host, port = url.rpartition("//")[2].rsplit(":", 1)
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                writer.write(begun)
                started = time.monotonic()
                await reader.read()
                lived.append(time.monotonic() - started)
            finally:
                writer.close()
        except OSError:
            await asyncio.sleep(0.1)


async def stopped(server: Server, requests: Stock) -> dict[str, Any]:
    """Measure the requests in flight when the server is told to stop."""
    done: list[Done] = []
    requests.fill(IN_FLIGHT)
    tasks = [asyncio.create_task(_arrival(server.url, requests.take(), done)) for _ in range(IN_FLIGHT)]
    in_flight = 0
    async with Connection(server.url) as connection:
        while in_flight + len(done) < IN_FLIGHT:
            await asyncio.sleep(0.02)
            in_flight = _in_flight((await connection.get("/metrics")).body.decode())
    before = len(done)
    server.process.send_signal(signal.SIGTERM)
    started = time.monotonic()
    await asyncio.sleep(0.2)
    async with Connection(server.url) as connection:
        late = (await connection.get("/ready")).status
    await asyncio.gather(*tasks)
    code = await asyncio.to_thread(server.process.wait, 60)
    return {
        "in_flight": IN_FLIGHT - before,
        "lost": sum(one.answer.status != 200 for one in done[before:]),
        "ready_afterwards": late or "no connection",
        "exit_code": code,
        "seconds": time.monotonic() - started,
    }


def _in_flight(metrics: str) -> int:
    (line,) = [line for line in metrics.splitlines() if line.startswith("longrank_waiting_requests ")]
    return int(float(line.split()[1]))


def _summary(done: Sequence[Done], started: float) -> dict[str, Any]:
    good = [one for one in done if one.answer.status == 200]
    refused = [one.answer for one in done if one.answer.status in (429, 503)]
    last = max((one.at for one in good), default=started) - started
    return {
        "answered": len(good),
        "answers_per_second": len(good) / last if good else 0.0,
        "passages_per_second": sum(one.asked.n_passages for one in good) / last if good else 0.0,
        **_quantiles("", [one.answer.seconds for one in good]),
        "statuses": dict(sorted(Counter(one.answer.status for one in done).items())),
        **_quantiles("refusal_", [one.seconds for one in refused]),
        "refusals_without_retry_after": sum(not one.headers.get("retry-after", "").isdigit() for one in refused),
    }


def _quantiles(name: str, seconds: Sequence[float]) -> dict[str, float | None]:
    found = [float(np.quantile(seconds, q)) if seconds else None for q in (0.5, 0.99)]
    return {f"{name}p50": found[0], f"{name}p99": found[1]}


class Memory:
    """Watches how much memory a server holds, until it is left."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.idle = self.peak = server.mebibytes()

    async def __aenter__(self) -> Memory:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            self.peak = max(self.peak, self._server.mebibytes())
            await asyncio.sleep(0.05)


async def measured(server: Server, seconds: float) -> dict[str, Any]:
    """Measure everything, in turn."""
    numbers = count(1)
    requests, small = Stock(4, numbers), Stock(1, numbers)
    await closed_loops(server.url, 1, 2, requests)  # the first ones are slow
    async with Memory(server) as memory:
        loops = []
        for n in CLIENTS:
            loops.append(_said(f"{n} clients", await closed_loops(server.url, n, seconds, requests)))
        pushed = await overloaded(server.url, seconds, loops[0]["p50"], requests)
        _said("overload", pushed)
        slow = _said("slow clients", await slow_clients(server.url, seconds, requests))
    return {
        "closed_loops": loops,
        "overload": pushed,
        "memory_mebibytes": {"idle": memory.idle, "peak": memory.peak},
        "slow_clients": slow,
        "sigterm": await stopped(server, small),
    }


def _said(what: str, found: dict[str, Any]) -> dict[str, Any]:
    print(f"{what}: {json.dumps(found)}", file=sys.stderr, flush=True)
    return found


def markdown(found: dict[str, Any]) -> str:
    """Write the figures as tables."""
    lines = ["| clients | answered | p50 | p99 | passages/s | other answers |", "|--:|--:|--:|--:|--:|---|"]
    for one in found["closed_loops"]:
        lines.append(
            f"| {one['clients']} | {one['answered']} | {_shown(one['p50'])} | {_shown(one['p99'])} "
            f"| {one['passages_per_second']:.1f} | {_others(one['statuses'])} |"
        )
    pushed, memory, slow, end = (found[key] for key in ("overload", "memory_mebibytes", "slow_clients", "sigterm"))
    rows = {
        f"goodput at {OVERLOAD} times capacity": f"{pushed['goodput']:.2f} of what {CAPACITY_AT} clients got",
        "requests": f"{pushed['answered']} answered, {_others(pushed['statuses'])}",
        "refusals, p50 and p99": f"{_shown(pushed['refusal_p50'])}, {_shown(pushed['refusal_p99'])}",
        "refusals without an integer Retry-After": pushed["refusals_without_retry_after"],
        "usual latency again after": _shown(pushed["recovered_after"]),
        "memory: idle, peak": f"{memory['idle']:.0f} MiB, {memory['peak']:.0f} MiB",
        "half heads are thrown out after": _shown(slow["longest_of_heads"]),
        "half bodies are thrown out after": _shown(slow["longest_of_bodies"]),
        "a client beside them, p50 and p99": f"{_shown(slow['beside']['p50'])}, {_shown(slow['beside']['p99'])}",
        "the same without them": f"{_shown(slow['without']['p50'])}, {_shown(slow['without']['p99'])}",
        f"lost of {end['in_flight']} in flight at SIGTERM": end["lost"],
        "exit code, after": f"{end['exit_code']}, {_shown(end['seconds'])}",
    }
    lines += ["", "| what | measured |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]
    return "\n".join(lines) + "\n"


def _shown(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _others(statuses: dict[int, int]) -> str:
    return ", ".join(f"{n} x {status}" for status, n in statuses.items() if status != 200) or "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipeline", default="minilm")
    parser.add_argument("--model", help="a folder; replaces the pipeline's own")
    parser.add_argument("--seconds", type=float, default=20, help="of each closed loop; of overload half as much again")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch")
    parser.add_argument("-o", "--output", type=Path, help="a folder for service-load.json and .md")
    args = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    pipeline = args.pipeline if args.model is None else f"{args.pipeline}={args.model}"
    command = ["-m", "longrank", "serve", "--rerank-only", "--pipeline", pipeline, "--port", "0"]
    with tempfile.TemporaryDirectory() as folder, Server(command, args.threads, Path(folder) / "log") as server:
        found = asyncio.run(measured(server, args.seconds))
    print(markdown(found))
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "service-load.json").write_text(json.dumps(found, indent=1) + "\n")
        (args.output / "service-load.md").write_text(markdown(found))


if __name__ == "__main__":
    main()
