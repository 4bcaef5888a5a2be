"""PARADE's aggregators: identities between them, and their options."""

from __future__ import annotations

from typing import Any

import pytest

from document_networks import Encoders, features, scaled_up, vectors
from longrank.errors import InputError

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("encoders"))


def made(kind: str, encoders: Encoders, family: str = "bert", **options: Any) -> Any:
    from longrank.models.create import create_network

    encoder, tokenizer = encoders.read(family)
    return create_network(f"parade-{kind}", encoder, options, tokenizer=tokenizer)


def with_head_of(network: Any, other: Any) -> Any:
    network.head.load_state_dict(other.head.state_dict())
    return network


def test_of_one_passage_max_sum_avg_and_attn_are_the_same(encoders: Encoders) -> None:
    import torch

    one = scaled_up(made("max", encoders))
    passages, mask = vectors(1, 1, 1)
    for kind in ("sum", "avg", "attn"):
        other = with_head_of(scaled_up(made(kind, encoders)), one)
        assert torch.equal(other.aggregate(passages, mask), one.aggregate(passages, mask))


def test_attn_with_zero_weights_is_avg(encoders: Encoders) -> None:
    import torch

    avg = scaled_up(made("avg", encoders))
    attn = with_head_of(made("attn", encoders), avg)
    torch.nn.init.zeros_(attn.attention.weight)
    given = vectors(2, 5, 1)
    assert torch.allclose(attn.aggregate(*given), avg.aggregate(*given), atol=1e-6)
    assert torch.allclose(attn.contributions(*given)[0], torch.tensor([0.5, 0.5, 0, 0, 0]))


@pytest.mark.parametrize(("kind", "ordered"), [("max", False), ("attn", False), ("transformer", True), ("cnn", True)])
def test_the_order_of_passages_matters_to_transformer_and_cnn(kind: str, ordered: bool, encoders: Encoders) -> None:
    import torch

    network = scaled_up(made(kind, encoders))
    passages, mask = vectors(4)
    same = torch.allclose(network.aggregate(passages.flip(1), mask), network.aggregate(passages, mask), atol=1e-5)
    assert same is not ordered


def test_without_position_embeddings_the_transformer_ignores_the_order(encoders: Encoders) -> None:
    import torch

    network = scaled_up(made("transformer", encoders, positions=0))
    passages, mask = vectors(7)
    assert torch.allclose(network.aggregate(passages.flip(1), mask), network.aggregate(passages, mask), atol=1e-5)
    assert network.max_passages is None


def test_max_says_who_won_how_many_dimensions(encoders: Encoders) -> None:
    import torch

    passages = torch.zeros(1, 3, 16)
    passages[0, 0, :4], passages[0, 1, 4:], passages[0, 2] = 1, 1, -1
    found = made("max", encoders).contributions(passages, torch.ones(1, 3, dtype=torch.bool))
    assert found.tolist() == [[0.25, 0.75, 0]]


def test_the_contributions_of_a_sum_are_what_the_head_makes_of_each_passage(encoders: Encoders) -> None:
    import torch

    network = scaled_up(made("sum", encoders))
    passages, mask = vectors(4)
    expected = passages @ network.head.weight[0]
    assert torch.allclose(network.contributions(passages, mask), expected, atol=1e-4)


def test_the_aggregators_cls_begins_as_the_encoders_and_is_trained_apart(encoders: Encoders) -> None:
    import torch

    words = encoders.read("bert")[0].get_input_embeddings().weight
    assert torch.equal(made("transformer", encoders).cls[0], words[2])  # [CLS] of the tiny vocabulary
    assert torch.equal(made("transformer", encoders, start="sep").cls[0], words[3])
    assert made("transformer", encoders).cls.requires_grad
    assert not made("transformer", encoders, start_trained=False).cls.requires_grad


@pytest.mark.parametrize(
    ("family", "projection"), [("electra", "embeddings_project"), ("albert", "encoder.embedding_hidden_mapping_in")]
)
def test_narrow_word_embeddings_go_through_the_encoders_projection(
    family: str, projection: str, encoders: Encoders
) -> None:
    import torch

    encoder = encoders.read(family)[0]
    expected = encoder.get_submodule(projection)(encoder.get_input_embeddings().weight[2])
    assert torch.equal(made("transformer", encoders, family).cls[0], expected)


def test_the_transformer_has_the_encoders_dimensions(encoders: Encoders) -> None:
    for family in ("bert", "distilbert"):
        network = made("transformer", encoders, family)
        assert [layer.linear1.out_features for layer in network.layers] == [32, 32]
        assert network.layers[0].self_attn.num_heads == 2
        assert not network.layers[0].norm_first


def test_relu_and_gelu_differ(encoders: Encoders) -> None:
    import torch

    given = vectors(4)
    relu, gelu = (scaled_up(made("transformer", encoders, activation=one)) for one in ("relu", "gelu"))
    assert not torch.allclose(relu.aggregate(*given), gelu.aggregate(*given), atol=1e-4)


def test_two_outputs_are_logits_for_training_and_a_log_probability_as_the_score(encoders: Encoders) -> None:
    import torch

    network = scaled_up(made("avg", encoders, outputs=2, dropout=0.1))
    given = vectors(3, 2)
    logits = network.logits(*given)
    assert logits.shape == (2, 2)
    assert torch.allclose(network.aggregate(*given), logits.log_softmax(1)[:, 1])
    doubled = logits.double()
    largest = float((doubled[:, 1] - doubled[:, 0]).abs().max().detach())
    for factor in (1, 20 / largest, 80 / largest):  # far apart, as after long training: no two documents are equal
        network.logits = lambda *_, factor=factor: logits * factor
        wanted = -torch.logaddexp(torch.zeros(1, dtype=torch.float64), factor * (doubled[:, 0] - doubled[:, 1]))
        assert torch.allclose(network.aggregate(*given).double(), wanted, rtol=1e-4, atol=0)
    assert network.unit == "logprob"
    assert made("avg", encoders).unit == "logit"


def test_dropout_acts_in_training_only(encoders: Encoders) -> None:
    import torch

    network = made("avg", encoders, dropout=0.5)
    given = vectors(3, 2)
    assert torch.equal(network.aggregate(*given), network.aggregate(*given))
    network.train()
    assert not torch.equal(network.aggregate(*given), network.aggregate(*given))


def test_a_pooler_is_kept_where_it_is_read_and_wanted_where_it_is_asked_for(encoders: Encoders) -> None:
    assert made("max", encoders, vector="pooled").encoder.pooler is not None
    assert made("max", encoders).encoder.pooler is None
    with pytest.raises(InputError, match=r"^the encoder has no pooler.*use vector = cls$"):
        made("max", encoders, "electra", vector="pooled")


def test_cnn_scores_a_document_alike_beside_a_longer_one_that_needs_more_layers(encoders: Encoders) -> None:
    import torch

    for score in ("sum", "layer_max"):
        network = scaled_up(made("cnn", encoders, shared=True, score=score))
        passages, mask = vectors(3, 2, 1, 33)
        together = network.aggregate(passages, mask)
        for n, size in enumerate((3, 2, 1, 33)):
            alone = network.aggregate(passages[n : n + 1, :size], mask[n : n + 1, :size])
            assert torch.allclose(alone[0], together[n], rtol=1e-4, atol=1e-5)


def test_the_unshared_cnn_has_four_layers_and_the_shared_one_one(encoders: Encoders) -> None:
    assert len(made("cnn", encoders).convolutions) == 4
    shared = made("cnn", encoders, shared=True)
    assert len(shared.convolutions) == 1
    assert shared.max_passages is None


def test_features_of_other_networks_are_ignored(encoders: Encoders) -> None:
    import torch

    given = features(2)
    assert "query_mask" in given
    few = {name: given[name] for name in ("input_ids", "attention_mask")}
    network = made("avg", encoders)
    assert torch.equal(network.encode(given), network.encode(few))
