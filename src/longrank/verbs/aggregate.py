"""Rank documents by stored passage evidence, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from longrank.aggregation import find_aggregation, make_aggregator, with_options
from longrank.aggregation.mixing import check_mixable, mixed_again
from longrank.aggregation.reranked import comparing_first_stage
from longrank.aggregation.run import aggregate_run
from longrank.aggregation.unread import counting_unread, note_own_score
from longrank.collections import read_run
from longrank.errors import InputError
from longrank.formats.evidence import STOPPED, check_complete, missing_in, open_evidence
from longrank.types import Evidence, Notes
from longrank.verbs.naming import naming_files

if TYPE_CHECKING:
    from longrank.types import Run


@naming_files
def aggregate(
    evidence: Any,
    aggregator: str = "maxp",
    *,
    interpolate: float | None = None,
    normalize: str = "none",
    mix: Mapping[str, float] | None = None,
    mix_method: str | None = None,
    first_stage: Any = None,
    tail: str = "keep",
    tag: str = "longrank",
    notes: Notes | None = None,
    **options: Any,
) -> Run:
    """Turn passage evidence into a ranking.

    Args:
        evidence: an evidence file that `longrank.rerank` wrote, or `Evidence` values.
        aggregator: a name of `longrank.aggregation.AGGREGATORS`: ``"maxp"``, ``"avgp"``, ``"birch"``, ...
        interpolate: alpha of ``alpha * first stage + (1 - alpha) * passages``, 0 to 1. Default: passages alone.
        normalize: scaling per query before interpolation, ``"none"`` or ``"minmax"``.
        mix: weights of scorers whose scores the evidence keeps, such as ``{"lexical": 0.3}``; the main scorer has the
            rest. Default: passage scores as written.
        mix_method: method of the mix, ``"minmax"`` or ``"rrf"``. Default: as in the evidence.
        first_stage: the run that was reranked: a file, a `Run`, a mapping or a table. Its other documents follow below.
        tail: ``"keep"`` or ``"drop"`` the documents of the first stage without evidence.
        tag: tag of the run.
        notes: counts remarks on the inputs; the run carries it.
        **options: options of the aggregator: ``k=3`` (kmaxp), ``weights=[1, 0.1, 0.1]`` (birch).

    Returns:
        The run that `longrank.rerank` gives with the same settings.

    Raises:
        InputError: no evidence, an unknown aggregator or option, a value out of range, or evidence of a document
            that the first stage lacks; or a mix of evidence without parts or with other parts.
        IntegrityError: the file is damaged or unfinished.

    Example:
        >>> aggregate("maxp.run.evidence", "birch", weights=[1, 0.1], interpolate=0.4)  # doctest: +SKIP
    """
    notes = Notes() if notes is None else notes
    if normalize != "none" and interpolate is None:
        raise InputError("`normalize` has an effect on interpolation only", got=normalize, fix="give `interpolate`")
    if tail == "drop" and first_stage is None:
        raise InputError("`tail` is of documents of the first stage", got=tail, fix="give `first_stage`")
    header, records = open_evidence(evidence)
    function = make_aggregator(aggregator, **options)
    if mix is not None or mix_method is not None:
        check_mixable(aggregator)
    check_complete(header, evidence, with_options(aggregator, function) if interpolate is None else None)
    records = mixed_again(header, records, mix, mix_method)
    stage = None if first_stage is None else read_run(first_stage, notes)
    if stage is None and STOPPED in header:
        notes.say("the run lacks documents that early stopping skipped: give the first stage, and they follow below")
    with_evidence: set[str] = set()
    uses_own_score = find_aggregation(aggregator).needs_document_score
    records = _collecting(records, with_evidence, Notes() if uses_own_score else notes)
    run = aggregate_run(
        counting_unread(records if stage is None else comparing_first_stage(records, stage, notes), notes),
        function,
        first_stage=stage,
        alpha=interpolate,
        normalize=normalize,
        tail=tail,
        tag=tag,
        missing=missing_in(header),
    )
    others = [query_id for query_id in stage or () if query_id not in with_evidence]
    fate = "ranked as in the first stage" if tail == "keep" else "dropped"
    notes.add(f"queries without evidence, {fate}", next(iter(others), ""), len(others))
    run.notes = notes
    return run


def _collecting(records: Iterable[Evidence], query_ids: set[str], notes: Notes) -> Iterator[Evidence]:
    for record in records:
        query_ids.add(record.query_id)
        note_own_score(record, notes)
        yield record
