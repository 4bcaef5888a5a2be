"""Learn the weights of the first stage and of the best passages from judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from longrank.collections import read_qrels
from longrank.engines import Engine, open_engine
from longrank.errors import InputError
from longrank.evaluation.folds import Folds, read_or_make_folds
from longrank.evaluation.systems import place_of
from longrank.evaluation.tuning.folder import check_folds, check_own, write_outcome
from longrank.evaluation.tuning.formula import ALPHA, PASSAGES, make_formula
from longrank.evaluation.tuning.grids import Axes, Setting, parse_axes
from longrank.evaluation.tuning.protocols import frozen, make_protocol
from longrank.evaluation.tuning.report import as_json
from longrank.evaluation.tuning.reranked import open_reranked
from longrank.evaluation.tuning.result import Tuning
from longrank.evaluation.tuning.values import GridValues, Outcome
from longrank.evaluation.tuning.weights import Weighing, weighed_run
from longrank.formats.folds import Fold
from longrank.storage.workplace import working_in
from longrank.types import Notes, Run
from longrank.verbs.naming import naming_files

WEIGHTS = "weights.json"
_Learned = tuple[Mapping[str, object], GridValues, Outcome]


@naming_files
def weigh(
    qrels: Any,
    run: Any,
    evidence: Any,
    grid: Mapping[str, Any] | Iterable[str] = ("alpha=0:1:0.1",),
    *,
    aggregator: str | None = None,
    normalize: str = "none",
    mix_method: str | None = None,
    depth: int | None = None,
    measure: str = "AP",
    folds: Any = None,
    choose_by: str | None = None,
    seed: int | None = None,
    learn_on: Sequence[Any] | None = None,
    folder: str | Path | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    resources: Mapping[str, float] | str | None = None,
    progress: Callable[[int, int], object] | None = None,
    notes: Notes | None = None,
) -> Tuning:
    """Learn weights: by folds, or on another judged set.

    A document's score is ``alpha * first stage + (1 - alpha) * (best passage + w2 * second best + ...)``. A grid may
    also name mixed scorers of the evidence, to learn their weights. Without folds or another set, the best weights for
    these queries are reported on them, which is no test.

    Args:
        qrels: judgments: a file, a collection folder, ``irds:ID``, a mapping query id -> doc id -> grade, or a table.
        run: the first stage that was reranked: a file, a `Run`, a mapping or a table.
        evidence: an evidence file, `Evidence` values or a reranked run, or a list of files and runs.
        grid: the values of alpha, of the weights w2, w3, ... and of mixed scorers:
            ``{"alpha": "0:1:0.1", "w2": [0, 0.5], "lexical": "0:1:0.1"}``.
        aggregator: without w2: a name of `longrank.aggregation.AGGREGATORS`. Default: ``"maxp"``.
        normalize: scaling per query before interpolation, ``"none"`` or ``"minmax"``.
        mix_method: method of mixing scorers, ``"minmax"`` or ``"rrf"``. Default: as in the evidence.
        depth: documents of each query that the runs reranked, if others follow below them.
        measure: the measure to maximise, a name of ir_measures or trec_eval.
        folds: a file of folds, name -> fold, or how many folds to make at random.
        choose_by: a name of `longrank.evaluation.tuning.rules.RULES`. Default: ``"rest"``.
        seed: seed of folds that are made. Default: 42.
        learn_on: judgments, first stage and evidence of another judged set to learn the weights on.
        folder: holds the result. Default: nothing is kept.
        engine: where the values of blocks of queries are computed: ``local`` processes, ``ray`` or ``ray=ADDRESS``; as
            of `longrank.engines.open_engine`, as are `workers` and `resources`. The bytes are the same.
        workers: processes, or workers of the cluster.
        resources: resources that each worker of a cluster holds, e.g. ``{"CPU": 4}``.
        progress: called with the queries just done and with how many there are.
        notes: counts remarks on the inputs; the result carries it.

    Returns:
        The chosen weights, their value, the table of all values, and the run.

    Raises:
        InputError: a weight, an option or an input that cannot be used, or a folder of something else.

    Example:
        >>> weigh("qrels.txt", "bm25.run", "maxp.run.evidence", {"alpha": "0:1:0.1"}, folds=5)  # doctest: +SKIP
    """
    notes = Notes() if notes is None else notes
    if seed is not None and not isinstance(folds, int):
        raise InputError("`seed` is an option of folds that are made", got=seed, fix="give a number of folds")
    if folder is not None:
        check_own(Path(folder), qrels, run, evidence, *(learn_on or ()), mark=WEIGHTS, command="weigh")
    reranked = open_reranked(run, evidence, depth=depth, notes=notes, mix_method=mix_method)
    axes = parse_axes(grid, dict.fromkeys((ALPHA, *PASSAGES, *reranked.parts[1:]), float), "weight")
    if ALPHA not in axes:
        notes.say("alpha is not in the grid: the first stage counts nothing")
    formula = make_formula(axes, aggregator, normalize, reranked.parts, reranked.mix_method)
    if mix_method is not None and not formula.scorers:
        raise InputError("no scorer of a mix is in the grid", got=mix_method, fix="add --grid lexical=0:1:0.1")
    with open_engine(engine, workers=workers, resources=resources) as opened:
        here = Weighing(reranked, read_qrels(qrels, notes), formula, measure, opened)
        made: Folds = None
        parts: Mapping[str, Fold] | None = None
        if learn_on is None:
            parts, made = read_or_make_folds(folds, here.query_ids, 42 if seed is None else seed, notes)
            if folder is not None:
                check_folds(Path(folder), made)
            protocol = make_protocol(folds=parts, choose_by=choose_by, notes=notes)
            protocol.choose(here.blank(axes))  # refuses queries that do not fit the protocol, before any work
            table = _values(here, axes, progress, notes)
            outcome = protocol.conclude(table, protocol.choose(table), here.figure)
            way: Mapping[str, object] = protocol.about()
        elif (folds, choose_by) != (None, None):
            given = "`choose_by`" if folds is None else "`folds`"
            raise InputError(f"`learn_on` and {given} are two ways to learn: give one of them")
        else:
            way, table, outcome = _learn_on(learn_on, here, axes, depth=depth, progress=progress, notes=notes)
    about = {"protocol": way, **here.about()}
    settings = _setting_of(here, table, outcome, parts)
    for query_id in here.first_stage:
        notes.add("queries that no fold tests, not in the run of the weighing", query_id, int(query_id not in settings))
    ranked = Run("longrank", chain.from_iterable(weighed_run(here, settings)))
    if folder is not None:
        with working_in(Path(folder)):
            write_outcome(Path(folder), as_json(table, outcome, about), ranked.rankings(), made, folds, name=WEIGHTS)
    return Tuning(axes, table, outcome, about, made, ranked, notes)


def _setting_of(
    here: Weighing, table: GridValues, outcome: Outcome, folds: Mapping[str, Fold] | None
) -> dict[str, Setting]:
    """Return the setting of each query to rank: also of queries without judgments, by the fold that tests them."""
    if outcome.setting is not None:
        return dict.fromkeys(here.first_stage, outcome.setting)
    of_fold = {choice.name: table.settings[choice.setting] for choice in outcome.choices}
    return {query_id: of_fold[name] for name, fold in (folds or {}).items() for query_id in fold.test}


def _learn_on(
    sources: Sequence[Any],
    here: Weighing,
    axes: Axes,
    *,
    depth: int | None,
    progress: Callable[[int, int], object] | None,
    notes: Notes,
) -> _Learned:
    """Choose weights on another judged set."""
    places = ",".join(place_of(source, "memory") for source in sources)
    if isinstance(sources, str) or len(sources) < 3:
        raise InputError("`learn_on` takes judgments, a first stage and its evidence", got=places)
    qrels, run, *evidence = sources
    reranked = open_reranked(
        run,
        evidence if len(evidence) > 1 else evidence[0],
        depth=depth,
        notes=notes,
        mix_method=here.formula.mix_method,
    )
    there = replace(here, reranked=reranked, qrels=read_qrels(qrels, notes))
    if both := set(there.query_ids) & set(here.query_ids):
        notes.say(f"{len(both)} query ids are in both sets ({min(both)}, ...): make sure that they are other queries")
    scorers = [{name.split(" | ", 1)[-1] for name in part.reranked.scorers} for part in (there, here)]
    if all(scorers) and scorers[0] != scorers[1]:
        learned, used = (", ".join(sorted(names)) for names in scorers)
        notes.say(f"weights are learned on passages by {learned}, and used on those by {used}")
    table = _values(there, axes, progress, notes)
    place = table.best(table.query_ids)
    chosen = {name: (value,) for name, value in table.settings[place].items()}
    outcome = frozen(table, place, _values(here, chosen, progress, notes))
    return {"name": "frozen", "learned_on": places}, table, outcome


def _values(here: Weighing, axes: Axes, progress: Callable[[int, int], object] | None, notes: Notes) -> GridValues:
    n = len(here.query_ids)
    return here.table(axes, notes, (lambda _: None) if progress is None else lambda done: progress(done, n))
