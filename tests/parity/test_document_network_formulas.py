"""Scores of document networks against plain numpy in float64, written from the papers' formulas.

Li et al. 2020 (PARADE), section 3.2; Xiong et al. 2017 (KNRM) and MacAvaney et al. 2019 (CEDR-KNRM), whose kernels see
a document's similarity matrix in one piece. Nothing here is the module's but its weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from document_networks import Encoders, features, scaled_up, vectors

pytestmark = pytest.mark.neural

Array = NDArray[np.float64]
SIZES = (3, 1, 16, 6)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("encoders"))


def made(name: str, encoders: Encoders, **options: Any) -> tuple[Any, dict[str, Array]]:
    """Return a network with large random weights, and those in float64."""
    from longrank.models.create import create_network

    network = scaled_up(create_network(name, encoders.read("bert")[0], options))
    return network, {key: values.double().numpy() for key, values in network.state_dict().items()}


def scores(network: Any, passages: Any, mask: Any) -> Array:
    import torch

    with torch.inference_mode():
        return np.asarray(network.aggregate(passages, mask).double())


def documents(passages: Any, mask: Any) -> list[Array]:
    return [rows[: int(kept.sum())].double().numpy() for rows, kept in zip(passages, mask, strict=True)]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def check(network: Any, expected: Any, *sizes: int) -> None:
    passages, mask = vectors(*(sizes or SIZES))
    wanted = [expected(document) for document in documents(passages, mask)]
    np.testing.assert_allclose(scores(network, passages, mask), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["max", "sum", "avg"])
def test_parade_max_sum_and_avg(kind: str, encoders: Encoders) -> None:
    network, w = made(f"parade-{kind}", encoders)
    reduce = {"max": np.max, "sum": np.sum, "avg": np.mean}[kind]
    check(network, lambda p: w["head.weight"][0] @ reduce(p, axis=0) + w["head.bias"][0])


def test_parade_attn(encoders: Encoders) -> None:
    network, w = made("parade-attn", encoders)

    def expected(p: Array) -> float:
        weights = softmax(p @ w["attention.weight"][0])
        return float(w["head.weight"][0] @ (weights @ p) + w["head.bias"][0])

    check(network, expected)


def test_two_outputs_give_the_log_probability_of_the_second(encoders: Encoders) -> None:
    network, w = made("parade-max", encoders, outputs=2, dropout=0.1)
    check(network, lambda p: np.log(softmax(w["head.weight"] @ p.max(0) + w["head.bias"])[1]))


def norm(x: Array, weight: Array, bias: Array) -> Array:
    variance = ((x - x.mean(-1, keepdims=True)) ** 2).mean(-1, keepdims=True)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(variance + 1e-12) * weight + bias


def transformer(p: Array, w: dict[str, Array], heads: int) -> Array:
    """Vaswani et al. 2017, post-norm, ReLU; x_0 = [CLS], p_1, .., p_n, plus position embeddings if any."""
    x = np.vstack([w["cls"], p])
    x = x + w["positions.weight"][: len(x)] if "positions.weight" in w else x
    width = x.shape[1] // heads
    for n in range(2):
        part = {key.removeprefix(f"layers.{n}."): one for key, one in w.items() if key.startswith(f"layers.{n}.")}
        q, k, v = np.split(x @ part["self_attn.in_proj_weight"].T + part["self_attn.in_proj_bias"], 3, axis=1)
        attended = np.empty_like(x)
        for head in range(heads):
            at = slice(head * width, (head + 1) * width)
            attended[:, at] = softmax(q[:, at] @ k[:, at].T / np.sqrt(width)) @ v[:, at]
        attended = attended @ part["self_attn.out_proj.weight"].T + part["self_attn.out_proj.bias"]
        x = norm(x + attended, part["norm1.weight"], part["norm1.bias"])
        inner = np.maximum(x @ part["linear1.weight"].T + part["linear1.bias"], 0)
        x = norm(x + inner @ part["linear2.weight"].T + part["linear2.bias"], part["norm2.weight"], part["norm2.bias"])
    return x[0]


@pytest.mark.parametrize("positions", [0, 16])
def test_parade_transformer(positions: int, encoders: Encoders) -> None:
    network, w = made("parade-transformer", encoders, positions=positions)
    check(network, lambda p: w["head.weight"][0] @ transformer(p, w, heads=2) + w["head.bias"][0])


def feed_forward(x: Array, w: dict[str, Array]) -> float:
    hidden = np.maximum(w["hidden.weight"] @ x + w["hidden.bias"], 0)
    return float(w["head.weight"][0] @ hidden + w["head.bias"][0])


def convolved(p: list[Array], kernel: Array, bias: Array) -> list[Array]:
    """One layer; `kernel` is [out, in, 2]. A vector without a neighbour is joined with zeros."""
    pairs = [(one, other) for one, other in zip(p[::2], [*p[1::2], np.zeros_like(p[0])], strict=False)]
    return [kernel[:, :, 0] @ one + kernel[:, :, 1] @ other + bias for one, other in pairs]


@pytest.mark.parametrize("score", ["sum", "layer_max"])
@pytest.mark.parametrize("shared", [False, True])
def test_parade_cnn(score: str, shared: bool, encoders: Encoders) -> None:
    network, w = made("parade-cnn", encoders, shared=shared, score=score)

    def expected(p: Array) -> float:
        layers = [list(p)]
        n_layers = 4 if not shared else max(1, int(np.ceil(np.log2(len(p)))))
        for n in range(n_layers):
            which = 0 if shared else n
            layers.append(convolved(layers[-1], w[f"convolutions.{which}.weight"], w[f"convolutions.{which}.bias"]))
        found = [[feed_forward(vector, w) for vector in layer] for layer in layers]
        return sum(map(sum, found[1:])) if score == "sum" else sum(map(max, found))

    check(network, expected, *(1, 2, 3, 5, 16), *([21] if shared else []))


def test_birch_passage(encoders: Encoders) -> None:
    network, w = made("birch-passage", encoders)
    passages, mask = vectors(*SIZES, width=())

    def expected(s: Array) -> float:
        best = sorted(s, reverse=True) + [min(s)] * 3
        return float(np.dot(w["best.weight"][0], best[:3]))

    wanted = [expected(document) for document in documents(passages, mask)]
    np.testing.assert_allclose(scores(network, passages, mask), wanted, rtol=1e-5, atol=1e-6)


MUS = np.array([-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])


def kernel_features(query: list[Array], document: list[Array], sigma: float, floor: float, scale: float) -> list[float]:
    """f of one layer; `query` and `document` hold one matrix of token vectors per passage."""
    sigmas = np.array([0.1] * 10 + [sigma])

    def unit(x: Array) -> Array:
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    matrix = np.hstack([unit(q) @ unit(d).T for q, d in zip(query, document, strict=True)])
    phi = np.exp(-((matrix[..., None] - MUS) ** 2) / (2 * sigmas**2)).sum(1)
    return list(scale * np.log(np.maximum(phi, floor)).sum(0))


def hidden_states(encoder: Any, given: dict[str, Any], every: bool) -> list[Array]:
    import torch

    inputs = {name: given[name] for name in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        outputs = encoder(**inputs, output_hidden_states=True)
    return [one.double().numpy() for one in (outputs.hidden_states if every else outputs.hidden_states[-1:])]


def combined(x: Array, w: dict[str, Array]) -> float:
    x = w["combine.0.weight"] @ x + w["combine.0.bias"]
    return float(x[0] if "combine.1.weight" not in w else w["combine.1.weight"][0] @ x + w["combine.1.bias"][0])


CAPREOLUS = {"exact_sigma": 0.01, "log_floor": 1e-10, "log_scale": 0.01, "combine_hidden": 24}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("knrm", {}),
        ("knrm", {"layers": "last"}),
        ("knrm", CAPREOLUS),
        ("knrm", {"separators": True}),
        ("cedr-knrm", {}),
        ("cedr-knrm", {"cls": "max"} | CAPREOLUS),
    ],
)
def test_knrm_and_cedr_knrm(name: str, options: dict[str, Any], encoders: Encoders) -> None:
    import torch

    network, w = made(name, encoders, **options)
    given, sizes = features(6, length=20), (4, 2)
    states = hidden_states(network.encoder, given, options.get("layers", "all") == "all")
    queries, passages = (given[key].numpy() for key in ("query_mask", "passage_mask"))
    if options.get("separators"):  # positions 1-3 are the query, 4 its separator; then the passage, and its own
        queries = np.arange(20) // 4 * np.ones((6, 1)) == 0
        queries[:, 0], queries[:, 4] = False, True
        passages = given["attention_mask"].numpy().astype(bool) & (np.arange(20) > 4)

    def expected(rows: range) -> float:
        found: list[float] = []
        for layer in states:
            query, document = [layer[n][queries[n]] for n in rows], [layer[n][passages[n]] for n in rows]
            chosen = (options.get("exact_sigma", 0.001), options.get("log_floor", 1e-6), options.get("log_scale", 1.0))
            found += kernel_features(query, document, *chosen)
        if name == "cedr-knrm":
            reduce = np.max if options.get("cls") == "max" else np.mean
            found += list(reduce(states[-1][list(rows), 0], axis=0))
        return combined(np.array(found), w)

    with torch.inference_mode():
        ours = network(given, torch.tensor(sizes)).double().numpy()
    np.testing.assert_allclose(ours, [expected(range(4)), expected(range(4, 6))], rtol=1e-5, atol=1e-5)


def test_the_encoders_vectors_are_those_of_transformers(encoders: Encoders, tmp_path: Path) -> None:
    import torch

    from longrank.models.create import create_network

    given = features(3)
    inputs = {name: given[name] for name in ("input_ids", "attention_mask")}
    plain = encoders.read("bert")[0].eval()
    with torch.inference_mode():
        outputs = plain(**inputs)
        first, pooled = outputs.last_hidden_state[:, 0], outputs.pooler_output
        for vector, wanted in (("cls", first), ("pooled", pooled)):
            network = create_network("parade-max", encoders.read("bert")[0], {"vector": vector})
            assert torch.equal(network.encode(given), wanted)
