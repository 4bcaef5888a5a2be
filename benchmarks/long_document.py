"""Measure the memory of a very long document above that of a loaded model.

    python -m benchmarks.long_document --folder /tmp/long
    python -m benchmarks.long_document --folder /tmp/long --model ~/.cache/longrank/models/minilm-cross-encoder

A document of 10 MB, of whole words of MiniLM's vocabulary and one made-up word in twenty, is indexed alone and
ranked for one query: by the cosines of the bi-encoder MiniLM, or by a cross-encoder where --model names one. Windows
of 150 words, half overlapping, about 24,000 of them. What is measured is memory beside mapped files (sampled every
5 ms) above what the process holds once the model is loaded. Prints one JSON object; takes minutes.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.memory import peak, unmapped
from benchmarks.million import ranks, word
from longrank.index import Index, index_files
from longrank.networks.model_files import find_model
from longrank.ranking.one_query import rank_one
from longrank.ranking.pipeline import open_pipeline
from longrank.types import Notes, Query

MADE_UP = 20  # one word in so many is none of the vocabulary, and several tokens
SENTENCE = 17  # words


def vocabulary() -> list[str]:
    """Return the words that are one token of MiniLM's."""
    pieces = json.loads((find_model("minilm").path / "tokenizer.json").read_text())["model"]["vocab"]
    return [piece for piece in pieces if piece.isascii() and piece.isalpha() and len(piece) > 1]


def prose(n_bytes: int, seed: int) -> str:
    """Return words drawn from a Zipfian distribution over the vocabulary, in sentences."""
    known, words, length = vocabulary(), [], 0
    rng = np.random.default_rng(seed)
    while length < n_bytes:
        for number, rank in enumerate(ranks(rng, SENTENCE).tolist()):
            new = word(rank) if rng.integers(MADE_UP) == 0 else known[rank % len(known)]
            words.append(new + "." if number == SENTENCE - 1 else new)
            length += len(words[-1]) + 1
    return " ".join(words)


def indexed(folder: Path, n_bytes: int, seed: int) -> Path:
    """Index the document; an index that is there already is used again."""
    index = folder / f"{n_bytes}-{seed}.index"
    if not index.exists():
        source = folder / f"{n_bytes}-{seed}.jsonl"
        source.write_text(json.dumps({"doc_id": "long", "text": prose(n_bytes, seed)}) + "\n")
        index_files([str(source)], index, notes=Notes())
    return index


def main() -> None:
    """Measure one model and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where document and index are kept")
    parser.add_argument("--model", help="a cross-encoder; without it the bi-encoder MiniLM")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    index = Index.open(indexed(args.folder, args.bytes, args.seed))
    assignments = [
        "passages.preset=windows",
        f"scorer.name={'cross-encoder' if args.model else 'bi-encoder'}",
        f"scorer.options.dtype={args.dtype}",
    ]
    pipeline = open_pipeline(
        index, "minilm", model=args.model and str(Path(args.model).expanduser()), assignments=assignments
    )
    start, cpu = time.monotonic(), time.process_time()
    before = unmapped()
    with peak() as largest:
        _, (evidence,) = rank_one(pipeline, Query("q", " ".join(vocabulary()[:8])), 1)
    report = {"model": args.model or "minilm", "dtype": args.dtype, "bytes": args.bytes}
    report |= {"passages": len(evidence.passage_score), "cut": evidence.n_truncated}
    report["mib_above_model"] = round((largest[0] - before) / (1 << 20))
    report |= {"seconds": round(time.monotonic() - start), "cpu_seconds": round(time.process_time() - cpu)}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
