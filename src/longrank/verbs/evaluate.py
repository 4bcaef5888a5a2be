"""Measure runs against relevance judgments, and compare them with a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.collections import read_qrels
from longrank.collections.judgments import EARLIER, earlier_of, read_judgments
from longrank.errors import InputError
from longrank.evaluation import measures as measuring
from longrank.evaluation.names import parse_measures
from longrank.evaluation.report import Evaluation, compare
from longrank.evaluation.residual import judged_documents, residual_qrels, residual_run
from longrank.evaluation.significance import CORRECTIONS, TESTS
from longrank.evaluation.systems import note_coverage, place_of, read_systems
from longrank.formats.trec import BARREN
from longrank.registries import lookup
from longrank.types import Notes, is_frame
from longrank.verbs.naming import naming_files

if TYPE_CHECKING:
    from longrank.types import Qrels


@naming_files
def evaluate(
    qrels: Any,
    runs: Any,
    measures: str | Iterable[str] = measuring.DEFAULT_MEASURES,
    *,
    baseline: Any = None,
    intersection: bool = False,
    level: int | None = None,
    depth: int | None = None,
    residual: Any = (),
    test: str | None = None,
    correction: str | None = None,
    threshold: float | None = None,
    notes: Notes | None = None,
) -> Evaluation:
    """Measure runs as trec_eval does.

    Args:
        qrels: judgments: a file, a collection folder, ``irds:ID``, a mapping query id -> doc id -> grade, or a table.
        runs: a run, a list of runs, or a mapping name -> run. A run is a TREC file, a `Run`, a mapping query id ->
            doc id -> score, or a table with columns qid, docno and score.
        measures: names of ir_measures (``"nDCG@10"``) or trec_eval (``"map"``).
        baseline: the run that the others are compared with, or its name in `runs`.
        intersection: average over the topics that the run has. Default: over all topics of the judgments; missing
            topics count as 0, as in ``trec_eval -c``.
        level: lowest relevant grade of binary measures that name none.
        depth: documents per topic that count. Default: all.
        residual: earlier judgments, or a list of such; the documents that they judge are left out.
        test: paired two-sided test of the differences from the baseline, ``"t"`` (the default) or ``"randomization"``.
        correction: for several tests, ``"bonferroni"`` or ``"holm"``.
        threshold: differences with p below it are marked; None: 0.05.
        notes: counts remarks on the inputs; the result carries it.

    Returns:
        The table of figures. ``result["nDCG@10"]`` is the figure of the only run, ``result["bm25", "nDCG@10"]`` that of
        one of several; `per_query` has the values of each topic.

    Raises:
        InputError: an unknown measure, test or correction, a test, correction or threshold without a baseline, an
            option out of range, a run without a judged query, or a fault of an input.

    Example:
        >>> evaluate({"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}, "RR")["RR"]
        0.5
    """
    notes = Notes() if notes is None else notes
    for known, name, kind in ((TESTS, test, "test"), (CORRECTIONS, correction, "correction")):
        if name is not None:
            lookup(known, name, kind)
    for kind, given in {"test": test, "correction": correction, "threshold": threshold}.items():
        if baseline is None and given is not None:
            raise InputError(f"a {kind} has no effect without a baseline", got=given, fix="name a baseline")
    names = [measures] if isinstance(measures, str) or not isinstance(measures, Iterable) else list(measures)
    parsed = parse_measures(names, level)
    remarks = Notes()
    judged_before = judged_documents(read_qrels(source, remarks) for source in _sources(residual))
    remarks.drop(EARLIER)  # of rounds before those that are left out
    remarks.drop(BARREN)  # of these queries, nothing is measured
    notes.merge(remarks)
    judged = read_qrels(qrels, notes)
    own = judged_documents([read_judgments(earlier_of(qrels), Notes())]) if judged_before else {}
    if own and all(documents <= judged_before.get(query_id, set()) for query_id, documents in own.items()):
        notes.drop(EARLIER)
    judgments = residual_qrels(judged, judged_before, notes, place_of(qrels, "the judgments"))
    if level is not None and list(map(str, parse_measures(names))) == list(map(str, parse_measures(names, 2))):
        notes.say("the lowest relevant grade has no effect: no measure takes it, or each has its own")
    else:
        _note_level(judgments, level, notes)
    results, fate = {}, "left out" if intersection else "count as 0; --intersection leaves them out"
    for system in read_systems(runs, notes, baseline):
        system = system._replace(run=residual_run(system.run, judged_before, notes, system.place))  # noqa: PLW2901
        results[system.name] = measuring.evaluate(
            judgments,
            system.run,
            parsed,
            level=level,
            max_depth=depth,
            queries="intersection" if intersection else "complete",
            origin=system.place,
        )
        note_coverage(judgments, system, notes, fate, judged)
    first = None if baseline is None else next(iter(results))
    alpha = 0.05 if threshold is None else threshold
    return compare(results, baseline=first, test=test or "t", correction=correction, threshold=alpha, notes=notes)


def _sources(judgments: Any) -> Iterable[Any]:
    """Return several judgments, or the only one, as a list."""
    alone = isinstance(judgments, str | Path | Mapping) or is_frame(judgments)
    return [judgments] if alone else judgments


def _note_level(qrels: Qrels, level: int | None, notes: Notes) -> None:
    without = 0 if level is None else sum(max(grades.values(), default=0) < level for grades in qrels.values())
    if without:
        notes.say(f"{without} of {len(qrels)} topics have no document of grade {level} or more (0 in binary measures)")
