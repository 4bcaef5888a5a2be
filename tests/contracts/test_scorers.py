"""Contracts of passage scorers: every entry of `PASSAGE_SCORERS`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fakes import documents, index_of
from late_models import save_colbert
from longrank.errors import InputError
from longrank.index import Index
from longrank.protocols import PassageScorer, ScoringTask
from longrank.registries import defaults_of
from longrank.scoring import PASSAGE_SCORERS, make_scorer, scorer_class
from longrank.scoring.score_cache import ScoreCache
from longrank.types import Notes, Passage, Query
from tiny_language_models import SHORT_PROMPT, save_decoder, save_seq2seq
from tiny_models import WORDS, save_cross_encoder, save_document_network, save_encoder

NEURAL = {
    "bi-encoder": save_encoder,
    "cross-encoder": save_cross_encoder,
    "colbert": save_colbert,
    "monot5": save_seq2seq,
    "decoder": save_decoder,
    "document-network": save_document_network,
}
SHORT = {"decoder": {"prompt": SHORT_PROMPT}, "document-network": {"allow_untrained": True}}  # for the tiny models
SCORERS = [pytest.param(name, marks=pytest.mark.neural if name in NEURAL else ()) for name in PASSAGE_SCORERS]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(documents(20), tmp_path_factory.mktemp("scorers") / "index")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A folder per neural scorer; written when first asked for."""
    root = tmp_path_factory.mktemp("models")

    class Written(dict[str, str]):
        def __missing__(self, name: str) -> str:
            self[name] = str(NEURAL[name](root / name))
            return self[name]

    return Written()


@pytest.fixture(params=SCORERS)
def make(request: pytest.FixtureRequest, index: Index, models: dict[str, str]) -> object:
    """A function that builds the scorer afresh."""
    name = request.param
    model, usual = models[name] if name in NEURAL else None, SHORT.get(name, {})
    return lambda **options: make_scorer(name, index=index, model=model, options=usual | options, notes=Notes())


def task(query: str, texts: Sequence[str], doc_id: str) -> ScoringTask:
    passages = tuple(Passage(doc_id, n, text, 0, len(text)) for n, text in enumerate(texts))
    return ScoringTask(Query(query, query), doc_id, passages, tuple(texts))


def tasks() -> list[ScoringTask]:
    """Two queries, ten documents of one to six passages; words that the index and the tiny models know."""
    rng = random.Random(5)
    words = WORDS.split()
    texts = [[" ".join(rng.choices(words, k=rng.randint(1, 25))) for _ in range(rng.randint(1, 6))] for _ in range(10)]
    queries = ("river stone", "what is the moon over bread")
    return [task(query, one, f"d{n}") for query in queries for n, one in enumerate(texts)]


def flat(scorer: PassageScorer, given: Sequence[ScoringTask]) -> np.ndarray:
    return np.concatenate([one.scores for one in scorer.score(given)])


def test_scores_are_finite_float32_one_per_passage(make) -> None:
    given = tasks()
    results = make().score(given)
    assert len(results) == len(given)
    for one, result in zip(given, results, strict=True):
        assert result.scores.dtype == np.float32
        assert result.truncated.dtype == np.bool_
        assert len(one.texts) == len(result.scores) == len(result.truncated)
        assert np.isfinite(result.scores).all()
        assert not result.truncated.any()
    assert np.std(np.concatenate([one.scores for one in results])) > 0


def test_the_order_of_the_tasks_changes_nothing_beyond_float_noise(make) -> None:
    given = tasks()
    usual = make().score(given)
    order = random.Random(1).sample(range(len(given)), len(given))
    shuffled = make().score([given[n] for n in order])
    spread = np.concatenate([one.scores for one in usual]).std()
    for n, found in zip(order, shuffled, strict=True):
        assert np.abs(found.scores - usual[n].scores).max() <= 1e-4 * spread


def test_one_task_at_a_time_or_all_at_once_is_the_same_beyond_float_noise(make) -> None:
    given = tasks()
    together = flat(make(), given)
    scorer = make()
    alone = np.concatenate([flat(scorer, [one]) for one in given])
    assert np.abs(together - alone).max() <= 1e-4 * together.std()


def test_the_same_block_gives_the_same_bytes_whatever_was_scored_before(make) -> None:
    given, used = tasks(), make()
    used.score(given[::3])
    assert flat(used, given).tobytes() == flat(make(), given).tobytes()


def test_empty_texts_and_queries_have_scores(make) -> None:
    (result,) = make().score([task("river", ["", " ", "river"], "d")])
    assert np.isfinite(result.scores).all()
    if make().unit != "logprob":  # a language model reads spaces as well; passages come without them at their ends
        assert result.scores[0] == result.scores[1]
    (result,) = make().score([task("", ["river", ""], "d")])
    assert np.isfinite(result.scores).all()
    assert make().score([]) == []


def test_a_passage_of_ten_thousand_words_is_read_whole_or_counted(make, request: pytest.FixtureRequest) -> None:
    neural = request.node.callspec.params["make"] in NEURAL
    (result,) = make().score([task("river", ["river " + "stone " * 10_000, "river"], "d")])
    assert result.truncated.tolist() == [neural, False]
    assert np.isfinite(result.scores).all()


def test_unit_and_fingerprint_are_stable_and_name_the_options(make, request: pytest.FixtureRequest) -> None:
    one, other = make(), make()
    assert one.unit == other.unit != ""
    assert one.fingerprint == other.fingerprint
    assert "\n" not in one.fingerprint
    name = request.node.callspec.params["make"]
    numbers = {option for option, default in defaults_of(scorer_class(name)).items() if isinstance(default, float)}
    for changed in [{"max_tokens": 16}] if name in NEURAL else [{option: 0.7} for option in numbers]:
        assert make(**changed).fingerprint != one.fingerprint


CACHEABLE = sorted(NEURAL.keys() - {"bi-encoder", "colbert", "document-network"})


@pytest.mark.neural
@pytest.mark.parametrize("name", CACHEABLE)
def test_a_score_cache_gives_the_scorers_scores_and_nothing_is_read_twice(
    name: str, index: Index, models: dict[str, str], tmp_path: Path
) -> None:
    def cached(notes: Notes) -> ScoreCache:
        scorer = make_scorer(name, index=index, model=models[name], options=SHORT.get(name), notes=notes)
        return ScoreCache(scorer, tmp_path / "cache", notes)

    long = task("river " * 300, ["river " + "stone " * 10_000, "river", "river"], "d")
    given, first, later = [*tasks(), long], Notes(), Notes()
    plain = make_scorer(name, index=index, model=models[name], options=SHORT.get(name), notes=Notes()).score(given)
    once = cached(first).score(given)
    spread = np.concatenate([one.scores for one in plain]).std()
    for one, other in zip(plain, once, strict=True):
        assert np.abs(one.scores - other.scores).max() <= 1e-4 * spread
        assert one.truncated.tolist() == other.truncated.tolist()
    again = cached(later)
    again._scorer.score = None  # type: ignore[attr-defined]  # nothing is left to read
    for one, other in zip(once, again.score(given), strict=True):
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.truncated.tolist() == other.truncated.tolist()


@pytest.mark.parametrize("name", sorted(PASSAGE_SCORERS.keys() - CACHEABLE))
def test_a_score_cache_of_any_other_scorer_is_refused(
    name: str, index: Index, models: dict[str, str], tmp_path: Path
) -> None:
    if name in NEURAL:
        pytest.importorskip("torch")
    scorer = make_scorer(name, index=index, model=models[name] if name in NEURAL else None, options=SHORT.get(name))
    with pytest.raises(InputError, match="a score cache needs a scorer that reads query and passage together"):
        ScoreCache(scorer, tmp_path / "cache", Notes())
    assert not (tmp_path / "cache").exists()


def test_an_unknown_option_is_answered_with_the_nearest(make) -> None:
    with pytest.raises(InputError, match="has no option"):
        make(nonsense=1)
    with pytest.raises(InputError, match="has no option"):
        make(notes=1)


def test_an_option_of_the_wrong_type_is_refused_by_name(make, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["make"]
    for option in defaults_of(scorer_class(name)):
        with pytest.raises(InputError, match=rf"{option} of the {name} scorer should be "):
            make(**{option: object()})


def test_an_unknown_scorer_is_answered_with_the_nearest(index: Index) -> None:
    with pytest.raises(InputError, match=r"unknown passage scorer \(got 'bi-encode'\); did you mean 'bi-encoder'"):
        make_scorer("bi-encode", index=index)


def test_a_model_for_the_lexical_scorer_is_refused(index: Index) -> None:
    with pytest.raises(InputError, match="takes no model"):
        make_scorer("lexical", index=index, model="minilm")


@pytest.mark.parametrize("name", [name for name in PASSAGE_SCORERS if scorer_class(name).needs_model])
def test_a_scorer_of_a_model_names_one(index: Index, name: str) -> None:
    with pytest.raises(InputError, match=rf"the {name} scorer needs a model; name one, such as [\w/.-]+$"):
        make_scorer(name, index=index)
