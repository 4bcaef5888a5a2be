"""Importing the package is cheap, and the commands that need no model load none."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

HEAVY = ("torch", "transformers", "scipy", "numba", "pydantic", "typer", "ir_measures")


def loaded_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split()) & set(HEAVY)


def test_importing_longrank_loads_nothing_heavy() -> None:
    assert loaded_after("import longrank") == set()


def test_the_public_names_exist_and_are_listed() -> None:
    import longrank

    assert longrank.__all__ == sorted(longrank.__all__)
    for name in longrank.__all__:
        assert getattr(longrank, name).__name__ == {"index_files": "build"}.get(name, name)
    assert dir(longrank) == longrank.__all__
    assert longrank.__version__ == version("longrank")


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    import longrank

    with pytest.raises(AttributeError, match="no attribute 'rnak'"):
        longrank.rnak  # noqa: B018


def test_types_and_formats_load_no_torch_and_no_scipy() -> None:
    assert not loaded_after("import longrank.types, longrank.formats.trec, longrank.formats.evidence") & {
        "torch",
        "scipy",
    }


def test_the_pipeline_without_a_model_loads_no_torch() -> None:
    assert "torch" not in loaded_after("import longrank.ranking.pipeline, longrank.ranking.explain")


def test_what_models_learn_from_loads_no_torch() -> None:
    modules = ("samples", "judgments", "passages", "weak_labels", "passage_data.examples", "passage_data.microblog")
    names = ", ".join(f"longrank.training.{name}" for name in modules)
    assert not loaded_after(f"import {names}") & {"torch", "scipy", "numba"}
