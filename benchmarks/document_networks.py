"""Time document networks on ragged documents, and on documents padded to 16 passages of 256 tokens.

    python -m benchmarks.document_networks DATA [--network parade-transformer] [--documents 40] [--repeats 3] [-o FILE]

Documents of TIME in windows of 225 wordpieces (at most 16), each with a query of the collection; MiniLM as encoder,
a random aggregator. Compared, in turn, one thread, process CPU time:

    padded    the network's own forward pass as published code runs it: 16 passages a document, 256 tokens a
              passage, the rest padding, in the layers of transformers
    ragged    the same layers, passages of all documents sorted by length in batches of 2,048 tokens, no padding passage
    ours      the scorer `document-network`: ragged, and its encoder without padding tokens

Tokenisation is left out of the first two. Scores are compared with those of `padded`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from longrank.collections.documents import locate_documents
from longrank.formats.queries import read_queries
from longrank.models.folders import load_network
from longrank.models.network import DocumentNetwork
from longrank.models.network_reader import pair_masks
from longrank.models.new import create_folder
from longrank.networks.batching import batches
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask
from longrank.scoring.document_network import DocumentNetworkScorer
from longrank.scoring.speed import machine, use_threads
from longrank.text.packing import Packed
from longrank.text.segment import make_segmenter
from longrank.types import Notes

PASSAGES, TOKENS = 16, 256
Features = dict[str, torch.Tensor]


class Published:
    """Both ways of running the layers of transformers on packed passages."""

    def __init__(self, network: DocumentNetwork, specials: tuple[int, int, int], separator: int) -> None:
        self.network, self._specials, self._separator = network, specials, separator

    def padded(self, documents: list[list[Packed]]) -> np.ndarray:
        """Score one document at a time, all its 16 x 256 tokens."""
        scores = []
        for packed in documents:
            rows = self._encode(packed + packed[:1] * (PASSAGES - len(packed)), TOKENS)
            mask = torch.arange(PASSAGES)[None] < len(packed)
            scores.append(self.network.aggregate(rows[None], mask).item())
        return np.array(scores)

    def ragged(self, documents: list[list[Packed]]) -> np.ndarray:
        """Score all documents at once, real passages only."""
        every = [one for packed in documents for one in packed]
        rows: list[torch.Tensor] = [torch.empty(0)] * len(every)
        for batch in batches([len(one.ids) for one in every], 2048):
            encoded = self._encode([every[n] for n in batch], max(len(every[n].ids) for n in batch))
            for n, row in zip(batch, encoded, strict=True):
                rows[n] = row
        rest = iter(rows)
        scores = []
        for packed in documents:
            own = torch.stack(list(islice(rest, len(packed))))
            scores.append(self.network.aggregate(own[None], torch.ones(1, len(own), dtype=torch.bool)).item())
        return np.array(scores)

    def _encode(self, packed: list[Packed], tokens: int) -> torch.Tensor:
        shape = (len(packed), tokens)
        features = {
            name: torch.zeros(shape, dtype=torch.long) for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        for row, one in enumerate(packed):
            features["input_ids"][row, : len(one.ids)] = torch.from_numpy(one.ids)
            features["token_type_ids"][row, : len(one.ids)] = torch.from_numpy(np.asarray(one.type_ids))
            features["attention_mask"][row, : len(one.ids)] = 1
        query, passage = pair_masks(features, self._specials, self._separator)
        return self.network.encode(features | {"query_mask": query, "passage_mask": passage})


def tasks_of(folder: Path, scorer: DocumentNetworkScorer, n: int) -> list[ScoringTask]:
    """Return documents spread over the collection, each with the next query."""
    segmenter = make_segmenter("parade-paper", None, scorer.offset_tokenizer)
    documents = [one.document for one in locate_documents([str(folder / "docs.jsonl.gz")], Notes())]
    queries = read_queries(folder / "queries.jsonl", Notes())
    chosen = documents[:: max(1, len(documents) // n)][:n]
    tasks = []
    for position, document in enumerate(chosen):
        passages = segmenter.segment(document).passages
        texts = tuple(passage.text for passage in passages)
        tasks.append(ScoringTask(queries[position % len(queries)], document.doc_id, passages, texts))
    return tasks


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder with the collection folder time")
    parser.add_argument("--network", default="parade-transformer")
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", action="append", default=None)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    use_threads(1)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        path = Path(folder) / "network"
        create_folder(given.network, find_model("minilm"), path, Notes(), options={})
        model = find_model(str(path))
        ours = {
            dtype: DocumentNetworkScorer(model, allow_untrained=True, max_tokens=TOKENS, dtype=dtype)
            for dtype in given.dtype or ["float32", "bf16"]
        }
        network, tokenizer, _ = load_network(path)
        any_of_ours = next(iter(ours.values()))
        tasks = tasks_of(given.data / "time", any_of_ours, given.documents)
        packer = any_of_ours.packer
        documents = [list(packer.pairs(task.query.text, task.texts)) for task in tasks]
        published = Published(network, packer.pair_specials, tokenizer.sep_token_id)
        works: dict[str, Callable[[], np.ndarray]] = {
            "padded": lambda: published.padded(documents),
            "ragged": lambda: published.ragged(documents),
        } | {
            f"ours, {dtype}": lambda one=one: np.array([result.document for result in one.score(tasks)])
            for dtype, one in ours.items()
        }
        scores = {name: work() for name, work in works.items()}  # and warms up
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(given.repeats):
            for name, work in works.items():
                times[name].append(cpu_seconds(work))
    counts = [len(task.texts) for task in tasks]
    print(
        f"{given.network}: {len(tasks)} documents, {min(counts)} to {max(counts)} passages, mean {np.mean(counts):.1f}"
    )
    print("| | ms per document | padded / it | largest difference, sd |\n|---|---|---|---|")
    rows = []
    for name in works:
        ratio = statistics.median(np.array(times["padded"]) / np.array(times[name]))
        off = float(np.abs(scores[name] - scores["padded"]).max() / scores["padded"].std())
        milliseconds = 1e3 * statistics.median(times[name]) / len(tasks)
        rows.append({"way": name, "ms": milliseconds, "ratio": ratio, "difference": off})
        print(f"| {name} | {milliseconds:.0f} | {ratio:.2f} | {off:.1e} |")
    if given.output:
        record = {"machine": machine(), "network": given.network, "documents": len(tasks), "rows": rows}
        given.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
