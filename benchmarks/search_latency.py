"""Time a search over 10,000 long documents with passage vectors stored in the index.

    python -m benchmarks.search_latency --folder DIR [--docs 10000] [--words 1000] [--pipeline minilm]

Documents are generated (Zipfian words of a growing vocabulary), and so are their vectors, which are random: they cost
the same to read and to multiply as MiniLM's. The query is encoded by MiniLM. The model is loaded; one query at a time:
BM25, the passages of the 100 best documents, their cosines, the mixture, and the shown passages of the first ten.
Prints median and 95th percentile of processor time, and where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.million import documents, queries
from longrank.index import Index, index_files
from longrank.index.vector_folders import VectorsKey
from longrank.index.vectors import DocumentVectors, find_vectors, write_vectors
from longrank.networks.model_files import find_model
from longrank.protocols import Segmenter
from longrank.ranking.explain import search
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.scoring.bi_encoder import BiEncoder
from longrank.text.segment import make_segmenter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the index")
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=1_000, help="of a document, in the mean")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--pipeline", default="minilm", help="a pipeline of MiniLM")
    parser.add_argument("--profile", action="store_true", help="say in which functions the time is spent")
    args = parser.parse_args()
    pipeline = open_pipeline(prepared(args.folder, args.docs, args.words), args.pipeline)
    asked = queries(args.queries, 1)
    for text in asked[:5]:
        search(pipeline, text)
    if args.profile:
        profiled(pipeline, asked)
    taken = [milliseconds(pipeline, text) for text in asked]
    print(f"{args.docs:,} documents of {args.words:,} words, {len(asked)} queries")
    print(f"median {statistics.median(taken):.1f} ms, 95th percentile {np.quantile(taken, 0.95):.1f} ms")


def prepared(folder: Path, n_docs: int, n_words: int) -> Index:
    """Return an index of generated documents with generated vectors; an existing index is used again."""
    path = folder / f"{n_docs}-{n_words}.index"
    if not path.exists():
        source = folder / f"{n_docs}-{n_words}.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        with source.open("w") as stream:
            stream.writelines(documents(n_docs, 1, n_words))
        index_files([str(source)], path)
    index, encoder = Index.open(path), BiEncoder(find_model("minilm"))
    segmenter = make_segmenter("tokens", tokenizer=encoder.offset_tokenizer)
    key = VectorsKey(encoder.encoder_fingerprint, segmenter.fingerprint)
    if find_vectors(index, key)[0] is None:
        write_vectors(index, "minilm-tokens", key, encoder.dimension, vectors(index, segmenter, encoder.dimension))
    return index


def vectors(index: Index, segmenter: Segmenter, dimension: int) -> Iterator[DocumentVectors]:
    rng = np.random.default_rng(1)
    for document in index:
        segmentation = segmenter.segment(document)
        n = len(segmentation.passages)
        rows = rng.standard_normal((n, dimension), np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield DocumentVectors(segmentation, rows, np.zeros(n, np.bool_))


def milliseconds(pipeline: Pipeline, text: str) -> float:
    start = time.process_time()
    search(pipeline, text)
    return 1000 * (time.process_time() - start)


def profiled(pipeline: Pipeline, asked: list[str]) -> None:
    profile = cProfile.Profile()
    profile.runcall(lambda: [search(pipeline, text) for text in asked])
    pstats.Stats(profile).sort_stats("cumulative").print_stats(30)


if __name__ == "__main__":
    main()
