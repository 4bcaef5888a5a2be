"""A pipeline with [mix] ranks by several scorers, mixed per query, and keeps the scores of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import longrank
from fakes import CountingScorer, documents, index_of, queries
from longrank.aggregation.mixing import make_mix, mixed
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.index import Index
from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.explain import search
from longrank.ranking.found import passage_json
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, open_pipeline, rerank
from longrank.ranking.settings import load_pipeline, overview
from longrank.ranking.texts import Reranker
from longrank.scoring import PASSAGE_SCORERS
from longrank.scoring.mixed import MixedScorer
from longrank.types import Document, Notes, Run

MIX = "mix.counting=0.25"
N_QUERIES = 6


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(30), tmp_path_factory.mktemp("mix") / "index")


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a second scorer that needs no model."""
    monkeypatch.setitem(PASSAGE_SCORERS, "counting", CountingScorer)


def opened(index: Index, *assignments: str, pipeline: str = "lexical") -> Pipeline:
    return open_pipeline(index, pipeline, assignments=assignments, notes=Notes())


def first_stage(index: Index, k: int = 12) -> Run:
    retriever = opened(index, pipeline="bm25").retriever
    return Run("bm25", [row for query in queries(N_QUERIES) for row in retriever.retrieve(query, k)])


def reranked(index: Index, path: Path, *assignments: str) -> Run:
    stage = first_stage(index)
    return rerank(opened(index, *assignments), queries(N_QUERIES), stage, path, tag="t", notes=Notes())


def test_the_evidence_has_the_scores_of_each_scorer_and_their_mix(index: Index, tmp_path: Path) -> None:
    reranked(index, tmp_path / "mixed", MIX)
    reranked(index, tmp_path / "lexical")
    header, rows = read_evidence(tmp_path / "mixed")
    evidence, alone = list(rows), list(read_evidence(tmp_path / "lexical")[1])
    assert header["unit"] == "mixed"
    assert header["parts"] == ["lexical", "counting"]
    assert header["mix"] == {"method": "minmax", "weights": {"counting": 0.25}}
    for one, plain in zip(evidence, alone, strict=True):
        assert one.passage_parts is not None
        assert one.passage_parts["lexical"].tobytes() == plain.passage_score.tobytes()
    for query in queries(N_QUERIES):
        own = [one for one in evidence if one.query_id == query.query_id]
        weights = make_mix(header["parts"], {"counting": 0.25})
        expected = mixed([one.passage_parts for one in own if one.passage_parts], weights)
        assert [one.passage_score.tolist() for one in own] == [scores.tolist() for scores in expected]
        assert max(one.passage_score.max() for one in own) > 0.5


def test_a_file_without_a_mix_does_not_name_one(index: Index, tmp_path: Path) -> None:
    reranked(index, tmp_path / "e")
    header, rows = read_evidence(tmp_path / "e")
    assert not {"parts", "mix"} & set(header)
    assert next(rows).passage_parts is None


@pytest.mark.parametrize(("weight", "alone"), [("0", "lexical"), ("1", "counting")])
def test_a_weight_of_0_or_1_ranks_as_a_single_scorer(index: Index, tmp_path: Path, weight: str, alone: str) -> None:
    mixture = reranked(index, tmp_path / "mixed", f"mix.counting={weight}")
    single = reranked(index, tmp_path / "single", f"scorer.name={alone}")
    assert {q: [row.doc_id for row in mixture[q]] for q in mixture} == {
        q: [row.doc_id for row in single[q]] for q in single
    }


class Dies(CountingScorer):
    """Fails at the second block."""

    def score(self, tasks: list[ScoringTask]) -> list[PassageScores]:  # type: ignore[override]
        self.n_scored += 1
        if self.n_scored > 2:
            raise KeyboardInterrupt
        return [CountingScorer()._score(task) for task in tasks]


def test_interrupted_scoring_goes_on_to_the_same_bytes(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = "final.block_queries=2"
    undisturbed = reranked(index, tmp_path / "whole", MIX, blocks)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setitem(PASSAGE_SCORERS, "counting", Dies)
        reranked(index, tmp_path / "resumed", MIX, blocks)
    assert 0 < (tmp_path / "resumed").stat().st_size < (tmp_path / "whole").stat().st_size
    resumed = reranked(index, tmp_path / "resumed", MIX, blocks)
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert list(resumed.rows()) == list(undisturbed.rows())


def test_the_number_of_queries_per_block_changes_no_score(index: Index, tmp_path: Path) -> None:
    one, all_of_them = (reranked(index, tmp_path / str(n), MIX, f"final.block_queries={n}") for n in (1, N_QUERIES))
    assert list(one.rows()) == list(all_of_them.rows())


def test_a_file_of_other_weights_is_not_resumed(index: Index, tmp_path: Path) -> None:
    reranked(index, tmp_path / "e", MIX)
    with pytest.raises(InputError, match="begun with other mix"):
        reranked(index, tmp_path / "e", "mix.counting=0.5")


def test_texts_are_mixed_as_the_same_documents_of_an_index(index: Index) -> None:
    query = queries(1)[0].text
    found = search(opened(index, MIX, "final.depth=30"), query, k=30)
    texts = [Document(one.doc_id, one.title, index.document(one.doc_id).text) for one in found]
    ranked = Reranker("lexical", index=index, assignments=[MIX]).rank(query, texts)
    assert [(found[one.index].doc_id, one.score, one.relevance) for one in ranked] == [
        (one.doc_id, one.score, one.score) for one in found
    ]


def test_pairs_of_a_query_are_mixed_together() -> None:
    reranker = Reranker("lexical", assignments=[MIX])
    texts = ["fox fox", "moon", "fox moon tide"]
    together = reranker.predict([("fox", text) for text in texts])
    ranked = {one.index: one.score for one in reranker.rank("fox", texts)}
    assert together.tolist() == [ranked[n] for n in range(len(texts))]
    assert reranker.predict([("fox", texts[0]), ("moon", texts[1])]).tolist() == [1.0, 1.0]


def test_a_mix_reads_selected_passages_only(index: Index, tmp_path: Path) -> None:
    reranked(index, tmp_path / "e", MIX, "select.name=first", "select.n=1")
    assert all(len(one.passage_score) == 1 for one in read_evidence(tmp_path / "e")[1])


def test_a_shown_passage_has_the_scores_of_each_scorer(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    query = queries(1)[0].text
    (best, *_), *_ = (result.passages for result in search(opened(index, MIX), query, k=1, passages=1))
    assert best.parts is not None
    assert list(best.parts) == ["lexical", "counting"]
    assert best.parts["counting"] == sum(best.text.split().count(word) for word in query.split())
    results = longrank.search(index, query, pipeline="lexical", assignments=[MIX], k=1)
    shown = f"{best.score:.4f} (lexical {best.parts['lexical']:.4f}, counting {best.parts['counting']:.4f})"
    assert shown in results._repr_html_()
    assert passage_json(best)["parts"] == best.parts
    assert main(["search", str(index.path), query, "--pipeline", "lexical", "--set", MIX, "-k", "1"]) == 0
    assert shown in capsys.readouterr().out


def test_without_a_mix_a_shown_passage_has_no_parts(index: Index) -> None:
    (best, *_), *_ = (result.passages for result in search(opened(index), queries(1)[0].text, k=1))
    assert best.parts is None
    assert "parts" not in passage_json(best)


class Reader(CountingScorer):
    """A scorer with a tokenizer, which cuts queries and passages."""

    offset_tokenizer = "tokenizer"

    def cuts_query(self, query: str) -> bool:
        return len(query) > 3

    def _score(self, task: ScoringTask) -> PassageScores:
        scores = super()._score(task)
        return scores._replace(truncated=np.array([len(text) > 3 for text in task.texts]))


def test_callers_find_through_a_mix_what_its_scorers_have() -> None:
    mix = make_mix(["counting", "reader"], {"reader": 0.5})
    scorer = MixedScorer(mix, [CountingScorer(), Reader()])
    assert scorer.offset_tokenizer == "tokenizer"
    assert (scorer.cuts_query("fox"), scorer.cuts_query("foxes")) == (False, True)
    assert scorer.fingerprint == "mix of minmax of 0.5 counting, 0.5 reader: counting; counting"
    assert not MixedScorer(mix, [CountingScorer(), CountingScorer()]).cuts_query("foxes")


def test_a_passage_that_any_scorer_cuts_is_counted(index: Index) -> None:
    pipeline = opened(index, MIX)
    assert isinstance(pipeline.scorer, PassageDocumentScorer)
    mix = make_mix(["lexical", "reader"], {"reader": 0.5})
    cutting = MixedScorer(mix, [CountingScorer(), Reader()])
    bound = PassageDocumentScorer(pipeline.scorer.segmenter, pipeline.scorer.selector, cutting, title=False)
    for result in search(replace(pipeline, scorer=bound), queries(1)[0].text):
        assert result.n_truncated == result.n_scored > 0


@pytest.mark.parametrize(
    ("pipeline", "assignments", "message"),
    [
        ("parade-avg", ["mix.lexical=0.5"], "document network cannot be mixed"),
        ("lexical", [MIX, "stop.calibration=stop.json"], "early stopping allows no mix"),
        ("bm25", [MIX], "no passage scorer to mix"),
        ("lexical", ["mix.lexical=0.5"], "main scorer has the rest"),
        ("lexical", ["mix.countin=0.5"], "did you mean 'counting'"),
        ("lexical", ["mix.counting=-0.1"], "between 0 and 1"),
        ("lexical", ["mix.counting=half"], "between 0 and 1"),
        ("maxp", [MIX, "mix.lexical=0.9"], "more than 1"),
        ("lexical", [MIX, "mix.method=max"], "unknown method of mixing"),
        ("lexical", ["mix.method=rrf"], "names no scorer"),
        ("lexical", ["mix.cross-encoder=0.5"], "no default model"),
        ("lexical", ["mix.document-network=0.5"], "cannot be mixed in"),
    ],
)
def test_a_mix_that_cannot_be_is_refused_in_a_line(pipeline: str, assignments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_pipeline(pipeline, assignments)
    assert "\n" not in str(caught.value)


def test_the_stand_in_for_a_missing_model_is_not_mixed_with_itself(index: Index) -> None:
    with pytest.raises(InputError, match="main scorer has the rest"):
        opened(index, "mix.bi-encoder=0.5", pipeline="maxp")


def test_the_order_in_which_weights_are_given_changes_nothing() -> None:
    names = ["mix.bi-encoder=0.3", "mix.lexical=0.2"]
    one, other = (load_pipeline("maxp", order).mix for order in (names, names[::-1]))
    assert one is not None and other is not None
    assert str(one.of("cross-encoder")) == str(other.of("cross-encoder"))
    assert list(one.of("cross-encoder").weights) == ["cross-encoder", "lexical", "bi-encoder"]


def test_the_shipped_pipeline_mixes_minilm_and_bm25_of_the_passage() -> None:
    settings = load_pipeline("mixed")
    assert settings.mix is not None and settings.scorer is not None
    assert settings.mix.of(settings.scorer.name) == make_mix(["bi-encoder", "lexical"], {"lexical": 0.5})
    assert next(row for row in overview() if row.name == "mixed").scorer == "bi-encoder + lexical"


@pytest.mark.neural
def test_mixed_and_minilm_give_the_same_cosines(index: Index, tmp_path: Path) -> None:
    stage = first_stage(index)
    for name in ("mixed", "minilm"):
        pipeline = opened(index, pipeline=name)
        rerank(pipeline, queries(2), stage, tmp_path / name, tag="t", notes=Notes())
    for one, plain in zip(read_evidence(tmp_path / "mixed")[1], read_evidence(tmp_path / "minilm")[1], strict=True):
        assert one.passage_parts is not None
        assert list(one.passage_parts) == ["bi-encoder", "lexical"]
        assert one.passage_parts["bi-encoder"].tobytes() == plain.passage_score.tobytes()
