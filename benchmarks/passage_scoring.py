"""Time passage scoring as a ratio to sentence-transformers: same input, process and cores, in turn.

    python -m benchmarks.passage_scoring DATA [--threads 1 2] [--repeats 5] [--passages 120] [-o FILE]

MiniLM as cross-encoder against `CrossEncoder.predict`, on whole documents of TIME and qmsum, each with a query of
its collection, in 150/75-word windows and in windows of 225 wordpieces; and as bi-encoder against
`SentenceTransformer.encode`, on the sentences of the same documents. The peer keeps its default settings;
tokenisation is part of the work on both sides. The head is random (`--model FOLDER` takes a trained one): that
changes no time, but what is said about rankings then holds for arbitrary scores only. int8 is calibrated on 300 pairs
of another collection, cranfield.

Per row: the median over rounds of the peer's CPU seconds / ours, the same of wall time, passages per CPU second,
the share of the matrix peak of the dtype (operations computed, padding included, per second of wall time; of other
backends those that torch computes), the largest
difference of a score in standard deviations, and Kendall's tau of all passages.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from longrank.collections.documents import locate_documents
from longrank.formats.queries import read_queries
from longrank.index import Index, build_index
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask
from longrank.ranking.quantization import quantize_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.scoring.speed import count_operations, machine, matrix_peak, use_threads
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes, Query

WINDOWS = {
    "150/75 words": ("windows", {}),
    "225 wordpieces": ("windows", {"unit": "wordpiece", "length": 225, "stride": 225}),
}
COLLECTIONS = ("time", "qmsum")
CALIBRATED_ON = "cranfield"
OURS = {
    "float32": {},
    "bf16": {"dtype": "bf16"},
    "onnx float32": {"backend": "onnx"},
    "openvino float32": {"backend": "openvino"},
    "openvino bf16": {"backend": "openvino", "dtype": "bf16"},
    "openvino int8": {"backend": "openvino", "dtype": "int8"},
}
Work = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Row:
    """Figures of a LongRank variant beside the peer."""

    work: str
    n: int
    threads: int
    ours: str
    ratio_cpu: float
    ratio_wall: float
    per_cpu_second: float
    peer_per_cpu_second: float
    peak: float
    share: float
    peer_share: float
    difference: float
    tau: float


def compared(name: str, peer: Work, ours: dict[str, Work], threads: int, repeats: int) -> Iterator[Row]:
    """Yield a row for each of ours: all run once to warm up, then in turn."""
    use_threads(threads)
    works = {"peer": peer, **ours}
    scores = {key: work() for key, work in works.items()}
    counted = {key: count_operations(works[key]) for key in ("peer", "float32")}
    operations = {key: counted.get(key, counted["float32"]) for key in works}
    times = {key: [] for key in works}
    for _ in range(repeats):
        for key, work in works.items():
            times[key].append(_timed(work))
    cpu, wall = ({key: np.array([pair[n] for pair in pairs]) for key, pairs in times.items()} for n in (0, 1))
    rate = {key: operations[key] / statistics.median(wall[key]) / 1e9 for key in works}
    n, expected = len(scores["peer"]), scores["peer"]
    for key in ours:
        peak = matrix_peak(OURS[key].get("dtype", "float32"))
        yield Row(
            name,
            n,
            threads,
            key,
            float(np.median(cpu["peer"] / cpu[key])),
            float(np.median(wall["peer"] / wall[key])),
            n / float(np.median(cpu[key])),
            n / float(np.median(cpu["peer"])),
            peak,
            rate[key] / peak,
            rate["peer"] / matrix_peak("float32"),
            float(np.abs(scores[key] - expected).max() / expected.std()),
            float(kendalltau(scores[key], expected).statistic),
        )


def _timed(work: Work) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def cross_encoder(folder: Path, int8: Path, data: Path, passages: int) -> Iterator[tuple[str, Work, dict[str, Work]]]:
    """Yield comparisons: a name, the peer's work, and LongRank's by a key of `OURS`; the results are logits."""
    import torch
    from sentence_transformers import CrossEncoder as Peer

    scorers = {
        name: CrossEncoder(
            find_model(str(int8 if options.get("dtype") == "int8" else folder)), score="logit", **options
        )
        for name, options in OURS.items()
    }
    network = Peer(str(folder), device="cpu", local_files_only=True)
    for name, (preset, options) in WINDOWS.items():
        segmenter = make_segmenter(preset, options, scorers["float32"].offset_tokenizer)
        tasks = [task for collection in COLLECTIONS for task in read_tasks(data / collection, segmenter, passages)]
        pairs = [(task.query.text, text) for task in tasks for text in task.texts]
        yield (
            f"cross-encoder, {name}",
            lambda pairs=pairs: network.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False),
            {
                name: lambda one=one, tasks=tasks: np.concatenate([result.scores for result in one.score(tasks)])
                for name, one in scorers.items()
            },
        )


def read_tasks(folder: Path, segmenter, passages: int) -> Iterator[ScoringTask]:
    """Yield whole documents, at most so many passages of each, until there are enough; each with the next query."""
    queries, left = read_queries(folder / "queries.jsonl", Notes()), passages
    for n, document in enumerate(_documents(folder)):
        chosen = segmenter.segment(document).passages[: min(left, passages // 3)]
        texts = tuple(passage.text for passage in chosen)
        yield ScoringTask(_query(queries, n), document.doc_id, chosen, texts)
        left -= len(chosen)
        if left == 0:
            return


def _query(queries: list[Query], n: int) -> Query:
    return queries[n % len(queries)]


def _documents(folder: Path) -> Iterator[Document]:
    return (located.document for located in locate_documents([str(folder / "docs.jsonl.gz")], Notes()))


def bi_encoder(int8: Path, data: Path, sentences: int) -> tuple[str, Work, dict[str, Work]]:
    """Return a comparison; the results are the cosines with the first sentence."""
    from sentence_transformers import SentenceTransformer

    segmenter, texts = make_segmenter("sentences"), []
    for collection in COLLECTIONS:
        some: list[str] = []
        for document in _documents(data / collection):
            some += [passage.text for passage in segmenter.segment(document).passages if passage.text.strip()]
            if len(some) >= sentences // 2:
                break
        texts += some[: sentences // 2]
    model = find_model("minilm")
    peer = SentenceTransformer(str(model.path), device="cpu", local_files_only=True)
    peer.tokenizer.backend_tokenizer.no_truncation()  # its file stops at 128 tokens, ours reads the model's 256
    peer.tokenizer.backend_tokenizer.no_padding()
    encoders = {
        name: BiEncoder(find_model(str(int8)) if options.get("dtype") == "int8" else model, **options)
        for name, options in OURS.items()
    }
    return (
        "bi-encoder, sentences",
        lambda: _cosines(peer.encode(texts, show_progress_bar=False)),
        {name: lambda one=one: _cosines(one.encode({"d": texts})[0].vectors) for name, one in encoders.items()},
    )


def _cosines(vectors: np.ndarray) -> np.ndarray:
    return vectors[1:] @ vectors[0]


def random_head(folder: Path) -> Path:
    """Write MiniLM with a random head of one output; return its folder."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    path = str(find_model("minilm").path)
    torch.manual_seed(3)
    network = AutoModelForSequenceClassification.from_pretrained(path, num_labels=1)
    with torch.no_grad():
        network.classifier.weight.normal_(0, 0.3)
    tokenizer = AutoTokenizer.from_pretrained(path)
    tokenizer.model_max_length = network.config.max_position_embeddings
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def quantized(model: str, scorer: str, data: Path, work: Path) -> Path:
    """Write the model in int8; return its folder."""
    collection, index = data / CALIBRATED_ON, work / f"{CALIBRATED_ON}.index"
    if not index.exists():
        build_index(locate_documents([str(collection / "docs.jsonl.gz")], Notes()), index)
    queries = read_queries(collection / "queries.jsonl", Notes())
    quantize_model(model, scorer, Index.open(index), queries, work / f"{scorer}-int8", notes=Notes())
    return work / f"{scorer}-int8"


HEAD = """| work | n | threads | ours | CPU: peer / ours | wall: peer / ours | ours, 1/s CPU | peer, 1/s CPU \
| of the peak | peer's | largest difference, sd | tau |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def line(row: Row) -> str:
    return (
        f"| {row.work} | {row.n} | {row.threads} | {row.ours} | {row.ratio_cpu:.2f} | {row.ratio_wall:.2f} "
        f"| {row.per_cpu_second:.1f} | {row.peer_per_cpu_second:.1f} | {row.share:.0%} | {row.peer_share:.0%} "
        f"| {row.difference:.1e} | {row.tau:.4f} |"
    )


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, help="a cross-encoder's folder")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--passages", type=int, default=120, help="of each collection")
    parser.add_argument("--sentences", type=int, default=800)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = args.model or random_head(Path(work) / "random-head")
        use_threads(max(args.threads))  # a runtime gets as many
        cross, bi = (
            quantized(str(model), scorer, args.data, Path(work))
            for model, scorer in ((folder, "cross-encoder"), ("minilm", "bi-encoder"))
        )
        compare = [*cross_encoder(folder, cross, args.data, args.passages), bi_encoder(bi, args.data, args.sentences)]
        print(f"{machine()}\n\n{HEAD}", flush=True)
        rows = []
        for threads in args.threads:
            for name, peer, ours in compare:
                for row in compared(name, peer, ours, threads, args.repeats):
                    rows.append(row)
                    print(line(row), flush=True)
    if args.output:
        record = {"machine": machine(), "rows": [asdict(row) for row in rows]}
        args.output.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
