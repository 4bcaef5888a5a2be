"""Networks of passage scores: MaxP and its kin by hand, Birch-Passage, and the classifier inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from document_networks import Encoders, features
from longrank.errors import InputError
from tiny_models import save_cross_encoder

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("encoders"))


def made(name: str, encoders: Encoders, family: str = "bert", **options: Any) -> Any:
    from longrank.models.create import create_network

    return create_network(name, encoders.read(family)[0], options)


def scored(*rows: list[float]) -> tuple[Any, Any]:
    """Return scores of documents, [B, P], 99 for padding, and their mask."""
    import torch

    width = max(map(len, rows))
    scores = torch.tensor([row + [99.0] * (width - len(row)) for row in rows])
    return scores, torch.arange(width) < torch.tensor(list(map(len, rows)))[:, None]


@pytest.mark.parametrize(
    ("name", "expected", "contributions"),
    [
        ("maxp", [3.0, 5.0], [[0, 1, 0], [1, 0, 0]]),
        ("firstp", [-1.0, 5.0], [[1, 0, 0], [1, 0, 0]]),
        ("sump", [4.0, 5.0], [[-1, 3, 2], [5, 0, 0]]),
        ("avgp", [4 / 3, 5.0], [[4 / 3 - 2.5, 4 / 3 - 0.5, 4 / 3 - 1], [5, 0, 0]]),
        ("birch-passage", [4 / 3, 5.0], [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]]),
    ],
)
def test_scores_and_contributions_by_hand(name: str, expected, contributions, encoders: Encoders) -> None:
    given = scored([-1.0, 3, 2], [5.0])
    network = made(name, encoders)
    assert network.aggregate(*given).tolist() == pytest.approx(expected)
    found = network.contributions(*given).tolist()
    assert [value for row in found for value in row] == pytest.approx([v for row in contributions for v in row])


@pytest.mark.parametrize(("name", "expected"), [("maxp", [-1, -5]), ("birch-passage", [-2, -5])])
def test_padding_does_not_win_over_negative_scores(name: str, expected: list[float], encoders: Encoders) -> None:
    assert made(name, encoders).aggregate(*scored([-1.0, -3, -2, -4], [-5.0])).tolist() == pytest.approx(expected)


def test_maxp_shares_the_win_among_equal_passages(encoders: Encoders) -> None:
    assert made("maxp", encoders).contributions(*scored([2.0, 2, 1])).tolist() == [[0.5, 0.5, 0]]


def test_birch_takes_the_worst_passage_for_those_that_are_missing(encoders: Encoders) -> None:
    import torch

    network = made("birch-passage", encoders)
    network.best.weight.data = torch.tensor([[1.0, 0.1, 0.01]])
    given = scored([7.0, 9, 8, 1], [4.0, 6], [2.0])
    assert network.aggregate(*given).tolist() == pytest.approx([9.87, 6.44, 2.22])
    assert network.contributions(*given)[:2].flatten().tolist() == pytest.approx([0.01, 1, 0.1, 0, 0.11, 1, 0, 0])


def test_birch_begins_with_a_mean_or_a_sum_of_k(encoders: Encoders) -> None:
    assert made("birch-passage", encoders, k=2).aggregate(*scored([1.0, 5, 3])).item() == pytest.approx(4)
    ones = made("birch-passage", encoders, k=2, initial="ones")
    assert ones.aggregate(*scored([1.0, 5, 3])).item() == pytest.approx(8)


def test_the_weights_of_birch_and_the_passages_it_chose_get_gradients(encoders: Encoders) -> None:
    scores, mask = scored([1.0, 5, 3, 4])
    scores.requires_grad_()
    network = made("birch-passage", encoders)
    network.aggregate(scores, mask).sum().backward()
    assert scores.grad.tolist()[0] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    assert network.best.weight.grad.tolist()[0] == [5, 4, 3]


def classifier(folder: Path, family: str = "bert", n_outputs: int = 1) -> Any:
    import transformers

    save_cross_encoder(folder, family, n_outputs)
    return transformers.AutoModelForSequenceClassification.from_pretrained(folder)


@pytest.mark.parametrize(("n_outputs", "score"), [(1, "logit"), (2, "logit"), (2, "logit_diff")])
def test_a_classifier_keeps_its_head(n_outputs: int, score: str, tmp_path: Path) -> None:
    import torch

    from longrank.models.create import create_network

    model = classifier(tmp_path / "m", n_outputs=n_outputs).eval()
    given = features(3)
    with torch.inference_mode():
        logits = model(input_ids=given["input_ids"], attention_mask=given["attention_mask"]).logits
        network = create_network("maxp", model, {"score": score})
        expected = logits[:, 1] - logits[:, 0] if score == "logit_diff" else logits[:, -1]
        assert torch.equal(network.encode(given), expected)
    assert network.unit == score


def test_other_networks_take_the_encoder_of_a_classifier(tmp_path: Path) -> None:
    from longrank.models.create import create_network

    model = classifier(tmp_path / "m")
    assert create_network("parade-avg", model).encoder is model.bert


def test_a_head_of_another_kind_is_refused(tmp_path: Path) -> None:
    import torch

    from longrank.models.create import create_network

    model = classifier(tmp_path / "m", "electra")
    model.classifier = torch.nn.Sequential(torch.nn.Linear(16, 16), model.classifier)
    with pytest.raises(InputError, match=r"head is not the stock one.*begin with its encoder"):
        create_network("maxp", model)


@pytest.mark.parametrize(
    ("n_outputs", "options", "message"),
    [
        (1, {"outputs": 2}, r"another number of outputs than 2 \(got 1\)"),
        (3, {}, r"another number of outputs than 1 or 2 \(got 3\)"),
        (1, {"score": "logit_diff"}, "one output has no difference"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(n_outputs: int, options, message: str, tmp_path: Path) -> None:
    from longrank.models.create import create_network

    with pytest.raises(InputError, match=message):
        create_network("maxp", classifier(tmp_path / "m", n_outputs=n_outputs), options)


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert"])
@pytest.mark.parametrize("name", ["maxp", "birch-passage"])
def test_a_saved_network_is_a_cross_encoder_with_the_same_passage_scores(
    name: str, family: str, encoders: Encoders, tmp_path: Path
) -> None:
    import torch
    from sentence_transformers import CrossEncoder

    from longrank.models.create import create_network
    from longrank.models.folders import save_network

    encoder, tokenizer = encoders.read(family)
    network = create_network(name, encoder)
    save_network(tmp_path / "m", network, tokenizer)
    pairs = [("river bank", "the bank of a river"), ("river bank", "money"), ("moon", "fish boat water")]
    theirs = CrossEncoder(str(tmp_path / "m"), device="cpu").predict(pairs, activation_fn=torch.nn.Identity())
    queries, passages = zip(*pairs, strict=True)
    with torch.inference_mode():
        ours = network.encode(tokenizer(list(queries), list(passages), padding=True, return_tensors="pt"))
    assert ours.tolist() == pytest.approx(theirs.tolist(), rel=1e-4, abs=1e-6)


def test_a_saved_network_is_a_cross_encoder_of_ours_too(encoders: Encoders, tmp_path: Path) -> None:
    import torch

    from longrank.models.create import create_network
    from longrank.models.folders import save_network
    from longrank.scoring import make_scorer
    from tiny_models import task

    encoder, tokenizer = encoders.read("bert")
    network = create_network("maxp", encoder)
    save_network(tmp_path / "m", network, tokenizer)
    texts = ["the bank of a river", "money"]
    options = {"allow_untrained": True}
    scorer: Any = make_scorer("cross-encoder", index=None, model=str(tmp_path / "m"), options=options)  # type: ignore[arg-type]
    ours = scorer.score([task("river bank", texts)])[0].scores
    with torch.inference_mode():
        theirs = network.encode(tokenizer(["river bank"] * 2, texts, padding=True, return_tensors="pt"))
    assert ours.tolist() == pytest.approx(theirs.tolist(), rel=1e-4, abs=1e-6)
