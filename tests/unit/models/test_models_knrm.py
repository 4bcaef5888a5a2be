"""Kernels: what a row holds, which tokens count, and that a document is the sum of its passages."""

from __future__ import annotations

import math
from typing import Any

import pytest

from document_networks import N_QUERY, Encoders, features, scaled_up, vectors
from longrank.errors import InputError

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("encoders"))


def made(encoders: Encoders, name: str = "knrm", family: str = "bert", **options: Any) -> Any:
    from longrank.models.create import create_network

    return create_network(name, encoders.read(family)[0], options)


def test_a_row_says_which_of_its_tokens_are_there_and_counts_matches(encoders: Encoders) -> None:
    network = made(encoders, max_query_tokens=5)
    rows = network.encode(features(2)).detach()
    layers, kernels = 3, 11
    assert rows.shape == (2, 5 + 5 * layers * kernels)
    assert rows[0, :5].tolist() == [1, 1, 1, 0, 0]
    counts = rows[:, 5:].view(2, 5, layers, kernels)
    assert (counts[:, :N_QUERY] >= 0).all()
    assert not counts[:, N_QUERY:].any()


def test_a_query_token_that_is_in_the_passage_is_an_exact_match_of_the_last_kernel(encoders: Encoders) -> None:
    """Layer 0 without positions, so that equal tokens have equal vectors."""
    import torch

    network = made(encoders)
    torch.nn.init.zeros_(network.encoder.embeddings.position_embeddings.weight)
    given = features(1)
    given["input_ids"][0, N_QUERY + 2] = given["input_ids"][0, 2]  # the first of the passage is the second of the query
    rows = network.encode(given).detach()
    counts = rows[0, 64:].view(64, 3, 11)[:N_QUERY, 0, -1]
    assert counts[1].item() == pytest.approx(1, abs=1e-3)


def test_matches_are_as_exact_in_mixed_precision(encoders: Encoders) -> None:
    """A network that learns in bf16 is validated in float32, where the exact kernel tells .998 from 1."""
    import torch

    network = made(encoders)
    angles = torch.tensor([0.0, *(math.acos(cosine) for cosine in (0.999, 0.998, 0.997, 0.5))])
    states = torch.stack([angles.cos(), angles.sin()], dim=1)[None]
    given = (states, torch.tensor([[0]]), torch.tensor([[False, True, True, True, True]]))
    wanted = network._soft_counts(*given)
    with torch.autocast("cpu", torch.bfloat16):
        found = network._soft_counts(*given)
    assert torch.equal(found, wanted)
    exact = sum(math.exp(-((1 - cosine) ** 2) / 2e-6) for cosine in (0.999, 0.998, 0.997))
    assert wanted[0, 0, -1].item() == pytest.approx(exact, abs=1e-3)


def test_a_document_without_any_word_gets_the_floor(encoders: Encoders) -> None:
    import torch

    network = made(encoders, max_query_tokens=2, layers="last", log_floor=1e-4, log_scale=0.5)
    rows = torch.tensor([[[1.0, 1] + [0] * 22], [[1.0, 0] + [0] * 22]])  # two tokens of a query, and one
    found = network._counted(rows)
    expected = torch.tensor([[2.0], [1.0]]) * math.log(1e-4) * 0.5
    assert torch.allclose(found, expected.expand(2, 11))


def test_the_counts_of_two_passages_add_up(encoders: Encoders) -> None:
    import torch

    network = scaled_up(made(encoders, max_query_tokens=4))
    rows = network.encode(features(2)).detach()
    joined = torch.cat([rows[:1, :4], rows[:1, 4:] + rows[1:, 4:]], dim=1)
    both, one = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 1, dtype=torch.bool)
    assert torch.allclose(network.aggregate(rows[None], both), network.aggregate(joined[None], one), rtol=1e-5)


def test_words_outside_query_and_passage_do_not_count(encoders: Encoders) -> None:
    """Separators, [CLS] and padding: the encoder attends to them, the kernels do not see their vectors."""
    import torch

    network = made(encoders)
    given = features(3)
    hidden = [torch.randn(3, 14, 16) for _ in range(3)]
    noisy = [one.clone() for one in hidden]
    for one in noisy:
        one[~(given["query_mask"] | given["passage_mask"])] = 7.0
    assert torch.equal(network._matched(given, noisy), network._matched(given, hidden))


def test_separators_count_as_tokens_if_asked(encoders: Encoders) -> None:
    network = made(encoders, separators=True, max_query_tokens=5)
    rows = network.encode(features(1)).detach()
    assert rows[0, :6].tolist() == [1, 1, 1, 1, 0, 0]  # room for the separator, too


def test_the_separator_of_an_empty_passage_counts_as_that_of_another(encoders: Encoders) -> None:
    import torch

    network = made(encoders, separators=True, max_query_tokens=5)
    given = features(2)
    end = N_QUERY + 3  # [CLS], the query, two separators
    given["passage_mask"][1] = 0
    given["attention_mask"][1] = (torch.arange(given["attention_mask"].shape[1]) < end).to(
        given["attention_mask"].dtype
    )
    rows = network.encode(given).detach()
    states = network.encoder(
        **{name: given[name] for name in ("input_ids", "attention_mask")}, output_hidden_states=True
    ).hidden_states[0]
    separator = torch.arange(states.shape[1]) == end - 1
    counts = network._soft_counts(states[1:], torch.arange(1, N_QUERY + 2)[None], separator[None])[0]
    found = rows[1, 6:].view(6, 3, 11)[: N_QUERY + 1, 0]
    assert torch.allclose(found, counts, atol=1e-5)
    assert counts.sum() > 0


def test_a_query_longer_than_there_is_room_for_is_an_error(encoders: Encoders) -> None:
    network = made(encoders, max_query_tokens=2)
    assert network.max_query_tokens == 2
    with pytest.raises(ValueError, match="3 tokens of a query, but room for 2"):
        network.encode(features(1))


def test_the_last_layer_alone_has_fewer_kernels(encoders: Encoders) -> None:
    assert made(encoders, layers="last").combine[0].in_features == 11
    assert made(encoders).combine[0].in_features == 33
    assert made(encoders, "cedr-knrm").combine[0].in_features == 33 + 16
    assert made(encoders, combine_hidden=8).combine[1].in_features == 8


def test_kernels_are_trained_unless_told_otherwise(encoders: Encoders) -> None:
    assert made(encoders).mus.requires_grad
    fixed = made(encoders, train_kernels=False, exact_sigma=0.01)
    assert not fixed.mus.requires_grad
    assert not fixed.sigmas.requires_grad
    assert fixed.sigmas.tolist() == pytest.approx([0.1] * 10 + [0.01])


def test_vanilla_bert_is_parade_avg_with_dropout(encoders: Encoders) -> None:
    import torch

    vanilla, avg = scaled_up(made(encoders, "vanilla-bert")), scaled_up(made(encoders, "parade-avg"))
    assert vanilla.dropout.p == 0.1
    assert torch.equal(vanilla.aggregate(*vectors(3, 1)), avg.aggregate(*vectors(3, 1)))


@pytest.mark.parametrize(
    "options",
    [
        {"layers": "first"},
        {"cls": "sum"},
        {"exact_sigma": 0.0},
        {"log_floor": 0.0},
        {"log_floor": float("inf")},
        {"log_scale": float("nan")},
        {"max_query_tokens": 0},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], encoders: Encoders) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        made(encoders, "cedr-knrm", **options)
