"""Open what the settings of a pipeline name: its aggregator, and its document scorer with models and stored vectors."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.config import toml_value
from longrank.errors import InputError, shown
from longrank.formats.evidence import LINEAGE
from longrank.index import Index
from longrank.networks.model_files import Model
from longrank.networks.trainings import read_otherwise, united
from longrank.protocols import Aggregator, DocumentScorer
from longrank.ranking.build import attach_vectors
from longrank.ranking.cascade import CheapScorers, open_selector
from longrank.ranking.known_passages import KnownPassages
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.settings import DEFAULT_MODEL, PipelineSettings
from longrank.ranking.settings import Scorer as ScorerSettings
from longrank.ranking.stopping import open_stopping
from longrank.registries import keyword_options
from longrank.scoring import make_scorer, scorer_class
from longrank.scoring.document_network import DocumentNetworkScorer
from longrank.scoring.mixed import MixedScorer
from longrank.scoring.score_cache import ScoreCache
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.types import Notes


def open_aggregator(settings: PipelineSettings) -> Aggregator:
    """Return the aggregator of a pipeline.

    Raises:
        InputError: an unknown aggregator, a wrong option, or ``document`` with a scorer of passages only.
    """
    name, scorer = settings.aggregate.name, settings.scorer
    aggregator = make_aggregator(name, **settings.aggregate.options)
    needs_document_score = find_aggregation(name).needs_document_score
    if needs_document_score and scorer is not None and not scorer_class(scorer.name).scores_documents:
        raise InputError(f"the {scorer.name} scorer scores passages, not documents", got=f"aggregate.name={name}")
    return aggregator


def open_document_scorer(
    index: Index | None,
    settings: PipelineSettings,
    model: str | None,
    aggregator: Aggregator,
    notes: Notes,
    *,
    score_cache: Path | None = None,
) -> DocumentScorer:
    """Build the document scorer of a pipeline.

    Args:
        index: index of the documents; None: documents come with the query.
        settings: settings of a pipeline with a scorer.
        model: replaces the pipeline's own model.
        aggregator: aggregator of the pipeline.
        notes: records decisions made for you.
        score_cache: file of scores shared with other runs (`longrank.scoring.score_cache`).

    Raises:
        InputError: an unknown name, a missing model, or a cache for a scorer that takes none.
        IntegrityError: the score cache is damaged.
    """
    assert settings.scorer is not None
    name, model, options = _choose_scorer(settings.scorer, model, notes)
    mix = None if settings.mix is None else settings.mix.of(name)
    scorer = make_scorer(name, index=index, model=model, options=options, notes=notes)
    _about_reading(scorer, settings, notes)
    tokenizer = getattr(scorer, "offset_tokenizer", None)  # for passages counted in a model's wordpieces
    passages = settings.passages
    segmenter = KnownPassages(make_segmenter(passages.preset, passages.options, tokenizer, title=settings.title))
    selects = settings.select.name != "all"
    if index is not None:
        attach_vectors(scorer, index, segmenter, title=settings.title, selects=selects, notes=notes)
    if score_cache is not None and isinstance(scorer, DocumentNetworkScorer):
        scorer.use_cache(score_cache)
    elif score_cache is not None:
        scorer = ScoreCache(scorer, score_cache, notes)
    if mix is not None:
        others = CheapScorers(index, segmenter, title=settings.title, notes=notes, selects=selects)
        scorer = MixedScorer(mix, [scorer, *(others.open(other, None) for other in list(mix.weights)[1:])])
    cheap = CheapScorers(index, segmenter, title=settings.title, notes=notes)
    selector = open_selector(settings.select, cheap)
    selecting = PassageDocumentScorer(segmenter, selector, scorer, title=settings.title, notes=notes)
    if settings.stop is None:
        return selecting
    scoring_all = PassageDocumentScorer(
        segmenter, make_selector("all"), cheap.open(settings.stop.scorer, settings.stop.model), title=settings.title
    )
    return open_stopping(scoring_all, selecting, aggregator, settings, notes)


_SETTING_OF = {
    "passages": "passages.preset",
    "options": "passages.options",
    "title": "title",
    "max_tokens": "scorer.options.max_tokens",
    "max_query_tokens": "scorer.options.max_query_tokens",
}  # key of a training's section `read` -> key of a pipeline


def lineage_header(scorer: DocumentScorer) -> dict[str, object]:
    """Return the entry of an evidence header on the trainings of a scorer's weights; empty if there are none."""
    lineage = united(*(model.lineage for model in models_of(scorer)))
    return {LINEAGE: lineage} if lineage else {}


def models_of(scorer: Any) -> Iterator[Model]:
    """Yield the models of a scorer and of the scorers that it consists of. Models of selectors have no lineage."""
    if getattr(scorer, "model", None) is not None:
        yield scorer.model
    parts = (scorer.scorer,) if isinstance(scorer, PassageDocumentScorer) else getattr(scorer, "scorers", ())
    for part in parts:
        yield from models_of(part)


def fingerprints_of(scorer: Any) -> list[str]:
    """Return the fingerprints of the models that score and select passages; `scorer` may be None."""
    selecting = getattr(getattr(scorer, "selector", None), "scorers", ())
    return [model.fingerprint for part in (scorer, *selecting) for model in models_of(part)]


def _about_reading(scorer: Any, settings: PipelineSettings, notes: Notes) -> None:
    """Note where a pipeline reads documents otherwise than the training of its network, which may cost quality."""
    if getattr(scorer, "model", None) is None:
        return
    now = {
        "passages": settings.passages.preset,
        "options": dict(settings.passages.options),
        "title": settings.title,
        "max_tokens": getattr(scorer, "max_tokens", None),
        "max_query_tokens": scorer.packer.max_query_tokens if hasattr(scorer, "packer") else None,
    }
    for key, then in read_otherwise(scorer.model.run, now):
        notes.say(
            f"'{scorer.model.name}' was trained with {key} {shown(then)} but reads with {shown(now[key])}: "
            f"add --set {shlex.quote(f'{_SETTING_OF[key]}={toml_value(then)}')} to read as in training"
        )


def _choose_scorer(
    scorer: ScorerSettings, model: str | None, notes: Notes
) -> tuple[str, str | None, Mapping[str, object]]:
    """Return name, model and options of the pipeline's scorer, or of its substitute if there is no model."""
    if not scorer_class(scorer.name).needs_model:
        if model is not None:
            raise InputError(f"the {scorer.name} scorer takes no model", got=model)
        return scorer.name, None, scorer.options
    model = model or scorer.model
    if model is not None:
        return scorer.name, model, scorer.options
    if scorer.without_model is None:
        raise InputError(f"this pipeline's {scorer.name} needs a model", fix="name it with `model`")
    notes.say(f"no model given: the {scorer.without_model} {DEFAULT_MODEL} scores the passages, not a {scorer.name}")
    own, stand_in = (keyword_options(scorer_class(name)) for name in (scorer.name, scorer.without_model))
    options = {name: value for name, value in scorer.options.items() if name in stand_in or name not in own}
    return scorer.without_model, DEFAULT_MODEL, options
