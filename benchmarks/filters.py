"""Time searches with filters on metadata over generated documents, against the same searches without a filter.

    python -m benchmarks.filters --folder DIR [--docs 200000] [--words 60]

Documents are those of `benchmarks.million`, with a year (30 values), a language (3 values), a number that no other
document has, and a list of tags. Filters keep about 50%, 10%, 1% and 0.1%. For each filter: seconds of its first use
in a process (the field is read from SQLite), milliseconds of another filter on the same field, and the median
milliseconds that a search with the kept mask takes beyond the same search without it, BM25 and the best 1,000, one
thread. Searches with and without a filter alternate. Prints one JSON object; the generated index is kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.million import documents, queries
from longrank.index import Index
from longrank.index.filter_parsing import parse_filter
from longrank.retrieval import make_retriever
from longrank.types import Query

LANGUAGES = ("en", "de", "fr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the index")
    parser.add_argument("--docs", type=int, default=200_000)
    parser.add_argument("--words", type=int, default=60, help="of a document, in the mean")
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    path = args.folder / f"filters-{args.docs}-{args.words}.index"
    if not path.exists():
        args.folder.mkdir(parents=True, exist_ok=True)
        Index.build(records(args.docs, args.words), path)
    asked = [Query(str(n), text) for n, text in enumerate(queries(args.queries, 1))]
    rows = [measured(Index(path), filter, other, asked) for filter, other in filters(args.docs)]
    print(json.dumps({"documents": args.docs, "words": args.words, "queries": args.queries, "filters": rows}, indent=1))


def records(n: int, words: int) -> Iterator[dict[str, Any]]:
    """Yield the generated documents, each with four more fields."""
    for number, line in enumerate(documents(n, 1, words)):
        fields = {"year": 1990 + number * 7 % 30, "lang": LANGUAGES[number % 3], "number": number * 7919 % n}
        yield {**json.loads(line), **fields, "tags": [f"t{number % 10}", f"u{number * 31 % 1000}"]}


def filters(n: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return pairs of filters on the same fields."""
    return [
        ({"year": {"$gte": 2005}}, {"year": {"$gte": 2004}}),
        ({"lang": "en", "year": {"$lt": 1999}}, {"lang": "de", "year": {"$lt": 1998}}),
        ({"number": {"$lt": n // 100}}, {"number": {"$lt": n // 90}}),
        ({"tags": "u7"}, {"tags": "u8"}),
    ]


def measured(index: Index, filter: dict[str, Any], other: dict[str, Any], asked: list[Query]) -> dict[str, Any]:
    """Return the cost of a filter in an index that was just opened."""
    began = time.perf_counter()
    mask = index.mask(parse_filter(filter))
    first = time.perf_counter() - began
    began = time.perf_counter()
    index.mask(parse_filter(other))
    second = time.perf_counter() - began
    plain = make_retriever(index)
    within = plain.within(mask)
    for query in asked[:10]:
        within.retrieve(query, 1000)
    searches: list[Callable[[Query], object]] = [lambda q: plain.retrieve(q, 1000), lambda q: within.retrieve(q, 1000)]
    taken = [[milliseconds(search, query) for search in searches] for query in asked]
    without, with_filter = (statistics.median(times) for times in zip(*taken, strict=True))
    return {
        "filter": filter,
        "kept_percent": round(100 * float(mask.mean()), 3),
        "first_use_s": round(first, 3),
        "next_filter_ms": round(1000 * second, 2),
        "search_ms": round(without, 2),
        "filtered_search_ms": round(with_filter, 2),
        "median_difference_ms": round(statistics.median(after - before for before, after in taken), 2),
    }


def milliseconds(search: Callable[[Query], object], query: Query) -> float:
    began = time.perf_counter()
    search(query)
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
