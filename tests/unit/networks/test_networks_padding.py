from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from longrank.errors import InputError
from longrank.networks.model_files import Model
from longrank.networks.padding import check_padding

pytestmark = pytest.mark.neural


def test_block_sparse_attention_which_the_first_short_text_would_end_is_refused() -> None:
    network = SimpleNamespace(config=SimpleNamespace(attention_type="block_sparse"))
    with pytest.raises(InputError, match=r'block-sparse attention.*"original_full"'):
        check_padding(Model("m", Path("m"), Path("m"), "f"), network, None, lambda features: features["input_ids"], "a")
