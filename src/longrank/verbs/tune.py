"""Search a grid of settings for the best first stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from longrank.collections import read_qrels, read_queries
from longrank.errors import InputError
from longrank.evaluation.folds import read_or_make_folds
from longrank.evaluation.names import parse_measure
from longrank.evaluation.tuning.folder import JOURNAL, check_folds, check_own, write_outcome
from longrank.evaluation.tuning.grids import parse_axes
from longrank.evaluation.tuning.protocols import make_protocol
from longrank.evaluation.tuning.report import as_json
from longrank.evaluation.tuning.result import Tuning
from longrank.evaluation.tuning.search import (
    Search,
    check_axes,
    judged_queries,
    note_edges,
    rankings,
    tabulate,
    tunable,
    untried,
)
from longrank.index import Index
from longrank.index.shared import SharedIndex
from longrank.registries import check_at_least
from longrank.storage.workplace import working_in
from longrank.types import Notes, Run
from longrank.verbs.naming import naming_files


@naming_files
def tune(
    index: str | Path | Index,
    queries: Any,
    qrels: Any,
    grid: Mapping[str, Any] | Iterable[str],
    *,
    preset: str = "bm25-anserini",
    settings: Mapping[str, Any] | None = None,
    measure: str = "AP",
    k: int = 1000,
    protocol: str | None = None,
    folds: Any = None,
    choose_by: str | None = None,
    samples: int | None = None,
    sample_size: int | None = None,
    seed: int | None = None,
    allow_empty: bool = False,
    folder: str | Path | None = None,
    workers: int = 1,
    progress: Callable[[int, int], object] | None = None,
    notes: Notes | None = None,
) -> Tuning:
    """Search a grid of settings for the best first stage.

    Args:
        index: the index to search, or its folder.
        queries: a file, a collection folder, ``irds:ID``, texts, a mapping id -> text, a table or `Query` values.
        qrels: judgments: a file, a collection folder, ``irds:ID``, a mapping query id -> doc id -> grade, or a table.
        grid: the values of each setting: ``{"k1": [0.6, 0.9], "b": "0.3:0.5:0.1"}``, or texts such as ``"k1=0.6,0.9"``.
        preset: the first stage to tune; docs/names.md lists all.
        settings: settings that are the same throughout.
        measure: the measure to maximise, a name of ir_measures or trec_eval.
        k: documents per query.
        protocol: ``"all"``: the optimum over all queries, which is no test; ``"samples"``: the mean of the optima of
            random samples, for which alone settings are searched, tested on the other queries; ``"folds"``: for each
            fold the optimum of the other folds.
            Default: the protocol whose options are given, else ``"all"``.
        folds: a file of folds, name -> fold, or how many folds to make at random.
        choose_by: a name of `longrank.evaluation.tuning.rules.RULES`. Default: ``"rest"``.
        samples: how many samples. Default: 5.
        sample_size: queries in each sample.
        seed: seed of the samples, or of folds that are made. Default: 42.
        allow_empty: keep queries whose text is empty, which find nothing.
        folder: holds the result; the same call with the same folder resumes. Default: nothing is kept.
        workers: processes. With more than 1 a script needs the usual ``if __name__ == "__main__"``.
        progress: called with the settings just done and with how many there are.
        notes: counts remarks on the inputs; the result carries it.

    Returns:
        The chosen setting, its value, the table of all values, and the run.

    Raises:
        InputError: a setting, an option or an input that cannot be used, or a folder of something else.

    Example:
        >>> tune("my.index", "topics.jsonl", "qrels.txt", {"b": "0.3:0.9:0.1"}, folds=5).settings  # doctest: +SKIP
    """
    notes = Notes() if notes is None else notes
    check_at_least("k", k, 1)
    draws = isinstance(folds, int) or protocol == "samples" or (samples, sample_size) != (None, None)
    if seed is not None and not draws:
        raise InputError("`seed` is of samples, and of folds that are made", got=seed, fix="leave it out")
    seed = 42 if seed is None else seed
    if folder is not None:
        check_own(Path(folder), index, queries, qrels)
    axes = parse_axes(grid, tunable(preset, settings or {}))
    measure = str(parse_measure(measure))
    judgments = read_qrels(qrels, notes)
    judged = judged_queries(read_queries(queries, notes, allow_empty=allow_empty), judgments, notes)
    kept = {query.query_id: judgments[query.query_id] for query in judged}
    every = Search(SharedIndex.of(Index.open(index)), preset, settings or {}, judged, kept, measure, k)
    parts, made = read_or_make_folds(folds, list(kept), seed, notes)
    if folder is not None:
        check_folds(Path(folder), made)
    way = make_protocol(
        protocol,
        folds=parts,
        choose_by=choose_by,
        samples=samples,
        sample_size=sample_size,
        seed=seed,
        query_ids=list(kept),
        notes=notes,
    )
    chosen_on = set(way.chosen_on(list(kept)))
    search = replace(every, queries=tuple(query for query in judged if query.query_id in chosen_on))
    check_axes(search, axes)
    way.choose(untried(search, axes))  # refuses queries that do not fit the protocol, before any work
    n = math.prod(map(len, axes.values()))
    with ExitStack() as opened:
        place = Path(folder or opened.enter_context(TemporaryDirectory()))
        if folder is not None:
            opened.enter_context(working_in(place))
        advance = None if progress is None else lambda done: progress(done, n)
        table = tabulate(search, axes, place / JOURNAL, workers=workers, progress=advance)
        outcome = way.conclude(table, way.choose(table), every.figure)
        about = {"protocol": way.about(), **search.header(axes)}
        ranked = rankings(every, outcome.setting_of, notes)
        if folder is None:
            source: Run | Path = Run.from_rankings("longrank", ranked)
        else:
            write_outcome(place, as_json(table, outcome, about), ranked, made, folds)
            source = place
    note_edges(table, axes, notes)
    return Tuning(axes, table, outcome, about, made, source, notes)
