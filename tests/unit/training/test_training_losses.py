"""Losses: values computed by hand, gradients by finite differences, sums of several."""

from __future__ import annotations

import math
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.training.loss_terms import LOSSES, LossTerm, loss_kind, weighted_loss

pytestmark = pytest.mark.neural


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def computed(name: str, outputs: Any, **more: Any) -> float:
    import torch

    options = more.pop("options", {})
    targets = {key: torch.tensor(value) for key, value in more.items()}
    found = weighted_loss([LossTerm(name=name, options=options)])(torch.tensor(outputs), **targets)
    return float(found)


def test_hinge_is_what_the_margin_lacks() -> None:
    pairs = [[3.0, 1.0], [1.0, 0.5], [0.0, 2.0]]  # 0, .5, 3
    assert computed("hinge", pairs) == pytest.approx(3.5 / 3)
    assert computed("hinge", pairs, options={"margin": 2.0}) == pytest.approx((0 + 1.5 + 4) / 3)


def test_pair_softmax_is_the_probability_of_the_other_document() -> None:
    assert computed("pair-softmax", [[2.0, 1.0], [0.0, 0.0]]) == pytest.approx((sigmoid(-1) + 0.5) / 2)


def test_lce_of_a_pair_is_the_logistic_loss_and_of_equal_scores_log_g() -> None:
    assert computed("lce", [[2.0, 1.0]]) == pytest.approx(math.log1p(math.exp(-1)))
    assert computed("lce", [[3.0] * 8]) == pytest.approx(math.log(8))


def test_listnet_is_the_cross_entropy_of_two_softmaxes() -> None:
    """Labels 1, 0, 0: e / (e + 2) and twice 1 / (e + 2); scores log 2, 0, 0: 1/2, 1/4, 1/4."""
    first = math.e / (math.e + 2)
    wanted = -(first * math.log(1 / 2) + (1 - first) * math.log(1 / 4))
    assert computed("listnet", [[math.log(2), 0.0, 0.0]], labels=[[1, 0, 0]]) == pytest.approx(wanted)
    assert computed("listnet", [[5.0] * 4], labels=[[3, 1, 0, 0]]) == pytest.approx(math.log(4))


def test_lambdarank_weighs_each_pair_by_its_change_of_ndcg() -> None:
    """Discounts of ranks 1 to 3: 1, 1 / log2(3), 1/2. The relevant document is second."""
    second = 1 / math.log2(3)
    wanted = (1 - second) * math.log1p(math.exp(1)) + (second - 1 / 2) * math.log1p(math.exp(-1))
    assert computed("lambdarank", [[1.0, 2.0, 0.0]], labels=[[1, 0, 0]]) == pytest.approx(wanted)
    steep = (1 - second) * math.log1p(math.exp(2)) + (second - 1 / 2) * math.log1p(math.exp(-2))
    assert computed("lambdarank", [[1.0, 2.0, 0.0]], labels=[[1, 0, 0]], options={"sigma": 2.0}) == pytest.approx(steep)


def test_lambdarank_of_grades_has_gains_of_powers_of_two() -> None:
    """Grades 2 and 1 in this order: gains 3 and 1, ideal DCG 3 + 1 / log2(3); a swap loses 2 (1 - 1 / log2(3))."""
    second = 1 / math.log2(3)
    change = 2 * (1 - second) / (3 + second)
    assert computed("lambdarank", [[1.5, 0.5]], labels=[[2, 1]]) == pytest.approx(change * math.log1p(math.exp(-1)))
    assert computed("lambdarank", [[1.5, 0.5]], labels=[[0, 0]]) == 0


def test_cross_entropy_of_two_logits_is_that_of_one_which_is_their_difference() -> None:
    wanted = (-math.log(sigmoid(1.5)) - math.log(sigmoid(-0.5))) / 2
    assert computed("cross-entropy", [[0.5, 2.0], [1.0, 1.5]], labels=[1, 0]) == pytest.approx(wanted)
    assert computed("cross-entropy", [[1.5], [0.5]], labels=[1, 0]) == pytest.approx(wanted)


def test_cross_entropy_at_a_temperature_is_that_of_divided_logits() -> None:
    at = computed("cross-entropy", [[0.0, 20.0]], labels=[0], options={"temperature": 10.0})
    assert at == pytest.approx(math.log1p(math.exp(2)))


def test_triplet_compares_euclidean_distances() -> None:
    triplets = [[[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, 0.0], [0.0, 9.0]]]  # 5 - 2 + 5, 1 - 9 + 5
    assert computed("triplet", triplets) == pytest.approx((8 + 0) / 2)
    assert computed("triplet", triplets, options={"margin": 10.0}) == pytest.approx((13 + 2) / 2)


def test_triplet_of_equal_vectors_has_a_finite_gradient() -> None:
    import torch

    vectors = torch.ones(1, 3, 4, requires_grad=True)
    loss = weighted_loss([LossTerm(name="triplet")])(vectors)
    loss.backward()
    assert float(loss.detach()) == 5
    assert vectors.grad is not None
    assert vectors.grad.isfinite().all()


def test_mse_is_the_mean_over_logits_and_margin_mse_sees_differences_only() -> None:
    assert computed("mse", [[1.0, 2.0]], teacher=[[0.0, 4.0]]) == pytest.approx((1 + 4) / 2)
    assert computed("margin-mse", [[5.0, 3.0]], teacher=[[1.0, -2.0]]) == pytest.approx((2 - 3) ** 2)
    assert computed("margin-mse", [[5.0, 3.0]], teacher=[[102.0, 100.0]]) == 0


def test_soft_cross_entropy_is_scaled_by_the_squared_temperature() -> None:
    p = sigmoid(2.0)  # of the second logit: teacher (0, 4) at T = 2
    wanted = 4 * -(p * math.log(sigmoid(0.5)) + (1 - p) * math.log(sigmoid(-0.5)))
    found = computed("soft-cross-entropy", [[1.0, 2.0]], teacher=[[0.0, 4.0]], options={"temperature": 2.0})
    assert found == pytest.approx(wanted)


def test_kl_divides_the_teachers_scores_alone_and_is_nothing_for_equal_distributions() -> None:
    p = sigmoid(4.0)
    wanted = p * math.log(p / 0.5) + (1 - p) * math.log((1 - p) / 0.5)
    options = {"temperature": 0.05}
    assert computed("kl", [[7.0, 7.0]], teacher=[[0.7, 0.5]], options=options) == pytest.approx(wanted)
    assert computed("kl", [[14.0, 10.0]], teacher=[[0.7, 0.5]], options=options) == pytest.approx(0, abs=1e-6)


def test_parades_distillation_is_a_weighted_sum() -> None:
    import torch

    logits, labels, teacher = torch.tensor([[0.5, 2.0]]), torch.tensor([1]), torch.tensor([[0.0, 4.0]])
    alpha = 0.75
    loss = weighted_loss([LossTerm(name="cross-entropy", weight=alpha), LossTerm(name="mse", weight=1 - alpha)])
    hard, soft = -math.log(sigmoid(1.5)), (0.25 + 4) / 2
    assert float(loss(logits, labels=labels, teacher=teacher)) == pytest.approx(alpha * hard + (1 - alpha) * soft)


def test_distillation_paper_is_cross_entropy_and_the_summed_squared_distance_of_two_logits() -> None:
    import torch

    from longrank.training.settings import load_document_training

    terms = load_document_training("distillation-paper").loss
    assert [(term.name, term.weight) for term in terms] == [("cross-entropy", 0.75), ("squared-distance", 0.25)]
    logits, labels, teacher = torch.tensor([[0.5, 2.0]]), torch.tensor([1]), torch.tensor([[0.0, 4.0]])
    wanted = 0.75 * -math.log(sigmoid(1.5)) + 0.25 * (0.25 + 4)  # 0.5^2 + 2^2
    assert float(weighted_loss(terms)(logits, labels=labels, teacher=teacher)) == pytest.approx(wanted)


def test_parades_soft_distillation_computes_the_hard_loss_on_divided_logits_too() -> None:
    import torch

    logits, labels, teacher = torch.tensor([[0.0, 10.0]]), torch.tensor([1]), torch.tensor([[0.0, 20.0]])
    loss = weighted_loss(
        [
            LossTerm(name="cross-entropy", weight=0.75, options={"temperature": 10.0}),
            LossTerm(name="soft-cross-entropy", weight=0.25),
        ]
    )
    p = sigmoid(2.0)
    soft = -(p * math.log(sigmoid(1.0)) + (1 - p) * math.log(sigmoid(-1.0)))
    wanted = 0.75 * -math.log(sigmoid(1.0)) + 0.25 * 100 * soft
    assert float(loss(logits, labels=labels, teacher=teacher)) == pytest.approx(wanted)


def inputs_of(name: str, seed: int = 0) -> tuple[Any, dict[str, Any]]:
    import torch

    kind, generator = LOSSES[name], torch.Generator().manual_seed(seed)
    shape = {"vectors": (4, 3, 5), "logits": (4, 2), "scores": (4, kind.group or 5)}[kind.reads]
    outputs = torch.randn(shape, generator=generator) * 2
    labels = torch.tensor([1, 0, 0, 1])
    if kind.reads == "scores":
        labels = torch.tensor([[2, 1, 0, 0, 1], [1, 0, 0, 0, 0], [3, 0, 1, 0, 0], [0, 1, 0, 2, 0]])
    targets = {"labels": labels, "teacher": torch.randn(shape, generator=generator)}
    return outputs, {kind.needs: targets[kind.needs]} if kind.needs else {}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    import torch

    outputs, targets = inputs_of(name)
    loss = weighted_loss([LossTerm(name=name)])
    outputs.requires_grad_()
    loss(outputs, **targets).backward()
    step = 1e-2
    for place in torch.cartesian_prod(*map(torch.arange, outputs.shape))[:12]:
        change = torch.zeros_like(outputs)
        change[tuple(place)] = step
        with torch.no_grad():
            slope = (loss(outputs + change, **targets) - loss(outputs - change, **targets)) / (2 * step)
        assert float(outputs.grad[tuple(place)]) == pytest.approx(float(slope), abs=5e-3, rel=5e-3)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_are_computed_in_float32_whatever_they_read(name: str) -> None:
    import torch

    outputs, targets = inputs_of(name)
    loss = weighted_loss([LossTerm(name=name)])
    half = outputs.to(torch.bfloat16)
    assert loss(half, **targets).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss(half, **targets), loss(half.float(), **targets))


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ([], "a training needs a loss"),
        ([LossTerm(name="hinges")], "did you mean 'hinge'?"),
        ([LossTerm(name="hinge", options={"margins": 1.0})], "did you mean 'margin'?"),
        ([LossTerm(name="lce", options={"margin": 1.0})], "leave it out"),
        ([LossTerm(name="kl", options={"temperature": 0.0})], "must be positive"),
        ([LossTerm(name="hinge"), LossTerm(name="mse")], "read different outputs"),
    ],
)
def test_wrong_losses_are_refused_in_one_line(terms: list[LossTerm], says: str) -> None:
    with pytest.raises(InputError) as caught:
        weighted_loss(terms)
    assert says in str(caught.value)


def test_a_term_says_what_it_needs() -> None:
    kind = loss_kind(LossTerm(name="soft-cross-entropy"))
    assert (kind.reads, kind.outputs, kind.needs) == ("logits", (2,), "teacher")
