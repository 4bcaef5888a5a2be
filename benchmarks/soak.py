"""Measure a server over hours at 80% of its capacity: memory, descriptors, threads and latency, minute by minute.

    python -m benchmarks.soak [--minutes 120] [--share 0.8] [--cross-encoder FOLDER] [-o FOLDER]

`longrank serve` runs in a process of its own, with an index of the demo's documents and stored vectors. The requests
are a fixed cycle: searches with the vectors, documents and parts of the page, texts reranked by the bi-encoder and with
`--cross-encoder`, by a cross-encoder. No query and no text to rerank comes twice, so that the work of a request stays
the same while the server keeps more of what it has read. Capacity is the number of requests that 2 clients are answered
per second, in a minute after a minute of warming up; then requests arrive at random at `--share` of it, each on a
connection of its own. Growth is the slope of a line through the second half of the samples, with its standard error as
if minutes were independent. `kept` are the bytes that the server keeps of texts it has read, up to bounds; `least` is
the least anonymous memory of a minute, right after freed memory was given back; and `other` is `least` without `kept`.
Memory and latencies of each third of the time stand beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.service_requests import Answer, Connection, Server, asked
from longrank.demo.collection import DemoCollection, load
from longrank.small_files import MIB
from longrank.types import Notes

Step = tuple[str, dict[str, Any] | None]
Kind = Callable[[int], Step]
CALIBRATION, CLIENTS = 60.0, 2
PAGE = ("/", "/static/search.js", "/info", "/metrics")
HELD = ("rss", "anonymous", "least", "kept", "other", "descriptors", "threads")


def kinds_of_requests(demo: DemoCollection, cross_encoder: bool) -> list[Kind]:
    """Return functions from a number to a request, (path, body or None to get it), for a cycle."""

    def search(n: int) -> Step:
        query = asked(n, 1)
        words = random.Random(f"query {n}").sample(query.documents[0].split(), 3)
        return "/search", {"query": " ".join([query.query, *words]), "pipeline": "minilm"}

    def document(n: int) -> Step:
        return f"/document?id={random.Random(n).choice(demo.documents).doc_id}", None

    def page(n: int) -> Step:
        return random.Random(n).choice(PAGE), None

    def texts(pipeline: str) -> Kind:
        def reranked(n: int) -> Step:
            request = asked(n, 2)
            return "/v2/rerank", {"model": pipeline, "query": request.query, "documents": request.documents}

        return reranked

    return [search, document, page, texts("minilm"), *([search, texts("firstp")] if cross_encoder else [])]


class Load:
    """Requests in turn, and what became of those since the last `taken`."""

    def __init__(self, url: str, kinds: list[Kind]) -> None:
        self._url, self._kinds, self._numbers = url, kinds, count()
        self._answers: list[tuple[str, Answer]] = []

    async def ask(self, connection: Connection) -> None:
        number = next(self._numbers)
        path, body = self._kinds[number % len(self._kinds)](number)
        answer = await (connection.get(path) if body is None else connection.post(path, json.dumps(body).encode()))
        self._answers.append((path.partition("?")[0], answer))

    async def arrival(self) -> None:
        async with Connection(self._url) as connection:
            await self.ask(connection)

    def taken(self) -> dict[str, Any]:
        """Return the figures of the answers since the last call."""
        answers, self._answers = self._answers, []
        statuses = Counter(str(answer.status) for _, answer in answers)
        good = [
            answer.seconds for path, answer in answers if answer.status == 200 and path in ("/search", "/v2/rerank")
        ]
        latencies = {**quantiles(good), "seconds": [round(seconds, 3) for seconds in good]}
        return {"answers": len(answers), "statuses": dict(sorted(statuses.items())), **latencies}


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Return p50 and p99, 0 if there are none."""
    return dict(zip(("p50", "p99"), np.quantile(seconds or [0.0], [0.5, 0.99]).tolist(), strict=True))


async def capacity(load: Load, url: str, seconds: float) -> float:
    """Return the requests per second that `CLIENTS` clients are answered."""
    end = time.monotonic() + seconds

    async def client() -> None:
        async with Connection(url) as connection:
            while time.monotonic() < end:
                await load.ask(connection)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return float(load.taken()["statuses"].get("200", 0) / seconds)


async def soaked(server: Server, load: Load, per_second: float, minutes: int, output: Path) -> list[dict[str, Any]]:
    """Return a sample for each minute; each is printed and written as it comes."""
    rng, samples, pending = random.Random(6), list[dict[str, Any]](), set[asyncio.Task[None]]()
    started = due = time.monotonic()
    for minute in range(1, minutes + 1):
        watch = asyncio.create_task(watched(server.process.pid, least := [math.inf]))
        while (due := due + rng.expovariate(per_second)) < started + 60 * minute:
            await asyncio.sleep(due - time.monotonic())
            pending.add(task := asyncio.create_task(load.arrival()))
            task.add_done_callback(pending.discard)
        watch.cancel()
        samples.append({"minute": minute, **await memory(server, least[0]), **load.taken()})
        shown = {name: value for name, value in samples[-1].items() if name != "seconds"}
        print(json.dumps(shown), file=sys.stderr, flush=True)
        (output / "soak-samples.json").write_text(json.dumps(samples, indent=1) + "\n")
    await asyncio.gather(*pending)
    return samples


async def watched(pid: int, least: list[float]) -> None:
    """Look at the anonymous memory of a process each second until cancelled; `least` gets the least."""
    while True:
        least[0] = min(least[0], held(pid)["anonymous"])
        await asyncio.sleep(1)


async def memory(server: Server, least: float) -> dict[str, float]:
    """Return `held` of a server, the least of a minute, MiB that it keeps of the texts it has read, and the rest."""
    async with Connection(server.url) as connection:
        text = (await connection.get("/metrics")).body.decode()
    (kept,) = (float(line.split()[1]) / MIB for line in text.splitlines() if line.startswith("longrank_kept_bytes "))
    return {**held(server.process.pid), "least": least, "kept": kept, "other": least - kept}


def held(pid: int) -> dict[str, float]:
    """Return MiB of memory, and the numbers of descriptors and threads, of a process."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    status = {line[0]: line[1] for line in lines if len(line) > 1}
    return {
        "rss": int(status["VmRSS:"]) / 1024,
        "anonymous": int(status["RssAnon:"]) / 1024,
        "descriptors": len([*Path(f"/proc/{pid}/fd").iterdir()]),
        "threads": int(status["Threads:"]),
    }


def summary(samples: list[dict[str, Any]], per_second: float) -> dict[str, Any]:
    """Return extremes, the growth of the second half, also carried on to 24 hours, and each third."""
    late = samples[len(samples) // 2 :]
    statuses = sum((Counter(one["statuses"]) for one in samples), Counter[str]())
    found: dict[str, Any] = {"minutes": len(samples), "requests_per_second": per_second, "statuses": dict(statuses)}
    for name in (*HELD, "p50", "p99"):
        values = [one[name] for one in late]
        found[name] = {"first": samples[0][name], "middle": values[0], "last": values[-1], **growth(values)}
    for name in ("anonymous", "least", "other"):
        found[name]["after_24_hours"] = found[name]["last"] + 24 * found[name]["per_hour"]
    return found | {"thirds": [third(list(part)) for part in np.array_split(np.array(samples, object), 3)]}


def growth(values: list[float]) -> dict[str, float]:
    """Return the slope per hour of a line through values of a minute each, and its standard error; 0 for 3 or less."""
    if len(values) < 4:
        return {"per_hour": 0.0, "error": 0.0}
    (slope, _), covariance = np.polyfit(range(len(values)), values, 1, cov=True)
    return {"per_hour": 60 * float(slope), "error": 60 * float(covariance[0, 0]) ** 0.5}


def third(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return (least, mean, largest) of what the minutes of a third held, and the latencies of all its answers."""
    held = {name: np.array([one[name] for one in samples]) for name in HELD}
    spans = {name: [float(row.min()), float(row.mean()), float(row.max())] for name, row in held.items()}
    statuses = dict(sum((Counter(one["statuses"]) for one in samples), Counter[str]()))
    return {**spans, "statuses": statuses, **quantiles([seconds for one in samples for seconds in one["seconds"]])}


def built(folder: Path, demo: DemoCollection) -> Path:
    """Build an index of the demo's documents with stored vectors."""
    lines = [json.dumps({"id": one.doc_id, "title": one.title, "text": one.text}) for one in demo.documents]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")
    longrank = [sys.executable, "-m", "longrank", "index"]
    subprocess.run([*longrank, str(folder / "docs.jsonl"), "-o", str(folder / "index")], check=True)
    subprocess.run([*longrank, "--vectors", "minilm", str(folder / "index")], check=True)
    return folder / "index"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=120)
    parser.add_argument("--share", type=float, default=0.8, help="of the measured capacity")
    parser.add_argument("--cross-encoder", type=Path, help="a model folder, served as firstp")
    parser.add_argument("--warm", type=float, default=60, help="seconds before capacity is measured")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch")
    parser.add_argument("-o", "--output", type=Path, default=Path("work/soak"))
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    demo = load(Notes())
    with tempfile.TemporaryDirectory() as place:
        command = ["-m", "longrank", "serve", str(built(Path(place), demo)), "--port", "0", "--pipeline", "minilm"]
        command += ["--pipeline", f"firstp={args.cross_encoder}"] if args.cross_encoder else []
        with Server(command, args.threads, args.output / "server.log") as server:
            load_ = Load(server.url, kinds_of_requests(demo, args.cross_encoder is not None))
            asyncio.run(_run(server, load_, args))


async def _run(server: Server, load: Load, args: argparse.Namespace) -> None:
    await capacity(load, server.url, args.warm)
    per_second = args.share * await capacity(load, server.url, CALIBRATION)
    samples = await soaked(server, load, per_second, args.minutes, args.output)
    found = json.dumps(summary(samples, per_second), indent=1)
    print(found)
    (args.output / "soak.json").write_text(found + "\n")


if __name__ == "__main__":
    main()
