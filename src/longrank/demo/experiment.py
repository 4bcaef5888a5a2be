"""The demo's experiment: score passages once, and compare several uses of the evidence with BM25.

    collection -> index -> BM25 run -> evidence of all passages -> FirstP, MaxP, AvgP, MaxP + BM25, Mixed -> table

Index, vectors and evidence stay in the demo's folder for the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from longrank.aggregation import make_aggregator
from longrank.aggregation.mixing import make_mix, mix_of, remixed
from longrank.aggregation.run import aggregate_run
from longrank.demo.collection import DemoCollection
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.formats.trec import write_run
from longrank.index import Index
from longrank.ranking.pipeline import Pipeline, rerank
from longrank.storage import digest_of
from longrank.types import Notes, Qrels, Run

if TYPE_CHECKING:
    from longrank.evaluation.report import Evaluation

INDEX = "index"
BASELINE = "BM25"
MEASURES = ("nDCG@10", "RR@10")


class System(NamedTuple):
    """An aggregation of the evidence; `alpha` is the weight of the document's BM25 after min-max normalisation.

    `mixed`: the passage scores are the pipeline's mix of words and meaning; else its main scorer's.
    """

    name: str
    aggregator: str
    alpha: float | None = None
    mixed: bool = False


SYSTEMS = (
    System("FirstP", "firstp"),
    System("MaxP", "maxp"),
    System("AvgP", "avgp"),
    System("MaxP + BM25", "maxp", alpha=0.3),
    System("Mixed MaxP", "maxp", mixed=True),
)


def open_index(collection: DemoCollection, folder: Path) -> Index:
    """Return the index of the collection in `folder`; build it if it is missing.

    Raises:
        IntegrityError: the index is damaged.
        LongRankError: writing failed.
    """
    try:
        return Index.open(folder / INDEX)
    except InputError:  # missing or unfinished
        return Index.build(collection.documents, folder / INDEX)


def rank(
    pipeline: Pipeline, collection: DemoCollection, folder: Path, *, progress: Callable[[int], object], notes: Notes
) -> dict[str, Run]:
    """Rank the collection by BM25 and by every system of `SYSTEMS`, and write the runs into `folder`.

    Args:
        pipeline: a pipeline with the passage scorer; its aggregation is not used.
        collection: the collection.
        folder: folder of evidence and runs; existing evidence is used.
        progress: called with the number of queries just done.
        notes: collects remarks.

    Returns:
        System -> run; BM25 first.
    """
    assert pipeline.scorer is not None
    depth = pipeline.settings.final.depth
    first_stage = Run(
        BASELINE, (row for query in collection.queries for row in pipeline.retriever.retrieve(query, depth))
    )
    evidence = folder / f"{digest_of(pipeline.scorer.fingerprint)[:8]}.evidence"
    rerank(pipeline, collection.queries, first_stage, evidence, tag="demo", progress=progress, notes=notes)
    mixes = mix_of(read_evidence(evidence)[0]) is not None
    systems = [system for system in SYSTEMS if mixes or not system.mixed]
    runs = {BASELINE: first_stage} | {system.name: _aggregated(evidence, first_stage, system) for system in systems}
    for name, run in runs.items():
        write_run(run, folder / f"{name.lower().replace(' + ', '-')}.run")
    return runs


def _aggregated(evidence: Path, first_stage: Run, system: System) -> Run:
    header, records = read_evidence(evidence)
    if not system.mixed and (mix := mix_of(header)) is not None:
        records = remixed(records, make_mix([*mix.weights], {}, mix.method))
    return aggregate_run(
        records,
        make_aggregator(system.aggregator),
        first_stage=first_stage,
        alpha=system.alpha,
        normalize="none" if system.alpha is None else "minmax",
        tail="keep",
        tag=system.name.replace(" ", ""),
    )


def effectiveness(qrels: Qrels, runs: Mapping[str, Run]) -> Evaluation:
    """Return the measures of all runs, each compared with BM25 by a paired t-test."""
    from longrank.evaluation.measures import evaluate
    from longrank.evaluation.report import compare

    return compare({name: evaluate(qrels, run, MEASURES) for name, run in runs.items()}, baseline=BASELINE)
