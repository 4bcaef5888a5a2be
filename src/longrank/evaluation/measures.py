"""Effectiveness of a run, query by query, with the numbers that trec_eval gives.

Values come from ir_measures, most of them through pytrec_eval, which is trec_eval's own code. Its providers order ties
differently (RR@10 and Judged@10 by ascending document id), refuse some query ids (ERR@20), and skip topics that a run
lacks. So every provider gets LongRank's order under scores n, n-1, ..., 1, and numbered queries; missing topics are
handled here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Literal, NamedTuple, TypeAlias

from longrank.errors import InputError
from longrank.evaluation.names import PROVIDERS, at_level, parse_measures
from longrank.evaluation.own import COUNTS, OWN, Measure, own_value
from longrank.types import Qrels, Run

PerQuery: TypeAlias = dict[str, dict[str, float]]
"""measure -> query_id -> value; measures under ir_measures' names, queries in the order of the qrels."""

Queries: TypeAlias = Literal["complete", "intersection"]
"""Topics that count: all judged topics (trec_eval -c), or the judged topics of the run."""

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@20", "RR", "R@1000")
_MAX_GRADE = 127
_Rankings: TypeAlias = Mapping[str, Sequence[str]]


class Coverage(NamedTuple):
    """Overlap of a run and the judgments.

    Attributes:
        topics: number of judged queries.
        missing: judged queries without a document in the run.
        unjudged: queries of the run without judgments; they are ignored.
    """

    topics: int
    missing: int
    unjudged: int


def coverage(qrels: Qrels, run: Run) -> Coverage:
    """Count topics that the run lacks, and its queries without judgments."""
    common = sum(query_id in qrels for query_id in run)
    return Coverage(len(qrels), len(qrels) - common, len(run) - common)


def evaluate(
    qrels: Qrels,
    run: Run,
    measures: Iterable[str | Measure],
    *,
    level: int | None = None,
    max_depth: int | None = None,
    queries: Queries = "complete",
    origin: str | PathLike[str] | None = None,
) -> PerQuery:
    """Return the value of every measure for every topic.

    A topic that the run lacks, or without relevant documents, has value 0, as in ``trec_eval -c``. Queries without
    judgments are ignored.

    Args:
        qrels: the judgments; negative grades mean "not judged".
        run: the run.
        measures: names as `parse_measures` takes them, or ir_measures' objects.
        level: lowest relevant grade of binary measures that name none (``trec_eval -l``).
        max_depth: documents per query that count (``trec_eval -M``); None: all.
        queries: topics that count.
        origin: the run's file, for messages.

    Raises:
        InputError: an unknown measure, an option or a grade out of range, or a run without a judged query.
    """
    parsed = _resolved(measures, level)
    if max_depth is not None and max_depth < 1:
        raise InputError("the depth of evaluation must be at least 1", got=max_depth)
    if level is not None and not 1 <= level <= _MAX_GRADE:
        raise InputError(f"the relevance level must be between 1 and {_MAX_GRADE}", got=level)
    rankings = {query_id: [row.doc_id for row in run[query_id][:max_depth]] for query_id in qrels if query_id in run}
    if not rankings:
        raise InputError(
            "the run has no query in common with the judgments", path=origin, fix="compare their query ids"
        )
    return evaluate_rankings(qrels if queries == "complete" else {q: qrels[q] for q in rankings}, rankings, parsed)


def evaluate_rankings(qrels: Qrels, rankings: _Rankings, measures: Iterable[Measure]) -> PerQuery:
    """Return the value of every measure for every topic of `qrels`, from rankings that are in order.

    Args:
        qrels: the judgments.
        rankings: query_id -> doc_ids, best first, each once, as a `Run` orders them; every query is a topic. A
            topic without a ranking has value 0.
        measures: as `parse_measures` returns them.

    Raises:
        InputError: a grade out of range.
    """
    measures = list(measures)
    check_grades(qrels, measures)
    values = {str(measure): dict.fromkeys(qrels, 0.0) for measure in measures}
    for measure in measures:
        if measure.NAME in OWN:
            values[str(measure)] = {q: own_value(measure, qrels[q], rankings.get(q, [])) for q in qrels}
    for measure, query_id, value in _provided(measures, qrels, rankings):
        values[measure][query_id] = value
    return values


def summarise(measure: str, values: Collection[float]) -> float:
    """Return the sum of a count (``NumRet``, ...), else the mean; NaN without values."""
    if not values:
        return math.nan
    total = math.fsum(values)
    return total if is_count(measure) else total / len(values)


def is_count(measure: str) -> bool:
    """Tell whether a measure counts queries or documents: its values are summed and not compared."""
    return measure.startswith(COUNTS)


def _resolved(measures: Iterable[str | Measure], level: int | None) -> list[Measure]:
    resolved: dict[str, Measure] = {}
    for measure in measures:
        parsed = parse_measures([measure], level) if isinstance(measure, str) else [at_level(measure, level)]
        resolved.update((str(each), each) for each in parsed)
    return list(resolved.values())


def check_grades(qrels: Qrels, measures: list[Measure]) -> None:
    """Refuse grades that a provider cannot handle: pytrec_eval takes minutes for a grade of a million.

    Raises:
        InputError: a grade that a measure does not take.
    """
    limits = [(_MAX_GRADE, "")] + [(top, f", the highest grade of {m}") for m in measures if (top := _highest(m))]
    top, reason = min(limits)
    for query_id, judged in qrels.items():
        for doc_id, grade in judged.items():
            if not -_MAX_GRADE <= grade <= top:
                raise InputError(
                    f"grade of document {doc_id!r} for query {query_id!r} is beyond {top}{reason}",
                    about=("qrels",),
                    got=grade,
                )


def _highest(measure: Measure) -> int | None:
    """Return the highest grade that a measure takes, if it has a limit: gdeval's is 4."""
    if measure.NAME == "nERR":
        return int(measure["top"])
    return 4 if measure.NAME == "ERR" or measure.params.get("dcg") == "exp-log2" else None


def _provided(measures: list[Measure], qrels: Qrels, rankings: _Rankings) -> Iterable[tuple[str, str, float]]:
    """Yield (measure, query_id, value) of all measures but `OWN`; topics left out have value 0.

    Topics with negative grades only are left out: pytrec_eval's infAP crashes on them.
    """
    judged = {q: dict(qrels[q]) for q in rankings if max(qrels[q].values(), default=-1) >= 0}
    rates = [measure for measure in measures if measure.NAME == "Judged"]
    others = [measure for measure in measures if measure.NAME not in (*OWN, "Judged")]
    if judged and others:
        yield from _calculated(others, judged, rankings)
    if judged and rates:  # a negative grade is no judgment
        known = {q: {doc_id: grade for doc_id, grade in grades.items() if grade >= 0} for q, grades in judged.items()}
        yield from _calculated(rates, known, rankings)


def _calculated(
    measures: list[Measure], qrels: dict[str, dict[str, int]], rankings: _Rankings
) -> Iterable[tuple[str, str, float]]:
    import ir_measures
    from ir_measures.providers import FallbackProvider

    query_ids = list(qrels)
    numbered = {str(number): qrels[query_id] for number, query_id in enumerate(query_ids)}
    run = {
        str(number): dict(zip(ranking, map(float, range(len(ranking), 0, -1)), strict=True))
        for number, ranking in enumerate(map(rankings.__getitem__, query_ids))
    }
    names = {id(measure): str(measure) for measure in measures}
    provider = FallbackProvider([getattr(ir_measures, name) for name in PROVIDERS])
    for metric in provider.evaluator(measures, numbered).iter_calc(run):
        name = names.get(id(metric.measure)) or str(metric.measure)
        yield name, query_ids[int(metric.query_id)], float(metric.value)
