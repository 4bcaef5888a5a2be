"""Collections that measure training: their test queries, folds, first stages and baselines.

No query of these was trained on (`benchmarks.training_pools`): of SQuAD, questions about articles that are for
evaluation; of QMSum, the splits "val" and "test". Folds of SQuAD's questions keep an article's questions together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.training_examples import sample
from benchmarks.training_pools import cascade_articles, is_training_article
from longrank.cli.main import main as longrank
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold, write_folds
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.storage.manifests import sha256_of
from longrank.types import Notes, Qrels, Query

N_FOLDS, FOLD_SEED = 5, 42
ALPHA = 0.3  # weight of BM25, both min-max normalised, as in the pipeline minilm
MIXED = " + BM25"  # the end of such a system's name
READ = {
    "passages.preset": "parade-paper",
    "scorer.options.max_tokens": 256,
    "scorer.options.max_query_tokens": 64,
}
"""How a pipeline reads passages where its training has read them by `parade-paper`."""
PASSAGE_AGGREGATORS = ("firstp", "maxp", "sump", "avgp")


class Task(NamedTuple):
    """A collection, the measure of it, how many documents are reranked, and how many queries count (None: all).

    These are cross-validated. With `n_others` they only train and choose, and so many others are tested in their place.
    With `every_split` queries that cross-encoders have learned from are among them: for what no such model reads.
    """

    collection: str
    measure: str
    depth: int
    n_queries: int | None
    about: str
    n_others: int = 0
    every_split: bool = False


TASKS = {
    task.collection: task
    for task in (
        Task("time", "nDCG@10", 50, None, "another domain"),
        Task("squad-dev-sections", "RR@10", 10, 500, "same source, other articles; folds by article, documents too"),
        Task("squad-dev-mixed", "RR@10", 10, 500, "same source, other articles; folds by article, documents mix them"),
        Task("qmsum", "nDCG@10", 10, 60, "same source, other meetings; splits val and test"),
    )
}

SPLITS = {"qmsum": ("val", "test"), "scifact": ("dev",)}
"""Which queries are not for training, where they say it."""


class Prepared:
    """A collection's folder of inputs: queries.jsonl, qrels.txt, folds.json, index, bm25.run."""

    def __init__(self, data: Path, task: Task, folder: Path, index: Path | None = None) -> None:
        """Write missing files; `index` may be an index built elsewhere, for instance with vectors."""
        self.task, self.folder = task, folder / task.collection
        self.folder.mkdir(parents=True, exist_ok=True)
        self.index = index or self.folder / "index"
        queries = evaluated_queries(data, task)
        judged = read_qrels(data / task.collection / "qrels.txt", Notes())
        self.qrels: Qrels = {query.query_id: judged[query.query_id] for query in queries if query.query_id in judged}
        self._once("queries.jsonl", lambda path: write_queries(queries, path))
        self._once("qrels.txt", lambda path: write_qrels(self.qrels, path))
        groups = articles_of(data, queries) if task.collection.startswith("squad") else None
        n_known = len(queries) - task.n_others
        known, others = ([one.query_id for one in part] for part in (queries[:n_known], queries[n_known:]))
        self.folds = make_folds(sorted(self.qrels.keys() & known), N_FOLDS, FOLD_SEED, groups)
        self.tuning_folds = "folds.json"
        if groups and others:
            own, self.folds, self.tuning_folds = self.folds, tested_on(others, self.folds, groups), "tuning-folds.json"
            # `tune` wants every query tested, so those that choose are too, though no one reads what they have.
            every = {name: fold._replace(test=(*own[name].test, *fold.test)) for name, fold in self.folds.items()}
            self._once(self.tuning_folds, lambda path: write_folds(every, path))
        self._once("folds.json", lambda path: write_folds(self.folds, path))
        if not self.index.exists():
            run("index", data / task.collection, "-o", self.index)
        self._once("bm25.run", lambda path: run("retrieve", self.index, self["queries.jsonl"], "-o", path, "-k", 1000))

    def __getitem__(self, name: str) -> Path:
        return self.folder / name

    def _once(self, name: str, write: Callable[[Path], object]) -> None:
        if not self[name].exists():
            write(self[name])

    @property
    def tested(self) -> Qrels:
        """Judgments of the queries that are tested, of all folds."""
        return {query_id: self.qrels[query_id] for fold in self.folds.values() for query_id in fold.test}

    @property
    def mix(self) -> tuple[object, ...]:
        """Options of `longrank aggregate` that interpolate scores with BM25."""
        return ("--interpolate", ALPHA, "--normalize", "minmax", "--first-stage", self["bm25.run"])

    def tuned(self, name: str, preset: str, *grid: str) -> Path:
        """Return the pooled test run of a first stage that was tuned on the other folds."""
        output = self[name]
        grids = [part for axis in grid for part in ("--grid", axis)]
        inputs = (self.index, self["queries.jsonl"], self["qrels.txt"])
        folds = ("--protocol", "folds", "--folds", self[self.tuning_folds])
        run("tune", *inputs, "-o", output, "--preset", preset, "-m", self.task.measure, *folds, *grids)
        return output / "run.txt"

    def bi_encoded(self) -> Path:
        """Return the run of MiniLM's vectors, MaxP, interpolated with BM25: the pipeline minilm, 150-word windows."""
        output, windows = self["minilm.run"], ("--set", "passages.preset=windows")
        run("index", self.index, "--vectors", "minilm", "--passages", "windows")
        inputs = (self.index, self["queries.jsonl"], self["bm25.run"])
        run("rerank", *inputs, "-o", output, "--pipeline", "minilm", *windows, "--depth", self.task.depth)
        return output


def run(*arguments: object) -> None:
    """Run a command; exit if it fails."""
    code = longrank([str(argument) for argument in arguments])
    if code:
        raise SystemExit(f"longrank {' '.join(map(str, arguments))}: exit code {code}")


def assigned(settings: Mapping[str, object]) -> list[str]:
    """Return settings as options of a command."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def evaluated_queries(data: Path, task: Task) -> list[Query]:
    """Return the queries of a task; no model has learned from them, but for `every_split`."""
    queries = read_queries(data / task.collection / "queries.jsonl", Notes())
    if task.collection.startswith("squad"):
        articles = articles_of(data, queries)
        queries = [query for query in queries if not is_training_article(articles[query.query_id])]
    n = task.n_queries and task.n_queries + task.n_others
    return drawn(queries, None if task.every_split else task.collection, n)


def drawn(queries: list[Query], collection: str | None, n: int | None) -> list[Query]:
    """Return the queries that are of no split for training (of any, without `collection`), `n` by their ids' hashes."""
    if collection in SPLITS:
        queries = [query for query in queries if query.fields["split"] in SPLITS[collection]]
    return queries if n is None else sample(queries, n, 0, lambda query: query.query_id)


def tested_on(query_ids: Sequence[str], folds: Mapping[str, Fold], group_of: Mapping[str, str]) -> dict[str, Fold]:
    """Return the folds with other queries to test, each in the fold that tests its group; train and dev stay.

    Raises:
        KeyError: no fold tests a query's group.
    """
    fold_of = {group_of[query_id]: name for name, fold in folds.items() for query_id in fold.test}
    tests: dict[str, list[str]] = {name: [] for name in folds}
    for query_id in query_ids:
        tests[fold_of[group_of[query_id]]].append(query_id)
    return {name: fold._replace(test=tuple(tests[name])) for name, fold in folds.items()}


def articles_of(data: Path, queries: list[Query]) -> dict[str, str]:
    """Return the article of SQuAD that each question is about."""
    judged = read_qrels(data / "squad-dev-v1.1" / "qrels.txt", Notes())
    return {query.query_id: next(iter(judged[query.query_id])) for query in queries}


def unread_by_cascade(data: Path, queries: list[Query]) -> list[Query]:
    """Return the questions about articles of SQuAD that the model of `make model` has not learned from."""
    articles = articles_of(data, queries)
    judged = read_qrels(data / "squad-dev-v1.1" / "qrels.txt", Notes())
    trained = cascade_articles(sorted({doc_id for documents in judged.values() for doc_id in documents}))
    return [query for query in queries if articles[query.query_id] not in trained]


def weights_of(model: Path) -> str:
    """Return the first digits of the SHA-256 of model.safetensors, which identify a model's weights."""
    return sha256_of(model / "model.safetensors")[:8]


def write_queries(queries: list[Query], path: Path) -> None:
    """Write queries as JSONL."""
    lines = [json.dumps({"query_id": query.query_id, "text": query.text}, ensure_ascii=False) for query in queries]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_qrels(qrels: Qrels, path: Path) -> None:
    """Write judgments as trec_eval reads them."""
    lines = [f"{q} 0 {doc_id} {grade}\n" for q, judged in qrels.items() for doc_id, grade in judged.items()]
    path.write_text("".join(lines), encoding="utf-8")
