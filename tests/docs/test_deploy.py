"""The files in deploy/ hold what their README promises, and start the command as it is."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from configparser import RawConfigParser
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.service.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions with their arguments."""
    text = (DEPLOY / "Dockerfile").read_text()
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.split("\n") if line.strip()]


def last_stage() -> dict[str, str]:
    lines = instructions()
    last = max(n for n, (name, _) in enumerate(lines) if name == "FROM")
    return dict(lines[last:])


def unit() -> dict[str, str]:
    parser = RawConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "longrank.service")
    return dict(parser["Service"])


def options_of_serve(capsys: pytest.CaptureFixture[str]) -> set[str]:
    assert main(["serve", "--help"]) == 0
    return set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


def test_the_image_is_not_root_has_a_health_check_and_starts_without_a_shell() -> None:
    stage = last_stage()
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", stage["USER"])
    assert "/health" in stage["HEALTHCHECK"]
    assert stage["ENTRYPOINT"].startswith('["longrank", "serve"')
    assert stage["CMD"].startswith("[")
    assert stage["EXPOSE"] == str(ServiceSettings().port)
    assert f":{ServiceSettings().port}/health" in stage["HEALTHCHECK"]


def test_the_image_s_parts_are_pinned() -> None:
    values = [rest for name, rest in instructions() if name == "ARG"]
    assert all(re.fullmatch(r"[A-Z]+=\d+\.\d+\.\d+[a-z0-9-]*", value) for value in values)
    assert [rest for name, rest in instructions() if name == "FROM"] == [
        "python:${PYTHON} AS build",
        "python:${PYTHON}",
    ]
    assert not any(name == "ADD" for name, _ in instructions())
    torch = re.search(r"TORCH\s*\?= torch==(\S+)", (ROOT / "Makefile").read_text())
    assert torch
    assert f"TORCH={torch[1]}" in values


def test_no_key_can_come_into_the_image() -> None:
    assert not any(
        re.search("key|secret|token|password", rest, re.I) for name, rest in instructions() if name in ("ARG", "ENV")
    )
    allowed = [
        line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n") if line.startswith("!")
    ]
    copied = [
        word for name, rest in instructions() if name == "COPY" and "--from" not in rest for word in rest.split()[:-1]
    ]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_installs_extras_that_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (named,) = re.findall(r'"\.\[([a-z,]+)\]"', (DEPLOY / "Dockerfile").read_text())
    assert set(named.split(",")) <= set(extras)


def test_both_start_the_command_with_options_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(unit()["ExecStart"]) + re.findall(
        r"--[a-z-]+", last_stage()["ENTRYPOINT"] + last_stage()["CMD"]
    )
    page = (DEPLOY / "README.md").read_text()
    words += re.findall(r"(--(?:allow-host|host|key-file|pipeline|rerank-only))\b", page)
    assert {word for word in words if word.startswith("--")} <= options_of_serve(capsys)


def test_the_unit_leaves_time_for_what_is_in_flight_and_has_limits() -> None:
    service = unit()
    assert float(service["TimeoutStopSec"]) > ServiceSettings().drain
    assert int(service["LimitNOFILE"]) > 2 * ServiceSettings().max_connections
    assert {"MemoryMax", "TasksMax", "LimitCORE"} <= set(service)
    assert service["DynamicUser"] == "yes"
    assert "LONGRANK_API_KEY" not in (DEPLOY / "longrank.service").read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    copy = tmp_path / "longrank.service"
    copy.write_text((DEPLOY / "longrank.service").read_text().replace("/opt/longrank/bin/longrank", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", copy],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Overall exposure level for longrank.service: ([0-9.]+)", done.stdout)
    if found is None:
        pytest.skip(f"systemd-analyze has no offline check: {done.stderr}")
    assert float(found[1]) <= 1.0
