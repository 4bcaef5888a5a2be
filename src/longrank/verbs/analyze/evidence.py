"""Analyse stored passage evidence; no passage is scored again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.aggregation.mixing import mix_of
from longrank.aggregation.reranked import comparing_first_stage
from longrank.analysis import plots, sweeps
from longrank.analysis import positions as places
from longrank.analysis.render import points_text, positions_text
from longrank.analysis.result import Analysis
from longrank.collections import read_qrels, read_run
from longrank.errors import InputError
from longrank.evaluation.systems import places_of
from longrank.formats.evidence import COMPARED, check_complete, missing_in, open_evidence
from longrank.ranking.cascade import shares_budget
from longrank.registries import plain_value, whole_numbers
from longrank.types import Notes
from longrank.verbs.naming import naming_files

if TYPE_CHECKING:
    from longrank.types import Evidence


@naming_files
def positions(
    evidence: Any,
    *,
    qrels: Any = None,
    level: int | None = None,
    top: int | Iterable[int] = (),
    run: Any = None,
    notes: Notes | None = None,
) -> Analysis[dict[str, places.Positions]]:
    """Find where in its document the best passage stands: by its number, and by tenths of the document.

    Args:
        evidence: an evidence file, or `Evidence` values.
        qrels: judgments; relevant documents are then a group of their own.
        level: lowest relevant grade of `qrels`. Default: 1.
        top: a number k, or several; the first k documents of each query are then a group of their own.
        run: the ranking of `top`. Default: by the best passages.
        notes: counts remarks on the inputs; the result carries it.

    Raises:
        InputError: a number below 1, an option without effect, evidence of early stopping, or a fault of an input.
    """
    notes, top = Notes() if notes is None else notes, whole_numbers(top, "k")
    if run is not None and not top:
        raise InputError("the run ranks the first k documents, and `k` is not given", fix="give `k`, or no run")
    if level is not None and qrels is None:
        raise InputError("`level` is an option of `qrels`", got=level, fix="give `qrels`")
    level = 1 if level is None else level
    header, records = open_evidence(evidence)
    check_complete(header, evidence)
    best = places.winners(records)
    groups = {"all reranked": best}
    if qrels is not None:
        judged = read_qrels(qrels, notes)
        groups["relevant"] = places.relevant(best, judged, level)
        unjudged = sorted({winner.query_id for winner in best} - judged.keys())
        notes.add("queries without judgments, left out of the relevant", next(iter(unjudged), ""), len(unjudged))
    ranking = None if run is None else read_run(run, notes)
    groups |= {f"first {k}": places.top(best, k, ranking) for k in top}
    if ranking is not None:
        query_ids = {winner.query_id for winner in best}
        unranked = sorted(query_ids - ranking.keys())
        what = "queries that the run lacks, left out of its first documents"
        notes.add(what, next(iter(unranked), ""), len(unranked))
        for k in top:
            n_ranked = sum(len(ranking.get(query_id)[:k]) for query_id in query_ids)
            lacking = n_ranked - len(groups[f"first {k}"])
            notes.add(f"documents of the run's first {k} without evidence, left out", count=lacking)
    results = {name: places.positions(group) for name, group in groups.items()}
    tenths = {name: group.tenths for name, group in results.items() if group.tenths}
    return Analysis(
        results,
        positions_text(results),
        {**places_of(evidence=evidence, qrels=qrels), "level": level, "groups": results},
        lambda path: plots.plot_tenths(path, tenths),
        notes,
    )


@naming_files
def sentences(
    evidence: Any,
    qrels: Any,
    counts: int | Iterable[int] = sweeps.COUNTS,
    *,
    rule: str = "first",
    first_stage: Any = None,
    notes: Notes | None = None,
    **setup: Any,
) -> Analysis[list[sweeps.Point]]:
    """Measure effectiveness by the number of sentences, or passages, kept of each document (Santos et al., figure 2).

    Args:
        evidence: an evidence file of as many passages as there are, or `Evidence` values.
        qrels: judgments, as `longrank.evaluate` takes them.
        counts: a number of passages, or several.
        rule: passages that are kept: ``"first"``, ``"termf"`` (most words of the query) or ``"first+termf"``.
        first_stage: the run that was reranked. Its other documents follow below.
        notes: counts remarks on the inputs; the result carries it.
        **setup: `aggregators`, `weights` (birch), `measures`, `interpolate`, `normalize`, `intersection`, as `depth`.

    Raises:
        InputError: a value out of range, an unknown name, or a fault of an input.
    """
    notes = Notes() if notes is None else notes
    opened, records = _open(evidence, qrels, first_stage, notes, **setup)
    points = sweeps.by_passages(records, opened, whole_numbers(counts, "a count"), rule=rule, notes=notes)
    return _swept(points, "passages", {**places_of(evidence=evidence, qrels=qrels), "rule": rule}, notes)


@naming_files
def depth(
    evidence: Any,
    first_stage: Any,
    qrels: Any,
    depths: int | Iterable[int] = sweeps.DEPTHS,
    *,
    notes: Notes | None = None,
    **setup: Any,
) -> Analysis[list[sweeps.Point]]:
    """Measure effectiveness by the number of documents reranked; 0 is the first stage (Santos et al., figure 3).

    Args:
        evidence: an evidence file of the largest depth, or `Evidence` values.
        first_stage: the run that was reranked.
        qrels: judgments, as `longrank.evaluate` takes them.
        depths: a number of documents, or several.
        notes: counts remarks on the inputs; the result carries it.
        **setup: `aggregators`: names, default ``["maxp"]``; `weights`: of birch; `measures`: default ``["nDCG@10"]``;
            `interpolate` and `normalize`: as `longrank.aggregate` takes them; `intersection`: as `longrank.evaluate`.

    Raises:
        InputError: a value out of range, an unknown name, or a fault of an input.
    """
    notes = Notes() if notes is None else notes
    opened, records = _open(evidence, qrels, first_stage, notes, **setup)
    assert opened.first_stage is not None
    points = sweeps.by_depth(records, opened.first_stage, opened, whole_numbers(depths, "a depth", 0), notes=notes)
    record = places_of(evidence=evidence, first_stage=first_stage, qrels=qrels)
    return _swept(points, "depth", record, notes)


def _open(
    evidence: Any,
    qrels: Any,
    first_stage: Any,
    notes: Notes,
    *,
    aggregators: Sequence[str] = ("maxp",),
    weights: Sequence[float] | None = None,
    measures: Sequence[str] = ("nDCG@10",),
    interpolate: float | None = None,
    normalize: str = "none",
    intersection: bool = False,
) -> tuple[sweeps.Setup, Iterable[Evidence]]:
    """Return what is the same at every point, and the evidence; refuse evidence of early stopping."""
    names = dict.fromkeys([aggregators] if isinstance(aggregators, str) else aggregators)
    if normalize != "none" and interpolate is None:
        raise InputError("`normalize` has an effect on interpolation only", got=normalize, fix="give `interpolate`")
    weighted = [name for name in names if "weights" in find_aggregation(name).options]
    if weights is not None and not weighted:
        raise InputError("`weights` is an option of the aggregator birch", got=plain_value(weights))
    setup = sweeps.Setup(
        {name: make_aggregator(name, weights=weights if name in weighted else None) for name in names},
        read_qrels(qrels, notes),
        tuple([measures] if isinstance(measures, str) else measures),
        None if first_stage is None else read_run(first_stage, notes),
        interpolate,
        normalize,
        "intersection" if intersection else "complete",
    )
    header, records = open_evidence(evidence)
    check_complete(header, evidence)
    if COMPARED in header and any(find_aggregation(name).needs_document_score for name in names):
        notes.say("scores of a comparison stay those of all compared documents: for other numbers, compare again")
    if shares_budget(str(header.get("scorer", ""))):
        notes.say("the documents of a query shared their passages: with fewer documents, rerank scores other passages")
    if setup.first_stage is not None:
        records = comparing_first_stage(records, setup.first_stage, notes)
    return replace(setup, missing=missing_in(header), mix=mix_of(header)), records


def _swept(
    points: Sequence[sweeps.Point], unit: str, record: Mapping[str, Any], notes: Notes
) -> Analysis[list[sweeps.Point]]:
    lines: dict[str, dict[str, dict[int, float]]] = {}
    for point in points:
        for measure, value in point.values.items():
            line = lines.setdefault(measure, {}).setdefault(point.aggregator, {})
            line |= {} if point.n is None else {point.n: value}
    return Analysis(
        list(points),
        points_text(points, unit),
        {**record, "points": [point._asdict() for point in points]},
        lambda path: plots.plot_lines(path, lines, unit),
        notes,
    )
