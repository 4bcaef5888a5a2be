"""Time cross-encoders on a GPU as a ratio to sentence-transformers: same passages, one process, in turn.

    python -m benchmarks.gpu_reading DATA [--passages 2000] [--repeats 3] [--device cuda]

`CrossEncoder.predict` against LongRank's cross-encoder, tokenisation included, on windows of 150 words of TIME, in
float32 and bf16: the shape of MiniLM (6 layers of 384) and of BERT-base (12 layers of 768), with random weights, which
change no time. The peer reads 32 texts at once, its default, or 128; LongRank its default, or 2,048 tokens, the default
of a CPU. `--tokenizer` is any folder with a BERT tokenizer; default: MiniLM's. The last column is the largest
difference of a score in float32 from the peer's, in standard deviations of the scores.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.passage_scoring import read_tasks
from longrank.networks.model_files import find_model
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.scoring.speed import machine
from longrank.text.segment import make_segmenter

SHAPES = {"MiniLM": (384, 6), "BERT-base": (768, 12)}
DTYPES = ("float32", "bf16")
PEERS, OURS = {"32 texts": 32, "128 texts": 128}, {"default": None, "2,048 tokens": 2048}
HEAD = """| model | dtype | program | at once | passages/s | to the peer's default | difference |
|---|---|---|---|---|---|---|"""


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--passages", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tokenizer", help="a folder")
    args = parser.parse_args()
    tokenizer = args.tokenizer or str(find_model("minilm").path)
    print(f"{machine()}\n\n{HEAD}", flush=True)
    with tempfile.TemporaryDirectory() as work:
        for shape, (hidden, layers) in SHAPES.items():
            folder = random_network(Path(work) / shape, tokenizer, hidden, layers)
            for line in measured(shape, folder, args):
                print(line, flush=True)


def random_network(folder: Path, tokenizer: str, hidden: int, layers: int) -> str:
    """Write a BERT of random weights with one output; return its folder."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(3)
    read = AutoTokenizer.from_pretrained(tokenizer, model_max_length=512)
    config = BertConfig(
        vocab_size=len(read),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=4 * hidden,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    read.save_pretrained(folder)
    return str(folder)


def measured(shape: str, folder: str, args: argparse.Namespace) -> Iterator[str]:
    """Yield the rows of a model."""
    import torch
    from sentence_transformers import CrossEncoder as Peer

    model = find_model(folder)
    segmenter = make_segmenter("windows", {}, CrossEncoder(model, device=args.device).offset_tokenizer)
    tasks = list(read_tasks(args.data / "time", segmenter, args.passages))
    pairs = [(task.query.text, text) for task in tasks for text in task.texts]
    expected = None
    for dtype in DTYPES:
        options = {"dtype": torch.bfloat16} if dtype == "bf16" else {}
        peer = Peer(folder, device=args.device, local_files_only=True, model_kwargs=options)
        works: dict[tuple[str, str], Callable[[], np.ndarray]] = {
            ("sentence-transformers", name): lambda n=n, peer=peer: peer.predict(
                pairs, batch_size=n, activation_fn=torch.nn.Identity(), show_progress_bar=False
            )
            for name, n in PEERS.items()
        }
        for name, n in OURS.items():
            one = CrossEncoder(model, score="logit", device=args.device, dtype=dtype, batch_tokens=n)
            works["LongRank", name] = lambda one=one: np.concatenate([found.scores for found in one.score(tasks)])
        seconds, scores = timed(works, args.repeats)
        first = next(iter(works))
        expected = scores[first] if expected is None else expected
        for key in works:
            difference = np.abs(scores[key] - expected).max() / expected.std() if dtype == "float32" else None
            yield (
                f"| {shape} | {dtype} | {key[0]} | {key[1]} | {len(pairs) / seconds[key]:,.0f} "
                f"| {seconds[first] / seconds[key]:.2f} | {'' if difference is None else f'{difference:.1e}'} |"
            )


def timed(
    works: dict[tuple[str, str], Callable[[], np.ndarray]], repeats: int
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], np.ndarray]]:
    """Return median seconds and results of each; all run once to warm up, then in turn."""
    scores = {key: np.asarray(work(), np.float64) for key, work in works.items()}
    taken: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    for _ in range(repeats):
        for key, work in works.items():
            start = time.perf_counter()
            work()  # both return arrays of the CPU, so the device is done
            taken[key].append(time.perf_counter() - start)
    return {key: statistics.median(values) for key, values in taken.items()}, scores


if __name__ == "__main__":
    main()
