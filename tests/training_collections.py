"""A tiny collection from which a tiny network can learn what is relevant: documents with the word "water"."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from evidences import evidence
from fakes import index_of
from longrank.formats.evidence import EvidenceWriter, evidence_header
from longrank.index import Index
from longrank.storage import digest_of
from longrank.types import Document, Evidence

N_QUERIES, N_DOCS, N_RANKED = 12, 30, 12
_OTHER = [
    "fish",
    "boat",
    "city",
    "king",
    "war",
    "peace",
    "north",
    "south",
    "fox",
    "dog",
    "run",
    "jump",
    "stone",
    "light",
    "house",
    "bread",
    "moon",
]
_QUERIES = [
    "river",
    "bank",
    "money",
    "long",
    "short",
    "passage",
    "query",
    "answer",
    "word",
    "over",
    "under",
    "blue",
]

# Sizes of a training of a second; windows of 12 words, 8 apart, for encoders that read 48 tokens.
SMALL = (
    "read.passages=windows",
    "read.options={length=12, stride=8}",
    "read.max_tokens=32",
    "read.max_query_tokens=8",
    "loop.batch=4",
)


def documents() -> list[Document]:
    """Return documents of one to four passages; every third has "water" in it, at any place."""
    rng = random.Random(3)
    made = []
    for n in range(N_DOCS):
        words = rng.choices(_OTHER, k=rng.randint(10, 34))
        if n % 3 == 0:
            words[rng.randrange(len(words))] = "water"
        made.append(Document(f"d{n:02d}", "", " ".join(words)))
    return made


def ranked(query: int) -> list[str]:
    """Return the first stage's documents of a query, those with "water" last: a bad start."""
    drawn = random.Random(100 + query).sample(documents(), N_RANKED)
    return [document.doc_id for document in sorted(drawn, key=lambda document: "water" in document.text)]


def write_collection(folder: Path) -> Path:
    """Write ``index``, ``queries.jsonl`` (with the field ``topic``), ``qrels.txt`` and ``first.run``."""
    index_of(documents(), folder / "index")
    relevant = {document.doc_id for document in documents() if "water" in document.text}
    rows = [{"query_id": f"q{n:02d}", "text": f"the {_QUERIES[n]}", "topic": f"t{n // 2}"} for n in range(N_QUERIES)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (folder / "qrels.txt").open("w") as qrels, (folder / "first.run").open("w") as run:
        for n in range(N_QUERIES):
            for rank, doc_id in enumerate(ranked(n)):
                run.write(f"q{n:02d} Q0 {doc_id} {rank + 1} {N_RANKED - rank} first\n")
                if doc_id in relevant or rank % 2:
                    qrels.write(f"q{n:02d} 0 {doc_id} {int(doc_id in relevant)}\n")
    return folder


def command(folder: Path, training: str, output: Path, *more: str, sets: Sequence[str] = ()) -> list[str]:
    """Return the arguments of ``longrank train`` on the collection in `folder`."""
    inputs = [str(folder / name) for name in ("index", "queries.jsonl", "qrels.txt", "first.run")]
    settings = [word for one in sets for word in ("--set", one)]
    return ["train", training, *inputs, "-o", str(output), *settings, *more]


def write_teacher(
    path: Path,
    scores: dict[tuple[str, str], float],
    index: Index | None,
    unit: str = "logit",
    *,
    queries: Mapping[str, str] | None = None,
) -> Path:
    """Write an evidence file with these document scores: (query_id, doc_id) -> score.

    `index` None: of some other index; `queries` are the texts by id that were read, None: some others.
    """
    by_query: dict[str, list[Evidence]] = {}
    for (query_id, doc_id), score in scores.items():
        one = evidence(doc_id, [0.0], query_id=query_id, document_score=score)
        by_query.setdefault(query_id, []).append(one)
    header = evidence_header(
        unit=unit,
        scorer="teacher",
        collection="c" if index is None else index.digest,
        queries="q" if queries is None else digest_of([[query_id, queries[query_id]] for query_id in by_query]),
        n_queries=len(by_query),
        candidates="x",
        options={},
    )
    with EvidenceWriter(path, header) as writer:
        for query_id, some in by_query.items():
            writer.write_query(query_id, some)
        writer.commit()
    return path
