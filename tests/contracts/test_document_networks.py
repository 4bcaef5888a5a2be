"""Contracts of document networks: every entry of `DOCUMENT_NETWORKS`, on encoders of several families."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from document_networks import Encoders, features, scaled_up
from longrank.models import DOCUMENT_NETWORKS

pytestmark = pytest.mark.neural

SIZES = (3, 1, 5, 2)
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}
EXACT = 1e-3  # the kernel for exact matches, so narrow, makes float32's noise hundreds of times larger


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("encoders"))


@pytest.fixture(scope="module", params=["bert", "roberta", "electra"])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=DOCUMENT_NETWORKS)
def network(request: pytest.FixtureRequest, encoders: Encoders, family: str) -> Any:
    from longrank.models.create import create_network

    encoder, tokenizer = encoders.read(family)
    return create_network(request.param, encoder, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def encoded(network: Any) -> tuple[Any, Any]:
    """Passages of documents of `SIZES` passages, [B, P, *F], and their mask."""
    import torch

    from longrank.models.network import padded

    with torch.inference_mode():
        return padded(network.encode(features(sum(SIZES))), torch.tensor(SIZES))


def scores(network: Any, passages: Any, mask: Any) -> Any:
    import torch

    with torch.inference_mode():
        return network.aggregate(passages, mask)


def close(one: Any, other: Any, **tolerance: float) -> bool:
    import torch

    return bool(torch.allclose(one, other, **(TOLERANCE | tolerance)))


def test_scores_are_finite_one_per_document_and_differ(network, encoded) -> None:
    found = scores(network, *encoded)
    assert found.shape == (len(SIZES),)
    assert found.isfinite().all()
    assert len(found.unique()) == len(SIZES)


def test_training_and_two_steps_give_the_same_scores(network, encoded) -> None:
    import torch

    with torch.inference_mode():
        once = network(features(sum(SIZES)), torch.tensor(SIZES))
    assert close(once, scores(network, *encoded))


@pytest.mark.parametrize("noise", [float("nan"), 1e30])
def test_whatever_stands_in_padding_never_matters(network, encoded, noise: float) -> None:
    import torch

    passages, mask = encoded
    rows = passages.clone()
    rows[~mask] = noise
    wider = torch.cat([rows, rows.new_full((len(rows), 3, *rows.shape[2:]), noise)], dim=1)
    longer = torch.cat([mask, mask.new_zeros(len(mask), 3)], dim=1)
    assert torch.equal(scores(network, rows, mask), scores(network, passages, mask))
    assert torch.equal(scores(network, wider, longer), scores(network, passages, mask))
    found = network.contributions(wider, longer)
    assert torch.equal(found[:, : mask.shape[1]], network.contributions(passages, mask))
    assert not found[~longer].any()


def test_a_document_alone_has_the_score_it_has_among_others(network, encoded) -> None:
    passages, mask = encoded
    together = scores(network, passages, mask)
    for n, size in enumerate(SIZES):
        assert close(scores(network, passages[n : n + 1, :size], mask[n : n + 1, :size])[0], together[n])


def test_a_passage_is_encoded_alike_alone_and_in_a_batch(network) -> None:
    import torch

    given = features(4)
    with torch.inference_mode():
        together = network.encode(given)
        for n in range(4):
            length = int(given["attention_mask"][n].sum())
            alone = network.encode({name: rows[n : n + 1, :length] for name, rows in given.items()})
            assert close(alone[0], together[n], atol=EXACT)


def test_contributions_are_zero_for_padding_and_shares_sum_to_one(network, encoded) -> None:
    from longrank.models.network import SHARE

    passages, mask = encoded
    found = network.contributions(passages, mask)
    assert found.shape == mask.shape
    assert found.isfinite().all()
    assert not found[~mask].any()
    if network.contribution == SHARE:
        assert (found >= 0).all()
        assert close(found.sum(1), found.new_ones(len(SIZES)))
        assert found[1, 0] == 1  # the only passage of its document


def test_a_score_change_is_what_the_score_loses_without_the_passage(network, encoded) -> None:
    import torch

    from longrank.models.network import SCORE_CHANGE

    if network.contribution != SCORE_CHANGE:
        return
    passages, mask = encoded
    found, whole = network.contributions(passages, mask), scores(network, passages, mask)
    for n, size in enumerate(SIZES):
        for left_out in range(size):
            kept = [at for at in range(size) if at != left_out]
            every = torch.ones(1, len(kept), dtype=torch.bool)
            rest = scores(network, passages[n : n + 1, kept], every)[0] if kept else 0
            assert close(found[n, left_out], whole[n] - rest)


def test_gradients_reach_the_embeddings_and_every_weight(network) -> None:
    import torch

    network.train()
    try:
        network.zero_grad()
        network(features(sum(SIZES)), torch.tensor(SIZES)).square().sum().backward()
    finally:
        network.eval()
    assert network.get_input_embeddings().weight.grad.abs().sum() > 0
    for name, values in network.named_parameters():
        assert values.grad is not None or "token_type" in name, name
        assert values.grad is None or values.grad.isfinite().all(), name


def test_saved_and_loaded_it_gives_the_same_bits(network, encoders: Encoders, family: str, tmp_path: Path) -> None:
    import torch

    from longrank.models.folders import load_network, save_network

    save_network(tmp_path / "network", network, encoders.read(family)[1])
    loaded = load_network(tmp_path / "network")
    own, other = network.state_dict(), loaded.network.state_dict()
    assert own.keys() == other.keys()
    assert all(torch.equal(values, other[name]) for name, values in own.items())
    given = features(sum(SIZES)), torch.tensor(SIZES)
    with torch.inference_mode():
        assert torch.equal(loaded.network(*given), network(*given))
    assert loaded.record is None


def test_an_accelerated_encoder_gives_the_same_passages(network, encoders: Encoders, family: str) -> None:
    import torch

    from longrank.models.create import create_network
    from longrank.networks.dense import use_onednn
    from longrank.networks.unpadded import Unpadded, can_unpad

    encoder, tokenizer = encoders.read(family)
    fast = create_network(network.name, encoder, tokenizer=tokenizer)
    if can_unpad(fast.encoder):
        fast.encoder.forward = Unpadded(fast.encoder, first_only=fast.first_only)
    else:
        assert network.extra_features  # which reads the hidden states of all layers
        use_onednn(fast.encoder)
    with torch.inference_mode():
        assert close(fast.encode(features(6)), network.encode(features(6)), atol=EXACT)


@pytest.mark.parametrize("name", DOCUMENT_NETWORKS)
def test_the_same_seed_gives_the_same_new_weights_and_another_others(name: str, encoders: Encoders) -> None:
    import torch

    from longrank.models.create import create_network

    def weights(seed: int) -> list[Any]:
        return list(create_network(name, encoders.read("bert")[0], seed=seed).state_dict().values())

    assert all(map(torch.equal, weights(3), weights(3)))
    assert not all(map(torch.equal, weights(3), weights(4)))


@pytest.mark.parametrize("name", DOCUMENT_NETWORKS)
def test_large_weights_leave_scores_finite_and_independent_of_company(name: str, encoders: Encoders) -> None:
    import torch

    from longrank.models.create import create_network
    from longrank.models.network import padded

    large = scaled_up(create_network(name, encoders.read("bert")[0]))
    with torch.inference_mode():
        passages, mask = padded(large.encode(features(sum(SIZES))), torch.tensor(SIZES))
    found = scores(large, passages, mask)
    assert found.isfinite().all()
    assert close(scores(large, passages[2:3], mask[2:3])[0], found[2])
