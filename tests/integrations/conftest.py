"""The collection whose statistics the lexical pipeline takes: integrations are tested without a model."""

from __future__ import annotations

import pytest

from integrations_texts import saved_index


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an index of the documents."""
    return saved_index(tmp_path_factory.mktemp("integrations") / "index")
