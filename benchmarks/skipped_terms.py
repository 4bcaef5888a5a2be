"""BM25 with and without skipped terms, on real collections and their queries, and the rule that chooses.

    python -m benchmarks.skipped_terms COLLECTION... --folder DIR [--docs 0 1000000] [--queries 300]

COLLECTION is a collection folder. Documents are its passages (sentences, paragraphs, turns; whole documents if it has
none), in the order of the collection. ``--docs N``: N documents instead, in random order: the passages again and again,
each time without a random third of its words, so no copy equals another; 0: the passages as they are. Indexes have
the default analysis and are kept in the folder. Queries, an even sample, are grouped by the number of their terms that
the index knows. Exhaustive search, search with skipped terms and search by the rule take turns, query by query, in each
of the rounds, after a search that warms the caches. Prints the mean CPU time of a query in ms, median of the rounds,
without the analysis of the query; and the postings that the query's terms have.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.first_stage import table
from longrank.collections.collection import open_collection
from longrank.collections.documents import locate_documents
from longrank.collections.queries import read_queries
from longrank.index import Index, index_files
from longrank.retrieval import BM25
from longrank.types import Notes

LEFT_OUT = 1 / 3  # of the words of a passage, in collections made larger
GROUPS = ((2, 3), (4, 5), (6, 9), (10, 1024))
"""Terms of a query: from, to."""
WAYS = {"exhaustive": False, "skipping": True, "the rule": None}
Query = dict[str, float]


def passages(collection: Path) -> list[str]:
    """Return the texts of all passages."""
    texts = []
    for document in (one.document for one in locate_documents(open_collection(collection), Notes())):
        texts += [document.text[start:end] for start, end in document.passages] or [document.text]
    return texts


def enlarged(texts: list[str], n: int, seed: int) -> Iterator[str]:
    """Yield `n` documents in random order: passages without some of their words."""
    rng, words = np.random.default_rng([seed, n]), [text.split() for text in texts]
    for place in rng.permutation(n).tolist():
        some = words[place % len(words)]
        kept = rng.random(len(some)) >= LEFT_OUT
        yield " ".join(word for word, keep in zip(some, kept.tolist(), strict=True) if keep)


def indexed(collection: Path, n: int, folder: Path, seed: int) -> Index:
    """Return the index of a collection, built unless it is in the folder."""
    index, source = folder / f"{collection.name}-{n}.index", folder / f"{collection.name}-{n}.jsonl"
    if not index.exists():
        texts = passages(collection)
        with source.open("w", encoding="utf-8") as stream:
            for number, text in enumerate(enlarged(texts, n, seed) if n else texts):
                stream.write(json.dumps({"doc_id": f"d{number:08d}", "text": text}) + "\n")
        index_files([str(source)], index)
        source.unlink()
    return Index.open(index)


def grouped(bm25: BM25, collection: Path, most: int) -> dict[tuple[int, int], list[Query]]:
    """Return queries by the group of the number of their terms in the index."""
    queries = list(read_queries(open_collection(collection)))
    groups: dict[tuple[int, int], list[Query]] = {}
    for place in np.linspace(0, len(queries) - 1, min(most, len(queries))).astype(int).tolist():
        terms = bm25.query_terms(queries[place])
        known = len(bm25.index.inverted.found(sorted(terms)).dfs)
        for group in GROUPS:
            if group[0] <= known <= group[1]:
                groups.setdefault(group, []).append(terms)
    return dict(sorted(groups.items()))


def times(bm25: BM25, queries: list[Query], k: int, rounds: int) -> dict[str, float]:
    """Return the CPU time of a query by each way in ms."""
    windows = bm25._windows
    rule, taken = windows._may_skip, np.zeros((rounds + 1, len(WAYS)))
    for number in range(rounds + 1):
        for query in queries:
            bm25.search(query, k)
            for way, skip in enumerate(WAYS.values()):
                windows._may_skip = rule if skip is None else lambda n_terms, *_, skip=skip: np.full(len(n_terms), skip)  # type: ignore[method-assign, misc]
                start = time.process_time()
                bm25.search(query, k)
                taken[number, way] += 1000 * (time.process_time() - start)
    windows._may_skip = rule  # type: ignore[method-assign]
    medians = np.median(taken[1:], axis=0) / len(queries)
    return dict(zip(WAYS, medians.tolist(), strict=True))


def rows(collection: Path, n: int, args: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the rows of a collection."""
    index = indexed(collection, n, args.folder, args.seed)
    bm25 = BM25(index)
    for (least, most), queries in grouped(bm25, collection, args.queries).items():
        postings = np.mean([bm25.index.inverted.found(sorted(query)).dfs.sum() for query in queries])
        for k in args.k:
            figures = times(bm25, queries, k, args.rounds)
            terms = f"{least} to {most}" if most < GROUPS[-1][1] else f"{least} or more"
            about = [collection.name, f"{index.n_docs:,}", terms, str(len(queries)), f"{postings:,.0f}", str(k)]
            yield [*about, *(f"{figure:.3f}" for figure in figures.values())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--docs", type=int, nargs="+", default=[0, 1_000_000])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--k", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--builds-only", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    settings = [(collection, n) for n in args.docs for collection in args.collections]
    if args.builds_only:
        for collection, n in settings:
            print(collection.name, indexed(collection, n, args.folder, args.seed).n_docs, flush=True)
        return
    titles = ["collection", "documents", "terms", "queries", "postings", "k", *WAYS]
    print(table(titles, [row for collection, n in settings for row in rows(collection, n, args)]))


if __name__ == "__main__":
    main()
