"""Speed as a ratio to a peer, on the same input, in the same process, in turn.

    python -m benchmarks.speed DATA [--repeats 5]

- indexing and BM25 retrieval of SciFact's 5,183 abstracts and 300 queries, k = 1000, against bm25s
  (numpy backend, Lucene's formula, English stop words and Snowball's Porter stemmer);
- encoding 150-word windows of TIME with MiniLM against sentence-transformers' `encode(batch_size=32)`,
  its tokenizer freed of the limit of 128 tokens, as ours is.

Prints medians, and the median of the pairwise ratios (peer's seconds / ours: above 1, ours is faster).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from longrank.formats.corpora import read_documents
from longrank.formats.queries import read_queries
from longrank.index import Index, index_files
from longrank.retrieval import make_retriever
from longrank.scoring.bi_encoder import open_bi_encoder
from longrank.text.segment import make_segmenter
from longrank.types import Notes


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(name: str, ours: Callable[[], object], peer: Callable[[], object], repeats: int) -> None:
    """Run both once to warm up, then in turn, and print one row."""
    ours(), peer()
    pairs = [(seconds(ours), seconds(peer)) for _ in range(repeats)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"| {name} | {mine:.2f} | {theirs:.2f} | {ratio:.2f} |", flush=True)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print("| work | ours, s | peer, s | peer / ours |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        _first_stage(args.data / "scifact", Path(work), args.repeats)
    _encoding(args.data / "time", args.repeats)


def _first_stage(folder: Path, work: Path, repeats: int) -> None:
    import bm25s
    import Stemmer

    source = [str(folder / "docs.jsonl.gz")]
    documents = [located.document for located in read_documents(source, Notes())]
    texts = [f"{document.title}\n{document.text}" for document in documents]
    queries = read_queries(folder / "queries.jsonl", Notes())[:300]
    stemmer = Stemmer.Stemmer("porter")

    def tokens(texts: list[str]) -> object:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    def build_peer() -> bm25s.BM25:
        peer = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
        peer.index(tokens(texts), show_progress=False)
        return peer

    in_turn(
        "index SciFact (ours: to disk, with the texts)", lambda: index_files(source, work / "i"), build_peer, repeats
    )
    index, peer = Index.open(work / "i"), build_peer()
    ours = make_retriever(index, "bm25-anserini")
    in_turn(
        "BM25, 300 queries, k = 1000",
        lambda: [ours.retrieve(query, 1000) for query in queries],
        lambda: peer.retrieve(tokens([query.text for query in queries]), k=1000, show_progress=False),
        repeats,
    )


def _encoding(folder: Path, repeats: int) -> None:
    from sentence_transformers import SentenceTransformer

    segmenter, encoder = make_segmenter("windows"), open_bi_encoder(None, "minilm", notes=Notes())
    documents = [located.document for located in read_documents([str(folder / "docs.jsonl.gz")], Notes())][:40]
    passages = [[passage.text for passage in segmenter.segment(document).passages] for document in documents]
    peer = SentenceTransformer(str(encoder.model.path), device="cpu", local_files_only=True)
    peer.tokenizer.backend_tokenizer.no_truncation()
    peer.tokenizer.backend_tokenizer.no_padding()
    flat = [text for texts in passages for text in texts]
    in_turn(
        f"encode {len(flat)} windows with MiniLM",
        lambda: [encoder.encode(texts, "d") for texts in passages],
        lambda: peer.encode(flat, batch_size=32, show_progress_bar=False),
        repeats,
    )


if __name__ == "__main__":
    main()
