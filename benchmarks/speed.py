"""Encoding as a ratio to sentence-transformers, on the same input, in the same process, in turn.

    python -m benchmarks.speed DATA [--repeats 5]

150-word windows of TIME with MiniLM against `encode(batch_size=32)`, its tokenizer freed of the limit of
128 tokens, as ours is.

Prints medians, and the median of the pairwise ratios (peer's seconds / ours: above 1, ours is faster).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from longrank.formats.corpora import read_documents
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
    _encoding(args.data / "time", args.repeats)


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
