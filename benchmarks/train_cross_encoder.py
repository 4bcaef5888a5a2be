"""Train the cross-encoder of the cascade: MiniLM with one output, in most of an hour on one core.

    python -m benchmarks.train_cross_encoder DATA [--config benchmarks/cross_encoder.toml] [-o FOLDER]

DATA is a folder of collection folders, of which squad-dev-v1.1, scifact and cranfield are read. The loss of a
query with four passages, the relevant one first, is

    cross-entropy(scores, 0) + distillation * KL(softmax(taught / temperature) || softmax(scores))

where the teacher says cosine + lexical * BM25 / the query's best BM25. The result, a Hugging Face folder
with a record of the training, goes below the user's cache folder; the same seed, data, versions and thread
count give the same weights.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from benchmarks.pretraining_examples import CONFIG as DATA_CONFIG
from benchmarks.pretraining_examples import FILES, made, n_texts
from benchmarks.training_examples import Settings as DataSettings
from benchmarks.training_examples import Teacher, draw, examples
from longrank.cli.console import progress
from longrank.cli.demo import cache_folder
from longrank.config import read_toml
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.models import find_model
from longrank.scoring.network import loading
from longrank.training.passage_data.examples import Example

CONFIG = Path(__file__).with_name("cross_encoder.toml")
_SORTED_BATCHES = 16  # batches whose examples are sorted by length together
_PARTS = 4  # parts, by length, in which a batch goes through the network


class Settings(NamedTuple):
    """The keys of cross_encoder.toml, explained there."""

    seed: int
    init: str
    max_tokens: int
    batch_queries: int
    learning_rate: float
    temperature: float
    distillation: float


def model_folder() -> Path:
    """Return where the trained model goes."""
    return cache_folder() / "models" / "minilm-cross-encoder"


def main() -> None:
    """Read the data, train, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("-o", "--output", type=Path, default=model_folder())
    args = parser.parse_args()
    settings = Settings(**read_toml(args.config))
    found = training_data(args.data, settings)
    network, tokenizer = new_network(settings)
    losses = train(network, tokenizer, found, settings)
    save(network, tokenizer, args.output, {"settings": settings._asdict(), "examples": len(found), "losses": losses})
    print(args.output)


def training_data(data: Path, settings: Settings) -> list[Example]:
    """Return all examples, in a seeded order."""
    of_data = DataSettings(**read_toml(DATA_CONFIG))
    pools = [pool for reader in FILES["cascade"] for pool in reader(data, of_data)]
    with progress("reading texts", n_texts(pools), "texts") as advance:
        teacher = Teacher(BiEncoder(find_model(of_data.teacher)), of_data.lexical, advance)
        found = made(pools, examples, teacher, of_data)
    return [found[n] for n in draw(settings.seed, "order").permutation(len(found))]


def new_network(settings: Settings) -> tuple[Any, Any]:
    """Return the initial weights with a new head of one output, without dropout, and the tokenizer."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(settings.seed)
    model = find_model(settings.init)
    folder = str(model.network)
    with loading(model):
        network = AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, local_files_only=True
        )
    return network, AutoTokenizer.from_pretrained(folder, local_files_only=True, model_max_length=512)


def train(network: Any, tokenizer: Any, found: Sequence[Example], settings: Settings) -> list[float]:
    """Train one epoch; return the mean loss of each tenth of it."""
    n_steps = -(-len(found) // settings.batch_queries)
    optimizer = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=0.01)
    warm = max(1, n_steps // 10)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (n_steps - step) / (n_steps - warm))
    )
    losses = []
    network.train()
    with progress("training", n_steps, "steps") as advance:
        for batch in batches(found, settings):
            loss = loss_of(scores(network, tokenizer, batch, settings.max_tokens), batch, settings)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            rate.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            advance(1)
    return [round(float(part.mean()), 4) for part in np.array_split(np.array(losses), min(10, n_steps))]


def batches(found: Sequence[Example], settings: Settings) -> Iterator[list[Example]]:
    """Yield batches of examples of like length; their order is drawn by the seed."""
    size = settings.batch_queries
    for start in range(0, len(found), size * _SORTED_BATCHES):
        some = sorted(found[start : start + size * _SORTED_BATCHES], key=lambda one: max(map(len, one.texts)))
        starts = np.arange(0, len(some), size)
        for first in draw(settings.seed, f"batches {start}").permutation(starts).tolist():
            yield some[first : first + size]


def scores(network: Any, tokenizer: Any, batch: Sequence[Example], max_tokens: int) -> torch.Tensor:
    """Return the scores of a batch, float32[B, 4]; bfloat16 products, as fast as the CPU has them."""
    queries = [example.query for example in batch for _ in example.texts]
    texts = [text for example in batch for text in example.texts]
    encoded = tokenizer(queries, texts, truncation="only_second", max_length=max_tokens)
    order = np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable")
    parts = []
    for part in np.array_split(order, _PARTS):
        features = tokenizer.pad({name: [rows[n] for n in part] for name, rows in encoded.items()}, return_tensors="pt")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            parts.append(network(**features).logits[:, 0].float())
    return torch.cat(parts)[torch.from_numpy(np.argsort(order))].reshape(len(batch), -1)


def loss_of(found: torch.Tensor, batch: Sequence[Example], settings: Settings) -> torch.Tensor:
    """Return the mean loss of float32[B, 4] scores."""
    taught = torch.tensor([example.taught for example in batch])
    hard = functional.cross_entropy(found, torch.zeros(len(batch), dtype=torch.long))
    teacher = functional.softmax(taught / settings.temperature, dim=1)
    return hard + settings.distillation * functional.kl_div(
        functional.log_softmax(found, dim=1), teacher, reduction="batchmean"
    )


def save(network: Any, tokenizer: Any, folder: Path, record: dict[str, object]) -> None:
    """Write the model and its record beside the folder, then put it in place of what was there."""
    work = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    network.save_pretrained(work)
    tokenizer.save_pretrained(work)
    (work / "training.json").write_text(json.dumps(record | {"torch": torch.__version__}, indent=1), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)


if __name__ == "__main__":
    main()
