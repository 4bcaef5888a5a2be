"""Indexes that the tests of several feedback models share."""

from __future__ import annotations

import pytest

from feedback_collections import feedback_texts, index_of, with_others
from longrank.index import Index


@pytest.fixture(scope="package")
def fruit(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_of(tmp_path_factory.mktemp("fruit"), with_others(["apple pear pear", "apple plum"]))


@pytest.fixture(scope="package")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> list[Index]:
    return [index_of(tmp_path_factory.mktemp(f"seed{seed}"), feedback_texts(seed)) for seed in range(3)]
