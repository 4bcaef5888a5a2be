from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InputError, LongRankError
from longrank.networks.model_files import find_model
from longrank.networks.trainings import TRAINED
from longrank.scoring.cross_encoder import CrossEncoder
from tiny_models import FAMILIES, MAX_TOKENS, save_cross_encoder, task

pytestmark = pytest.mark.neural

QUERY = "where is the river bank"
PASSAGES = [
    "the fox jumped over the dog",
    "",
    "a long river in the north of the city, and a boat " * 6,
    "money",
    "who was the king? the answer is over under the blue water",
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Path]:
    root = tmp_path_factory.mktemp("cross-encoders")
    wanted = [(family, 2) for family in FAMILIES] + [("bert", 1)]
    return {(family, n): save_cross_encoder(root / f"{family}-{n}", family, n) for family, n in wanted}


def scorer(folder: Path, **options: object) -> CrossEncoder:
    return CrossEncoder(find_model(str(folder)), **options)  # type: ignore[arg-type]


def logits_of_transformers(folder: Path, query: str, passages: list[str]) -> np.ndarray:
    """One pair at a time, by nothing but Hugging Face's own tokenizer and model."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    rows = []
    for passage in passages:
        features = tokenizer(
            [(query, passage)],  # as a list: an empty passage given apart would be taken for no passage
            truncation="only_second",
            max_length=MAX_TOKENS,
            padding="max_length",
            return_tensors="pt",
        )
        with torch.inference_mode():
            rows.append(network(**features).logits[0].numpy())
    return np.stack(rows)


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_transformers_padded_one_by_one(folders: dict[tuple[str, int], Path], family: str) -> None:
    expected = logits_of_transformers(folders[family, 2], QUERY, PASSAGES)
    found = scorer(folders[family, 2]).logits(QUERY, PASSAGES)
    assert np.ptp(expected, axis=0).min() > 0.01  # the passages can be told apart
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_passage_that_does_not_fit_is_counted_as_truncated(
    folders: dict[tuple[str, int], Path], family: str
) -> None:
    texts = ["fish", "", "a long river " * 30]
    (scores,) = scorer(folders[family, 2]).score([task("the fish", texts)])
    assert scores.truncated.tolist() == [False, False, True]


def test_each_score_is_its_formula(folders: dict[tuple[str, int], Path]) -> None:
    z0, z1 = scorer(folders["bert", 2]).logits(QUERY, PASSAGES).astype(np.float64).T
    expected = {
        "logit": z1,
        "logit_diff": z1 - z0,
        "prob": np.exp(z1) / (np.exp(z0) + np.exp(z1)),
        "logprob": z1 - np.log(np.exp(z0) + np.exp(z1)),
    }
    for name, values in expected.items():
        one = scorer(folders["bert", 2], score=name)
        (scores,) = one.score([task(QUERY, PASSAGES)])
        assert one.unit == name
        assert scores.scores.dtype == np.float32
        np.testing.assert_allclose(scores.scores, values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_limit_in_the_tokenizer_the_position_embeddings_are_the_limit(tmp_path: Path, family: str) -> None:
    """Among them RoBERTa, whose 50 position embeddings serve 48 tokens, as its 514 serve 512."""
    folder = save_cross_encoder(tmp_path / family, family)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": int(1e30)}))
    one = scorer(folder)
    assert one.max_tokens == MAX_TOKENS
    (scores,) = one.score([task("fish", ["fish " * 200])])
    assert scores.truncated.tolist() == [True]


def test_a_pair_that_just_fits_is_not_counted_as_truncated(folders: dict[tuple[str, int], Path]) -> None:
    room = MAX_TOKENS - 5  # [CLS] the fish [SEP] king ... [SEP]
    (scores,) = scorer(folders["bert", 2]).score([task("the fish", ["king " * room, "king " * room + "war"])])
    assert scores.truncated.tolist() == [False, True]
    assert scores.scores[0] == pytest.approx(scores.scores[1], abs=1e-6)


def test_each_task_has_its_own_scores_and_cuts(folders: dict[tuple[str, int], Path]) -> None:
    long = "a long river " * 30
    one = scorer(folders["bert", 2])
    tasks = [
        task("fish", ["fish", long]),
        task("fish", [long], doc_id="e"),
        task("fish", ["money", "fish"], doc_id="f"),
    ]
    results = one.score(tasks)
    assert [result.truncated.tolist() for result in results] == [[False, True], [True], [False, False]]
    assert results[0].scores[0] == pytest.approx(results[2].scores[1], abs=1e-6)
    assert results[0].scores[1] == pytest.approx(results[1].scores[0], abs=1e-6)
    assert "max_query_tokens=64 " in one.fingerprint


def test_each_score_of_one_output_is_its_formula(folders: dict[tuple[str, int], Path]) -> None:
    z = scorer(folders["bert", 1]).logits(QUERY, PASSAGES).astype(np.float64)[:, 0]
    expected = {"logit": z, "prob": 1 / (1 + np.exp(-z)), "logprob": -np.log1p(np.exp(-z))}
    for name, values in expected.items():
        (scores,) = scorer(folders["bert", 1], score=name).score([task(QUERY, PASSAGES)])
        np.testing.assert_allclose(scores.scores, values, rtol=1e-5, atol=1e-6)


def test_defaults_are_the_logit_and_for_two_outputs_the_log_odds(folders: dict[tuple[str, int], Path]) -> None:
    assert scorer(folders["bert", 1]).unit == "logit"
    assert scorer(folders["bert", 2]).unit == "logit_diff"


def test_the_relevant_output_can_be_the_first(folders: dict[tuple[str, int], Path]) -> None:
    (usual,) = scorer(folders["bert", 2]).score([task(QUERY, PASSAGES)])
    (swapped,) = scorer(folders["bert", 2], relevant=0).score([task(QUERY, PASSAGES)])
    np.testing.assert_array_equal(swapped.scores, -usual.scores)


def labelled(folder: Path, first: str, second: str) -> Path:
    """Write a model whose two outputs have these labels."""
    save_cross_encoder(folder, "bert", 2)
    config = json.loads((folder / "config.json").read_text())
    config |= {"id2label": {"0": first, "1": second}, "label2id": {first: 0, second: 1}}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_labels_that_deny_the_relevant_output_are_refused_unless_it_is_chosen(tmp_path: Path) -> None:
    folder = labelled(tmp_path / "m", "relevant", "not relevant")
    with pytest.raises(InputError, match=r"does not mean relevant.*got 'not relevant'.*relevant = 0") as caught:
        scorer(folder)
    assert "\n" not in str(caught.value)
    (first,) = scorer(folder, relevant=0).score([task(QUERY, PASSAGES)])
    (second,) = scorer(folder, relevant=1).score([task(QUERY, PASSAGES)])
    np.testing.assert_array_equal(first.scores, -second.scores)
    scorer(labelled(tmp_path / "usual", "not relevant", "relevant"))


def test_labels_of_a_model_that_longrank_trained_are_not_believed(tmp_path: Path) -> None:
    """They are those of the model that the training began with; it taught output 1."""
    folder = labelled(tmp_path / "m", "relevant", "not relevant")
    (folder / TRAINED).write_text("{}")
    assert scorer(folder).unit == "logit_diff"


def test_the_fingerprint_says_which_output_is_relevant_by_default(folders: dict[tuple[str, int], Path]) -> None:
    one = scorer(folders["bert", 2])
    assert " relevant=1 " in one.fingerprint
    assert one.fingerprint == scorer(folders["bert", 2], relevant=1).fingerprint


def test_the_query_is_cut_first(folders: dict[tuple[str, int], Path]) -> None:
    one = scorer(folders["bert", 2], max_query_tokens=4)
    long, short = "what is the long query here", "what is the long"
    tasks = [task(long, PASSAGES, "q1"), task(long, ["fish"], "q1", "d2"), task(short, PASSAGES, "q2")]
    first, _, third = one.score(tasks)
    np.testing.assert_allclose(first.scores, third.scores, atol=1e-6)
    assert (one.cuts_query(long), one.cuts_query(short)) == (True, False)


def test_a_query_longer_than_the_model_leaves_room_for_the_passage(folders: dict[tuple[str, int], Path]) -> None:
    one = scorer(folders["bert", 2], max_query_tokens=10_000)
    fox, dog = one.score([task("river " * 500, ["fox", "dog"])])[0].scores
    assert fox != dog


@pytest.mark.parametrize("batch_tokens", [1, 64, 100_000])
def test_batches_change_nothing_beyond_float_noise(folders: dict[tuple[str, int], Path], batch_tokens: int) -> None:
    tasks = [task(QUERY, PASSAGES), task("who was the king", PASSAGES[::-1], "q2")]
    usual = np.concatenate([one.scores for one in scorer(folders["bert", 2]).score(tasks)])
    other = np.concatenate([one.scores for one in scorer(folders["bert", 2], batch_tokens=batch_tokens).score(tasks)])
    assert np.abs(usual - other).max() <= 1e-4 * usual.std()


def test_options_out_of_range_are_refused(folders: dict[tuple[str, int], Path]) -> None:
    two, one = folders["bert", 2], folders["bert", 1]
    for folder, options, message in [
        (two, {"score": "logits"}, "did you mean 'logit'"),
        (one, {"score": "logit_diff"}, "one output"),
        (two, {"relevant": 2}, "relevant must be 0 or 1"),
        (one, {"relevant": 0}, "one output, which means relevant"),
        (two, {"max_tokens": 49}, "between 8 and 48"),
        (two, {"max_tokens": 2}, "between 8 and 48"),
        (two, {"max_query_tokens": 0}, "max_query_tokens must be 1 or more"),
        (two, {"batch_tokens": 0}, "batch_tokens must be 1 or more"),
        (two, {"device": "cuda:9"}, "device is not available"),
    ]:
        with pytest.raises(InputError, match=message):
            scorer(folder, **options)


def test_a_model_of_three_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one output or two"):
        scorer(save_cross_encoder(tmp_path / "m", "bert", 3))


def test_a_score_that_is_not_a_number_names_query_document_and_passage(folders: dict[tuple[str, int], Path]) -> None:
    import torch

    one = scorer(folders["bert", 2])
    with torch.no_grad():
        one._network.classifier.bias.fill_(float("inf"))
    with pytest.raises(LongRankError, match="passage 0 of document 'd' for query 'q' is not finite"):
        one.score([task(QUERY, PASSAGES)])
