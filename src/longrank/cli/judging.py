"""Options of ``longrank serve`` for judging results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.service.judging import Judging
    from longrank.types import Notes

JudgmentsFile = Annotated[
    Path | None,
    typer.Option(
        "--judgments",
        help="Let clients grade results; the grades go to this qrels file, which may be new. Needs a key.",
        metavar="FILE",
    ),
]
TopicsFile = Annotated[
    str | None,
    typer.Option(
        "--topics",
        help="Queries to judge: a file, a collection folder or irds:ID. "
        "[default: any query, kept beside the judgments as NAME.queries.jsonl]",
        metavar="QUERIES",
    ),
]
PoolDepth = Annotated[
    int | None, typer.Option("--pool", min=1, max=100, help="Documents of each pipeline in a pool. [default: 10]")
]
PoolSeed = Annotated[int | None, typer.Option("--seed", help="Seed of the order in a pool. [default: 1]")]


class JudgingOptions(NamedTuple):
    """The values of the options; None: not given."""

    judgments: Path | None
    topics: str | None
    pool: int | None
    seed: int | None


def check_judging(options: JudgingOptions, key: str | None, index: Path | None, key_variable: str) -> None:
    """Refuse judging without an index or a key, and options of judging without it.

    Raises:
        InputError: names the options.
    """
    if options.judgments is None:
        given = [name for name in ("topics", "pool", "seed") if getattr(options, name) is not None]
        if given:
            raise InputError(f"--{given[0]} is of judging", fix="give --judgments FILE, too")
    elif index is None:
        raise InputError("--judgments needs an index", fix="leave out --rerank-only, and give INDEX")
    elif key is None:
        raise InputError("--judgments needs a key", fix=f"give --key-file FILE, or set ${key_variable}")


@contextmanager
def opened(options: JudgingOptions, notes: Notes) -> Iterator[Judging | None]:
    """Open the judgments, locked until the block ends; None without any.

    Raises:
        InputError: as `opened_judging`.
    """
    if options.judgments is None:
        yield None
        return
    from longrank.service.judging import opened_judging

    depth, seed = options.pool or 10, 1 if options.seed is None else options.seed
    with opened_judging(options.judgments, options.topics, depth=depth, seed=seed, notes=notes) as judging:
        yield judging
