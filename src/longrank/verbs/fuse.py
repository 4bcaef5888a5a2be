"""Fuse several runs into one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.collections import read_qrels, read_run
from longrank.errors import InputError
from longrank.evaluation.heldout import heldout_maps, mapfuse_folds
from longrank.evaluation.measures import coverage
from longrank.evaluation.systems import runs_of
from longrank.formats.folds import open_folds
from longrank.fusion import FUSIONS, make_fusion
from longrank.registries import lookup
from longrank.types import Notes
from longrank.verbs.naming import naming_files

if TYPE_CHECKING:
    from longrank.types import Run


@naming_files
def fuse(
    runs: Any,
    method: str = "rrf",
    *,
    k: float | None = None,
    weights: Sequence[float] | None = None,
    normalize: str | None = None,
    maps: Sequence[float] | None = None,
    heldout: Sequence[Any] | None = None,
    folds: Any = None,
    qrels: Any = None,
    tag: str = "longrank",
    notes: Notes | None = None,
) -> Run:
    """Fuse runs by ranks, by scores, or by ranks and mean average precision (MAP).

    Args:
        runs: a list, or a mapping name -> run, of two or more: files, `Run` values, mappings query id -> doc id ->
            score, or tables.
        method: ``"rrf"``: reciprocal ranks; ``"linear"``: weighted sum of scores; ``"mapfuse"``: MAP-weighted
            reciprocal ranks.
        k: rrf: k of 1 / (k + rank). Default: 60.
        weights: linear: a weight for each run. Default: 1.
        normalize: linear: ``"none"``, or ``"minmax"`` per run and query.
        maps: mapfuse: the MAP of each system on other queries, 0 to 1.
        heldout: mapfuse: judgments and the runs of the same systems on other queries, which give the MAPs.
        folds: mapfuse: folds (a file, or name -> fold); each fold's test queries take the MAPs of its other queries.
        qrels: mapfuse: judgments for `folds`.
        tag: tag of the run.
        notes: counts remarks on the inputs; the run carries it.

    Raises:
        InputError: fewer than two runs, an unknown method, an option of another method or out of range, or MAPs from
            no source or from several.

    Example:
        >>> fuse([{"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 9.0}}])["q"][0].doc_id
        'a'
    """
    notes = Notes() if notes is None else notes
    lookup(FUSIONS, method, "fusion method")
    sources = {"maps": maps, "heldout": heldout, "folds": folds, "qrels": qrels}
    given = [name for name, source in sources.items() if source is not None]
    if method == "mapfuse":
        _check_sources(given)
    elif given:
        raise InputError(f"`{given[0]}` is an option of fusion method 'mapfuse'", got=method)
    if isinstance(runs, str | Path):
        raise InputError("fusion needs a list of two runs or more", got=type(runs).__name__)
    loaded = [read_run(run, notes) for run in runs_of(runs)]
    if heldout is not None:
        maps = _heldout_maps(heldout, loaded, notes)
    if folds is not None:
        make_fusion(method, k=k, weights=weights, normalize=normalize, maps=[1.0] * len(loaded))  # checks the options
        fused = mapfuse_folds(loaded, open_folds(folds, notes), read_qrels(qrels, notes), tag=tag, notes=notes)
    else:
        fused = make_fusion(method, k=k, weights=weights, normalize=normalize, maps=maps)(loaded, tag=tag)
    for query_id in fused:
        lacking = any(query_id not in run for run in loaded)
        notes.add("queries that a run lacks, ranked by the others", query_id, int(lacking))
    fused.notes = notes
    return fused


def _check_sources(given: Sequence[str]) -> None:
    sources = [name for name in given if name != "qrels"]
    if len(sources) != 1:
        raise InputError(
            "mapfuse needs the MAP of each system on other queries, from one source",
            got=" ".join(sources) or "none",
            fix="give `maps`, `heldout`, or `folds` with `qrels`",
        )
    if ("folds" in given) != ("qrels" in given):
        raise InputError("mapfuse: `folds` and `qrels` go together", got=" ".join(given))


def _heldout_maps(heldout: Sequence[Any], runs: Sequence[Run], notes: Notes) -> list[float]:
    if isinstance(heldout, str) or not isinstance(heldout, Sequence) or not heldout:
        raise InputError("`heldout` takes judgments, then a run of each system", got=type(heldout).__name__)
    judgments, *others = heldout
    judged, systems = read_qrels(judgments, notes), [read_run(run, notes) for run in others]
    for number, system in enumerate(systems, 1):
        if missing := coverage(judged, system).missing:
            notes.say(f"{missing} of {len(judged)} topics missing from held-out run {number} (count as 0 in its MAP)")
    values = heldout_maps(systems, judged, runs)
    notes.say("held-out MAP: " + ", ".join(f"{value:.4f}" for value in values))
    return values
