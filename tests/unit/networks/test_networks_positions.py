"""How many tokens a network reads, by its positions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from longrank.networks.loading import position_limit

LONG = {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [4.0]}


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, 2000),
        ({"rope_parameters": LONG | {"original_max_position_embeddings": 600}}, 600),
        ({"rope_scaling": LONG, "original_max_position_embeddings": 500}, 500),
        ({"rope_parameters": {"full_attention": LONG | {"original_max_position_embeddings": 400}}}, 400),
        ({"rope_parameters": LONG}, 2000),
        ({"rope_parameters": None}, 2000),
    ],
)
def test_texts_that_would_change_the_positions_of_others_are_too_long(config: dict[str, Any], limit: int) -> None:
    network = SimpleNamespace(config=SimpleNamespace(max_position_embeddings=2000, **config), base_model=None)
    assert position_limit(network) == limit


@pytest.mark.neural
def test_phi_3_is_read_up_to_its_first_range() -> None:
    import transformers

    rope = LONG | {"rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    shape = {"vocab_size": 30, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "pad_token_id": 0}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 200}
    first = {"original_max_position_embeddings": 60, "rope_parameters": rope | {"original_max_position_embeddings": 60}}
    assert position_limit(transformers.Phi3Model(transformers.Phi3Config(**shape, **heads, **first))) == 60
