"""Collections for measuring first stages: generated short documents, and real ones analysed beforehand.

Every engine gets the same words, already lower-case and between spaces, in files that all of them read
(``{"id": ..., "contents": ...}`` a line). Nothing is left to stem or to stop, so results can be compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.million import BLOCK, ranks, word
from longrank.collections.collection import open_collection
from longrank.collections.documents import locate_documents
from longrank.collections.queries import read_queries
from longrank.text.analysis import ANALYZERS
from longrank.types import Notes

MEAN_WORDS, SPREAD = 59, 0.6  # of a log-normal distribution: the mean of MS MARCO's passages
QUERY_LENGTHS = {2: 0.10, 3: 0.16, 4: 0.18, 5: 0.16, 6: 0.13, 7: 0.09, 8: 0.07, 10: 0.06, 12: 0.03, 16: 0.02}
"""Words of a query -> share of the queries: 5.5 in the mean, much like MS MARCO's questions."""
FILES = 4  # Anserini reads files in parallel, but each by itself


class WordCollection(NamedTuple):
    """A folder of JSONL files, how many documents they hold, and queries."""

    name: str
    source: Path
    n_docs: int
    queries: list[str]


def generated(n: int, n_queries: int, seed: int, folder: Path) -> WordCollection:
    """Make `n` documents of words from a Zipf-Mandelbrot distribution, and queries from the same."""
    source = _written(folder / f"generated-{n}-{seed}", _documents(n, seed), n)
    return WordCollection(f"generated, {n:,} documents", source, n, _queries(n_queries, seed))


def real(path: Path, n_queries: int, folder: Path) -> WordCollection:
    """Read a collection folder and analyse it as LongRank and Lucene do: stop words dropped, Porter stems."""
    opened = open_collection(path)
    documents = [one.document for one in locate_documents(opened, Notes())]
    texts = ((one.doc_id, _analysed(f"{one.title}\n{one.text}")) for one in documents)
    source = _written(folder / path.name, texts, len(documents))
    queries = [_analysed(query.text) for query in read_queries(opened)]
    return WordCollection(f"{path.name}, {len(documents):,} documents", source, len(documents), queries[:n_queries])


def _analysed(text: str) -> str:
    """Return terms that stay as they are when words are looked for in them again (``u.s`` has the stem ``u.``)."""
    return " ".join(ANALYZERS["none"](" ".join(ANALYZERS["porter"](text))))


def _documents(n: int, seed: int) -> Iterator[tuple[str, str]]:
    for first in range(0, n, BLOCK):
        rng = np.random.default_rng([seed, first])
        mu = math.log(MEAN_WORDS) - SPREAD**2 / 2
        lengths = np.maximum(rng.lognormal(mu, SPREAD, min(BLOCK, n - first)).astype(int), 3)
        words = iter([word(rank) for rank in ranks(rng, int(lengths.sum())).tolist()])
        for number, length in enumerate(lengths.tolist(), first):
            yield f"d{number:08d}", " ".join(islice(words, length))


def _queries(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng([seed, n, 2])
    lengths = rng.choice(list(QUERY_LENGTHS), n, p=list(QUERY_LENGTHS.values()))
    return [" ".join(word(rank) for rank in ranks(rng, length).tolist()) for length in lengths.tolist()]


def _written(folder: Path, documents: Iterable[tuple[str, str]], n: int) -> Path:
    """Write `n` documents into a few files of a new folder, in order; an existing folder is used again."""
    if folder.exists():
        return folder
    partial, rest = folder.with_name(f"{folder.name}.partial"), iter(documents)
    partial.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        with (partial / f"docs-{number}.jsonl").open("w", encoding="utf-8") as stream:
            for doc_id, text in islice(rest, -(-n // FILES)):
                stream.write(json.dumps({"id": doc_id, "contents": text}) + "\n")
    return partial.rename(folder)
