"""Write training and dev examples of passage scorers, as files of `longrank train-passages`.

    python -m benchmarks.pretraining_examples DATA -o FOLDER [--config benchmarks/pretraining.toml] [--only NAME ...]

DATA is a folder of collection folders. Each file has groups of one relevant passage and others
(`benchmarks.training_examples`) with the teacher's scores, from the pools of `benchmarks.training_pools`:

    full.jsonl       SQuAD, SciFact, QMSum and a few single sentences: for what is fine-tuned further elsewhere
    no-squad.jsonl   SciFact and QMSum: for what is evaluated on all of SQuAD
    cascade.jsonl    what the cross-encoder of `benchmarks.cascade` learns from: SQuAD, SciFact, Cranfield
    dev-*.jsonl      what validates a training while it runs: ADI and SciFact; beside full.jsonl SQuAD, too. Sixteen
                     passages of each query, twelve of them the best wrong ones by the teacher

Six minutes on one core. The same settings, data, versions and thread count give the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from benchmarks.meeting_pools import meeting_pools
from benchmarks.training_examples import Pool, Settings, Teacher, dev_examples, examples
from benchmarks.training_pools import (
    adi_pools,
    cascade_scifact_pools,
    cascade_squad_pools,
    cranfield_pools,
    dev_scifact_pools,
    dev_squad_pools,
    scifact_pools,
    sentence_pools,
    squad_pools,
)
from longrank.cli.console import progress
from longrank.config import read_toml
from longrank.networks.model_files import find_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.training.passage_data.examples import Example, write_examples

CONFIG = Path(__file__).with_name("pretraining.toml")
Reader = Callable[[Path, Settings], list[Pool]]
TRAINING: dict[str, tuple[Reader, ...]] = {
    "full": (squad_pools, scifact_pools, meeting_pools, sentence_pools),
    "no-squad": (scifact_pools, meeting_pools),
    "cascade": (cascade_squad_pools, cascade_scifact_pools, cranfield_pools),
}
VALIDATION: dict[str, tuple[Reader, ...]] = {
    "dev-full": (adi_pools, dev_scifact_pools, dev_squad_pools),
    "dev-no-squad": (adi_pools, dev_scifact_pools),
}
FILES = TRAINING | VALIDATION


def main() -> None:
    """Write the files and print how many examples each has, by their source."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--only", choices=[*FILES], nargs="+", default=[*FILES])
    args = parser.parse_args()
    settings = Settings(**read_toml(args.config))
    pools = {reader: reader(args.data, settings) for name in args.only for reader in FILES[name]}
    args.output.mkdir(parents=True, exist_ok=True)
    with progress("reading texts", n_texts(chain.from_iterable(pools.values())), "texts") as advance:
        teacher = Teacher(BiEncoder(find_model(settings.teacher)), settings.lexical, advance)
        for name in args.only:
            make = examples if name in TRAINING else dev_examples
            drawn = {reader: made(pools[reader], make, teacher, settings) for reader in FILES[name]}
            n = write_examples(chain.from_iterable(drawn.values()), args.output / f"{name}.jsonl")
            print(name, n, {reader.__name__: len(found) for reader, found in drawn.items()}, flush=True)


def n_texts(pools: Iterable[Pool]) -> int:
    """Return how many different texts some pools have, queries among them."""
    return len({text for pool in pools for text in (*pool.texts, *(query.text for query in pool.queries))})


def made(
    pools: Iterable[Pool],
    make: Callable[[Pool, Teacher, Settings], list[Example]],
    teacher: Teacher,
    settings: Settings,
) -> list[Example]:
    """Return the examples of some pools, without empty texts, which Cranfield has."""
    found = (example for pool in pools for example in make(pool, teacher, settings))
    return [example for example in found if all(map(str.strip, example.texts))]


if __name__ == "__main__":
    main()
