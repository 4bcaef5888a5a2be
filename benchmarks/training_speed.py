"""Time the training of a cross-encoder against sentence-transformers' trainer, on one core.

    pip install datasets        # a requirement of that trainer
    python -m benchmarks.training_speed DATA [--folder work/training-speed] [--steps 40] [--rounds 3]

Both begin with MiniLM's weights and the same new head, and learn the same pairs in the same batches of 16 by binary
cross-entropy, with AdamW at 5e-5, falling to 0, and gradients of length 1 at most: the peer's defaults otherwise.
Half the pairs are SQuAD's questions with paragraphs of its training articles, half TIME's with windows of its articles;
nothing that is trained here is kept. CPU time of the process, by turns, medians of the rounds, without the first steps.

First, without dropout, the losses of both are compared, which must be those of the same training.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pretraining_examples import CONFIG
from benchmarks.training_examples import Settings, draw
from benchmarks.training_pools import read_collection, squad_pools
from longrank.cli.console import note
from longrank.config import read_toml
from longrank.models.new import new_network
from longrank.networks.model_files import find_model
from longrank.text.segment import make_segmenter
from longrank.training.dropout import set_dropout
from longrank.training.passage_data.examples import Example, ExampleFile, ExampleSamples, write_examples
from longrank.training.passage_task import save_model
from longrank.training.passage_training import train_passages
from longrank.training.settings import PassageTraining
from longrank.types import Notes

BATCH, RATE, SEED = 16, 5e-5, 0
WARM = 4  # steps that do not count
LENGTHS = {256: 150, 512: 320}  # tokens that are read at most -> words of a window


class Trained(NamedTuple):
    """CPU seconds of each step, and its loss."""

    seconds: list[float]
    losses: list[float]

    def pairs_per_second(self) -> float:
        """Return the throughput after the first steps."""
        return BATCH * len(self.seconds[WARM:]) / sum(self.seconds[WARM:])


def main() -> None:
    """Compare losses, then measure by turns; print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("work/training-speed"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, choices=LENGTHS, action="append")
    args = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    args.folder.mkdir(parents=True, exist_ok=True)
    start = starting_model(args.folder / "start")
    print("| tokens read | training | pairs per second | ratio |\n|---|---|---|---|")
    for max_tokens in args.max_tokens or LENGTHS:
        rows = args.folder / f"rows-{max_tokens}.jsonl"
        write_examples(pairs(args.data, args.steps * BATCH, LENGTHS[max_tokens]), rows)
        work = partial(ours, start, rows, args.steps, max_tokens, args.folder / "ours")
        peer = partial(theirs, start, rows, args.steps, max_tokens, args.folder / "theirs")
        difference = np.abs(np.array(work(dropout=0.0).losses) - peer(dropout=0.0).losses).max()
        print(f"| {max_tokens} | largest difference of a step's loss, no dropout | {difference:.1e} | |", flush=True)
        ways = {
            "sentence-transformers": peer,
            "LongRank": work,
            "sentence-transformers, no dropout": partial(peer, dropout=0.0),
            "LongRank, no dropout": partial(work, dropout=0.0),
            "LongRank, no dropout, bf16": partial(work, dropout=0.0, precision="bf16"),
        }
        speeds = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, way in ways.items():
                speeds[name].append(way().pairs_per_second())
                note(f"{max_tokens} tokens, {name}: {speeds[name][-1]:.2f} pairs per second")
        base = np.median(speeds["sentence-transformers"])
        for name, found in speeds.items():
            shown = f"{np.median(found):.2f} ({min(found):.2f} .. {max(found):.2f})"
            print(f"| {max_tokens} | {name} | {shown} | {np.median(found) / base:.2f} |", flush=True)


def starting_model(folder: Path) -> Path:
    """Write MiniLM with a new head of one output, as transformers does."""
    network, tokenizer = new_network("maxp", find_model("minilm"), Notes(), options={"outputs": 1}, seed=SEED)
    save_model(folder, network.classifier, tokenizer, {})
    return folder


def pairs(data: Path, n: int, words: int) -> Iterator[Example]:
    """Yield `n` questions with a text each, relevant or drawn by chance: SQuAD's and TIME's by turns."""
    (pool,) = squad_pools(data, Settings(**read_toml(CONFIG)))
    documents, queries, judged = read_collection(data / "time")
    segmenter = make_segmenter("windows", {"length": words, "stride": words})
    windows = {one.doc_id: [passage.text for passage in segmenter.segment(one).passages] for one in documents}
    for i in range(n):
        generator, label = draw(SEED, f"pair {i}"), i // 2 % 2
        if i % 2:
            query = pool.queries[i % len(pool.queries)]
            chosen = pool.relevant[query.query_id][0] if label else int(generator.integers(len(pool.texts)))
            yield Example(query.text, (pool.texts[chosen],), (float(label),))
        else:
            query = queries[i % len(queries)]
            names = list(judged[query.query_id] if label else windows)
            own = windows[names[int(generator.integers(len(names)))]]
            yield Example(query.text, (own[int(generator.integers(len(own)))],), (float(label),))


def ours(
    start: Path,
    rows: Path,
    steps: int,
    max_tokens: int,
    folder: Path,
    *,
    dropout: float | None = None,
    precision: str = "no",
) -> Trained:
    """Train as `longrank train-passages` does; `dropout` None: as the configuration says."""
    settings = PassageTraining.model_validate(
        {
            "network": {"name": "cross-encoder", "model": str(start), "dropout": dropout},
            "read": {"max_tokens": max_tokens},
            "loss": [{"name": "cross-entropy"}],
            "loop": {
                "seed": SEED,
                "steps": steps,
                "batch": BATCH,
                "clip": 1.0,
                "precision": precision,
                "optimizer": {"learning_rate": RATE},
                "schedule": {"name": "linear", "options": {"warmup": 0.0}},
            },
        }
    )
    marks: list[float] = []
    shutil.rmtree(folder, ignore_errors=True)
    train_passages(settings, rows, None, folder, progress=lambda _: marks.append(time.process_time()), notes=Notes())
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return Trained(np.diff(marks).tolist(), [line["loss"] for line in log])


def theirs(
    start: Path, rows: Path, steps: int, max_tokens: int, folder: Path, *, dropout: float | None = None
) -> Trained:
    """Train as sentence-transformers' CrossEncoderTrainer does, on the same pairs in the same order."""
    from datasets import Dataset
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.sampler import DefaultBatchSampler
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
    from torch.utils.data import SequentialSampler
    from transformers import TrainerCallback

    losses: list[float] = []

    class Recorded(BinaryCrossEntropyLoss):
        def forward(self, *args: Any, **named: Any) -> Any:
            loss = super().forward(*args, **named)
            losses.append(loss.item())
            return loss

    marks: list[float] = []

    class Clock(TrainerCallback):
        def on_train_begin(self, *args: Any, **named: Any) -> None:
            marks.append(time.process_time())

        on_step_end = on_train_begin

    def in_order(dataset: Dataset, batch_size: int, drop_last: bool, **_: Any) -> DefaultBatchSampler:
        return DefaultBatchSampler(SequentialSampler(dataset), batch_size=batch_size, drop_last=drop_last)

    model = CrossEncoder(str(start), max_length=max_tokens, device="cpu", local_files_only=True)
    if dropout is not None:
        set_dropout(model, dropout)
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=BATCH,
        max_steps=steps,
        learning_rate=RATE,
        batch_sampler=in_order,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        seed=SEED,
    )
    CrossEncoderTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict(columns(rows, steps * BATCH)),
        loss=Recorded(model),
        callbacks=[Clock()],
    ).train()
    return Trained(np.diff(marks).tolist(), losses)


def columns(rows: Path, n: int) -> dict[str, Sequence[object]]:
    """Return the pairs as `longrank train-passages` comes to them."""
    samples = ExampleSamples(ExampleFile(rows, Notes()), SEED)
    found = [samples[i] for i in range(n)]
    return {
        "query": [one.query for one in found],
        "text": [one.texts[0] for one in found],
        "label": [one.labels[0] for one in found],
    }


if __name__ == "__main__":
    main()
