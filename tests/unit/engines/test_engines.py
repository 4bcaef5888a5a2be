from __future__ import annotations

import re
from pathlib import Path

import pytest

import longrank
from longrank.engines import ENGINES, Local, open_engine, parsed_resources
from longrank.engines.order import AHEAD, is_far_ahead
from longrank.engines.versions import difference, installed
from longrank.errors import InputError


def test_the_default_is_one_process_here() -> None:
    with open_engine(None) as engine:
        assert (type(engine), engine.workers) == (Local, 1)
    with open_engine("local", workers=3) as engine:
        assert engine.workers == 3


def test_an_engine_that_is_open_stays_the_same() -> None:
    engine = Local(2)
    with open_engine(engine) as same:
        assert same is engine
    with pytest.raises(InputError, match="an open engine has its workers"):
        open_engine(engine, workers=3)


def test_unknown_engines_and_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown engine .got 'rey'.; did you mean 'ray'"):
        open_engine("rey")
    with pytest.raises(InputError, match="workers must be 1 or more"):
        open_engine("local", workers=0)
    for options in ({"engine": "local=there"}, {"engine": "local", "resources": "GPU=1"}):
        with pytest.raises(InputError, match="the engine local takes no address and no resources"):
            open_engine(**options)
    assert list(ENGINES) == ["local", "ray"]


def test_resources_are_amounts_by_name() -> None:
    assert parsed_resources("GPU=1, CPU=4.5") == {"GPU": 1.0, "CPU": 4.5}
    for wrong in ("GPU", "GPU=0", "GPU=-1", "=3", "GPU=much", "CPU=inf", ""):
        with pytest.raises(InputError, match="resources are NAME=AMOUNT"):
            parsed_resources(wrong)


def test_no_more_than_a_few_results_wait_for_the_oldest_task() -> None:
    assert not is_far_ahead(5, [], 2)
    assert not is_far_ahead(2 * AHEAD - 1, [0, 7], 2)
    assert is_far_ahead(2 * AHEAD, [0, 7], 2)


def test_a_difference_of_versions_names_the_package_and_both_versions() -> None:
    ours = installed()
    assert {"Python", "longrank", "numpy"} <= ours.keys()
    assert difference(ours, dict(ours)) == ""
    assert difference(ours, {**ours, "numpy": "1.0"}) == f"numpy 1.0 instead of {ours['numpy']}"
    assert difference(ours, {name: ours[name] for name in ours if name != "numpy"}) == "no package numpy"


def test_two_modules_alone_import_ray() -> None:
    root = Path(longrank.__file__).parent
    importing = re.compile(r"^\s*(import ray\b|from ray\b)", re.MULTILINE)
    users = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if importing.search(path.read_text())}
    assert users == {"engines/connecting.py", "engines/replicas.py"}
