"""Early stopping with the counting scorer as the expensive one and the lexical scorer as the cheap one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fakes import CountingScorer, documents, index_of, queries
from longrank.aggregation import make_aggregator
from longrank.errors import InputError
from longrank.formats.evidence import check_complete, read_evidence
from longrank.index import Index
from longrank.protocols import Candidate, PassageScorer
from longrank.ranking.bounds import Bound, Pairs, n_read
from longrank.ranking.calibration import Calibration, calibrate, write_calibration
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import open_pipeline, rerank
from longrank.ranking.stopping import StoppingScorer
from longrank.scoring.lexical import LexicalScorer
from longrank.text.segment import make_segmenter
from longrank.text.select import make_selector
from longrank.types import Notes, Run

MAXP = make_aggregator("maxp")
N_QUERIES, DEPTH = 24, 25


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(60), tmp_path_factory.mktemp("stopping") / "index")


def document_scorer(scorer: PassageScorer) -> PassageDocumentScorer:
    return PassageDocumentScorer(make_segmenter("windows"), make_selector("all"), scorer, title=False)


def first_stage(index: Index) -> Run:
    retriever = open_pipeline(index, "bm25", notes=Notes()).retriever
    return Run("bm25", [row for query in queries(N_QUERIES) for row in retriever.retrieve(query, 40)])


def calibration(x: list[float], y: list[float], margin: float, k: int = 5) -> Calibration:
    return Calibration(k, 0.1, "maxp", "cheap", "expensive", 9, 0.0, 0.0, tuple(x), tuple(y), margin)


def candidates(index: Index, run: Run) -> list[Candidate]:
    return [
        Candidate(query, index.document(row.doc_id), row.score)
        for query in queries(N_QUERIES)
        for row in run[query.query_id][:DEPTH]
    ]


def test_more_candidates_than_the_calibration_was_learned_on_are_refused(index: Index) -> None:
    cheap, expensive = document_scorer(LexicalScorer(index)), document_scorer(CountingScorer())
    block = candidates(index, first_stage(index))
    most = max(Counter(candidate.query.query_id for candidate in block).values())
    learned = calibration([0.0, 10.0], [0.0, 60.0], 1.0)
    StoppingScorer(cheap, expensive, MAXP, replace(learned, depth=most)).evidence(block)
    with pytest.raises(InputError, match=f"was learned on at most {most - 1} candidates of a query .got {most}"):
        StoppingScorer(cheap, expensive, MAXP, replace(learned, depth=most - 1)).evidence(block)


def test_the_walk_reads_what_the_calibration_says_and_scores_it_as_ever(index: Index) -> None:
    cheap, expensive = document_scorer(LexicalScorer(index)), document_scorer(CountingScorer())
    block = candidates(index, first_stage(index))
    learned = calibration([0.0, 10.0], [0.0, 60.0], 1.0)
    found = StoppingScorer(cheap, expensive, MAXP, learned).evidence(block)
    every, chosen = expensive.evidence(block), cheap.evidence(block)
    lefts = []
    for query in queries(N_QUERIES):
        rows = [n for n, one in enumerate(block) if one.query.query_id == query.query_id]
        order = sorted(rows, key=lambda n: (MAXP(chosen[n]), block[n].document.doc_id), reverse=True)
        scores = (np.array([MAXP(of[n]) for n in order]) for of in (chosen, every))
        pairs = Pairs(*scores, [block[n].document.doc_id for n in order])
        read = order[: n_read(pairs, Bound(np.array([0.0, 10.0]), np.array([0.0, 60.0]), 1.0), 5)]
        assert {n for n in rows if found[n] is not None} == set(read)
        for n in read:
            assert found[n].passage_score.tolist() == every[n].passage_score.tolist()
        lefts.append(len(rows) - len(read))
    assert 0 < sum(lefts) < len(block)


def test_documents_left_alone_are_not_scored(index: Index) -> None:
    scorer = CountingScorer()
    block = candidates(index, first_stage(index))
    stopping = StoppingScorer(
        document_scorer(LexicalScorer(index)), document_scorer(scorer), MAXP, calibration([0.0], [0.0], -1.0)
    )
    found = stopping.evidence(block)
    assert sum(one is not None for one in found) == 5 * N_QUERIES
    assert scorer.n_scored == sum(one.n_passages for one in found if one is not None)


@pytest.fixture
def calibrated(index: Index, tmp_path: Path) -> Path:
    """A calibration of the lexical scorer with k1 = 5 by the usual one."""
    run = first_stage(index)
    for name, settings in (("cheap", []), ("expensive", ["scorer.options.k1=5.0"])):
        pipeline = open_pipeline(index, "lexical", assignments=settings, notes=Notes())
        rerank(pipeline, queries(N_QUERIES), run, tmp_path / name, tag="t", notes=Notes())
    learned = calibrate(tmp_path / "cheap", tmp_path / "expensive", "maxp", MAXP, k=5, risk=0.1)
    write_calibration(learned, tmp_path / "stop.json")
    return tmp_path / "stop.json"


def stopping_settings(path: Path) -> list[str]:
    return [
        *("scorer.options.k1=5.0", "stop.scorer=lexical"),
        f"stop.calibration={json.dumps(str(path))}",
    ]


def test_a_calibration_by_evidence_with_a_score_cache_fits_a_pipeline_without(index: Index, calibrated: Path) -> None:
    learned = json.loads(calibrated.read_text())
    del learned["checksum"]
    learned["expensive"] = learned["expensive"].replace(" | ", " with score cache | ", 1)
    calibrated.write_text(json.dumps(learned))
    open_pipeline(index, "lexical", assignments=stopping_settings(calibrated), notes=Notes())
    learned["expensive"] = learned["expensive"].replace("k1=5", "k1=4", 1)
    calibrated.write_text(json.dumps(learned))
    with pytest.raises(InputError, match="was learned from another scorer"):
        open_pipeline(index, "lexical", assignments=stopping_settings(calibrated), notes=Notes())


def test_a_pipeline_that_stops_early_keeps_the_top_and_tells_what_it_left_alone(
    index: Index, calibrated: Path, tmp_path: Path
) -> None:
    run, notes = first_stage(index), Notes()
    pipeline = open_pipeline(index, "lexical", assignments=stopping_settings(calibrated), notes=notes)
    new = rerank(pipeline, queries(N_QUERIES), run, tmp_path / "e", tag="t", notes=notes)
    header, found = read_evidence(tmp_path / "e")
    n_read = len(list(found))
    n_left = notes[f"candidates skipped by early stopping, of {N_QUERIES * 40}"]
    assert n_left == N_QUERIES * 40 - n_read > 0
    assert any("of the true top 5 missed, on held-out queries" in line for line in notes.lines())
    assert "stop(k=5 bound=" in header["scorer"]
    with pytest.raises(InputError, match="early stopping left this evidence incomplete"):
        check_complete(header, tmp_path / "e")
    whole = open_pipeline(index, "lexical", assignments=["scorer.options.k1=5.0"], notes=Notes())
    full = rerank(whole, queries(N_QUERIES), run, tmp_path / "full", tag="t", notes=Notes())
    check_complete(read_evidence(tmp_path / "full")[0], tmp_path / "full")
    kept = [len({r.doc_id for r in new[q][:5]} & {r.doc_id for r in full[q][:5]}) / 5 for q in run]
    assert np.mean(kept) >= 0.9
    assert all({r.doc_id for r in new[q]} == {r.doc_id for r in full[q]} for q in run)


def test_evidence_with_early_stopping_does_not_depend_on_interruptions(
    index: Index, calibrated: Path, tmp_path: Path
) -> None:
    settings = [*stopping_settings(calibrated), "final.block_queries=5"]
    run = first_stage(index)

    def reranked(path: Path, stop_after: int | None = None) -> None:
        done = 0

        def progress(n: int) -> None:
            nonlocal done
            done += n
            if stop_after is not None and done > stop_after:
                raise KeyboardInterrupt

        pipeline = open_pipeline(index, "lexical", assignments=settings, notes=Notes())
        rerank(pipeline, queries(N_QUERIES), run, path, tag="t", progress=progress, notes=Notes())

    reranked(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        reranked(tmp_path / "cut", stop_after=8)
    reranked(tmp_path / "cut")
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["final.interpolate=0.3"], "early stopping allows no interpolation"),
        (["aggregate.name=document", "scorer.name=document-network"], "needs an aggregator of passage scores"),
        (["select.name=bm25", "select.per_query=9"], "use select.n"),
        (["select.name=bm25", "select.pooled=true"], "use select.n with select.pooled=false"),
        (["select.name=bm25"], "was learned from another scorer"),
        (["scorer.options.k1=4.0"], "was learned from another scorer"),
        (["passages.options.length=100"], "was learned from another cheap scorer"),
        (["aggregate.name=avgp"], "was learned from another aggregator"),
        (["stop.calibration=absent.json"], "cannot be read"),
    ],
)
def test_a_calibration_is_refused_where_it_means_nothing(
    index: Index, calibrated: Path, changed: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_pipeline(index, "lexical", assignments=[*stopping_settings(calibrated), *changed], notes=Notes())
