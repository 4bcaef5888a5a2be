"""Dense layers by oneDNN that learn: values and gradients are those of PyTorch's own."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.neural

SHAPES = ((5, 12), (3, 7, 12), (2, 300, 12))


def both(shape: tuple[int, ...], *, bias: bool = True) -> tuple[list[object], list[object]]:
    """Return output and gradients (of input, weight, bias) of PyTorch's layer and of ours, for the same loss."""
    import torch

    from longrank.training.dense import use_onednn

    found = []
    for ours in (False, True):
        torch.manual_seed(0)
        layer, x = torch.nn.Linear(shape[-1], 8, bias=bias), torch.randn(shape, requires_grad=True)
        if ours:
            use_onednn(layer)
        y = layer(x)
        (y * torch.randn(y.shape)).sum().backward()
        found.append([y, x.grad, *(values.grad for values in layer.parameters())])
    return found[0], found[1]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bias", [True, False])
def test_outputs_and_gradients_are_those_of_pytorch(shape: tuple[int, ...], bias: bool) -> None:
    import torch

    expected, found = both(shape, bias=bias)
    assert len(found) == (4 if bias else 3)
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other, one, atol=1e-4, rtol=1e-4)


def test_the_same_input_gives_the_same_bytes() -> None:
    import torch

    for one, other in zip(both((2, 300, 12))[1], both((2, 300, 12))[1], strict=True):
        assert torch.equal(one, other)


def test_what_is_frozen_gets_no_gradient() -> None:
    import torch

    from longrank.training.dense import use_onednn

    layer, x = torch.nn.Linear(12, 8), torch.ones(2, 12, requires_grad=True)
    layer.weight.requires_grad = False
    use_onednn(layer)
    layer(x).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(2, 12))
    assert layer.bias.grad.tolist() == [2.0] * 8


def test_in_bf16_pytorch_computes() -> None:
    import torch

    from longrank.training.dense import use_onednn

    torch.manual_seed(0)
    layer, x = torch.nn.Linear(12, 8), torch.randn(5, 12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = layer(x)
        use_onednn(layer)
        found = layer(x)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, expected)


@pytest.mark.parametrize("rows", [1, 5, 64])
def test_what_comes_out_may_be_written_to(rows: int) -> None:
    """As Longformer scales its queries in place."""
    import torch

    from longrank.training.dense import use_onednn

    layer, x = torch.nn.Linear(12, 8, bias=False), torch.ones(rows, 12)
    use_onednn(layer)
    y = layer(x)
    y /= 2.0
    y.sum().backward()
    torch.testing.assert_close(layer.weight.grad, torch.full((8, 12), rows / 2))
