"""Padding, masks and shares, whatever the network."""

from __future__ import annotations

import pytest

from document_networks import Encoders, vectors
from longrank.errors import InputError

pytestmark = pytest.mark.neural


def test_passages_end_to_end_are_put_one_document_a_row() -> None:
    import torch

    from longrank.models.network import padded

    rows, mask = padded(torch.arange(1.0, 7), torch.tensor([2, 3, 1]))
    assert rows.tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0]]
    assert mask.tolist() == [[True, True, False], [True, True, True], [True, False, False]]


def test_padding_lets_gradients_through() -> None:
    import torch

    from longrank.models.network import padded

    passages = torch.ones(3, 2, requires_grad=True)
    rows, _ = padded(passages, torch.tensor([1, 2]))
    (rows * torch.arange(1.0, 9).view(2, 2, 2)).sum().backward()
    assert passages.grad is not None
    assert passages.grad.tolist() == [[1, 2], [5, 6], [7, 8]]


def test_the_share_of_dimensions_won_is_halved_by_a_tie() -> None:
    import torch

    from longrank.models.network import won

    passages = torch.tensor([[[3.0, 1, 0, 5], [2, 4, 0, 5], [9, 9, 9, 9]]])
    assert won(passages, torch.tensor([[True, True, False]])).tolist() == [[0.5, 0.5, 0]]
    assert won(torch.tensor([[1.0, 2, 2]]), torch.ones(1, 3, dtype=torch.bool)).tolist() == [[0, 0.5, 0.5]]


@pytest.mark.parametrize("rows", [[[False, False]], [[False, True]], [[True, True], [False, False]]])
def test_a_mask_whose_passages_do_not_come_first_is_refused(rows: list[list[bool]], tmp_path) -> None:
    import torch

    from longrank.models.create import create_network

    network = create_network("parade-avg", Encoders(tmp_path).read("bert")[0])
    with pytest.raises(ValueError, match="passages first"):
        network.aggregate(torch.zeros(len(rows), 2, 16), torch.tensor(rows))
    with pytest.raises(ValueError, match="bool"):
        network.aggregate(torch.zeros(1, 2, 16), torch.ones(1, 2))


@pytest.mark.parametrize(("name", "options"), [("parade-cnn", {}), ("parade-transformer", {"positions": 16})])
def test_a_document_of_too_many_passages_is_refused_but_padding_is_not(name: str, options, tmp_path) -> None:
    import torch

    from longrank.models.create import create_network

    network = create_network(name, Encoders(tmp_path).read("bert")[0], options)
    assert network.max_passages == 16
    passages, mask = vectors(2, 16)
    wide = torch.nn.functional.pad(passages, (0, 0, 0, 4)), torch.nn.functional.pad(mask, (0, 4))
    assert torch.equal(network.aggregate(*wide), network.aggregate(passages, mask))
    message = r"^the network reads at most 16 passages of a document \(got 17\); segment with max_passages = 16$"
    for method in (network.aggregate, network.contributions):
        with pytest.raises(InputError, match=message):
            method(*vectors(2, 17))


def test_without_its_only_passage_a_document_counts_as_zero(tmp_path) -> None:
    import torch

    from longrank.models.create import create_network

    network = create_network("parade-avg", Encoders(tmp_path).read("bert")[0])
    for sizes in ((1,), (1, 3)):  # alone, and beside a longer one
        passages, mask = vectors(*sizes)
        assert torch.equal(network.contributions(passages, mask)[0, 0], network.aggregate(passages, mask)[0].detach())
