"""Whatever goes wrong while Ray connects or starts is one line, with exit code 2, and leaves nothing running."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs the extra ray")

import ray
from ray._private.utils import check_version_info

from longrank.cli.main import main
from longrank.engines.ray import Ray
from longrank.errors import InputError
from longrank.index import Index

OVERLOADED = (  # of ray/_private/node.py
    "The current node timed out during startup. This could happen because some of the raylet failed to startup or the "
    "GCS has become overloaded."
)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], list[str]]:
    """Let `ray.init` raise; the list tells whether what has started was ended."""

    def fail(error: Exception) -> list[str]:
        ended: list[str] = []

        def init(**options: object) -> None:
            raise error

        monkeypatch.setattr(ray, "is_initialized", lambda: False)
        monkeypatch.setattr(ray, "init", init)
        monkeypatch.setattr(ray, "shutdown", lambda: ended.append("shutdown"))
        return ended

    return fail


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def line(address: str) -> str:
    with pytest.raises(InputError) as caught:
        Ray(1, address)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Exception(OVERLOADED), OVERLOADED),
        (Exception("\nlast lines of dashboard.log:\nOSError: no space left"), "OSError: no space left"),
        (TimeoutError(), "TimeoutError"),
        (AssertionError(), "AssertionError"),
        (Exception("x" * 5000), "x" * 200 + "..."),
    ],
)
def test_a_cluster_that_does_not_start_is_one_line(failing, error: Exception, said: str) -> None:
    ended = failing(error)
    fix = "run the same again when this machine is less busy, or take --engine local --workers N"
    assert line("") == f"cannot start a Ray cluster on this machine: {said}; {fix}"
    assert ended == ["shutdown"]


def test_a_cluster_of_other_versions_is_named_with_both(failing) -> None:
    with pytest.raises(RuntimeError) as caught:
        check_version_info({"ray_version": "2.1.0", "python_version": "3.9.1"}, "node here:1")
    ended = failing(caught.value)
    said = line("auto")
    assert said.startswith("cannot connect to a Ray cluster: it has Ray 2.1.0 and Python 3.9.1, this process Ray 2.")
    assert said.endswith("(got 'auto'); `ray status` must work here; docs/scale.md tells how to start a cluster")
    assert ended == ["shutdown"]


def test_an_address_where_nobody_answers_is_one_line_at_once(failing, free_port: int) -> None:
    failing(Exception("is not asked"))
    address = f"127.0.0.1:{free_port}"
    cause = "nobody answers there: Connection refused"
    assert line(address).startswith(f"cannot connect to a Ray cluster: {cause} (got '{address}'); `ray status`")
    for wrong in ("nowhere.invalid:6379", "[::1]:0", "127.0.0.1:99999"):
        assert "nobody answers there: " in line(wrong)


def test_an_address_that_is_none_is_refused() -> None:
    assert line("nonsense").startswith("cannot connect to a Ray cluster: Invalid address format: nonsense (got ")


def test_the_command_ends_with_exit_code_2(tmp_path: Path, free_port: int, capsys) -> None:
    Index.build([("d1", "dogs bark")], tmp_path / "index")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"query_id": "1", "text": "dogs"}) + "\n")
    inputs = [str(tmp_path / "index"), str(tmp_path / "queries.jsonl"), "-o", str(tmp_path / "run")]
    assert main(["retrieve", *inputs, "--engine", f"ray=127.0.0.1:{free_port}"]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("longrank: error: cannot connect to a Ray cluster: nobody answers there: Connection refused")
    assert not (tmp_path / "run").exists()
