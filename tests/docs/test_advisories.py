"""Without the service of advisories, `make audit` ends in one line; SBOM and licences are written before."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def advisories() -> Any:
    spec = importlib.util.spec_from_file_location("advisories", ROOT / "docs" / "advisories.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(path: Path, source: str) -> str:
    path.write_text(f"#!{sys.executable}\nimport sys\n{source}\n")
    path.chmod(0o755)
    return str(path)


def test_a_service_that_cannot_be_reached_is_one_line(advisories: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advisories, "PROBES", {"pypi": "http://127.0.0.1:9/x", "osv": "", "esms": ""})
    line = advisories.audit("pypi", "packages.txt", "nowhere")
    assert re.fullmatch(
        r"no audit: http://127\.0\.0\.1:9/x cannot be read \(.*refused.*\); SBOM and licences are written; "
        r"try ADVISORIES=osv, ADVISORIES=esms",
        line,
    )


def test_an_unknown_service_is_refused(advisories: Any) -> None:
    assert advisories.audit("pipy", "packages.txt", "nowhere") == "ADVISORIES takes pypi, osv, esms (got 'pipy')"


def test_a_traceback_is_one_line_and_findings_are_shown(
    advisories: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advisories, "fault_of", lambda url: None)
    broken = program(tmp_path / "broken", "raise OSError('no route')")
    assert advisories.audit("osv", "packages.txt", broken) == "no audit: pip-audit failed (OSError: no route)"
    finding = program(tmp_path / "finding", "print(*sys.argv[1:]); print('found 1', file=sys.stderr); sys.exit(1)")
    assert advisories.audit("esms", "packages.txt", finding) == 1
    out, err = capfd.readouterr()
    assert out == "--strict --vulnerability-service esms --no-deps --disable-pip -r packages.txt\n"
    assert err == "found 1\n"


def test_sbom_and_licences_are_written_before_the_network_is_needed() -> None:
    steps = (ROOT / "Makefile").read_text().partition("\naudit:")[2].partition("\n\n")[0]
    order = [steps.index(step) for step in ("sbom.json", "docs/licences.py", "packages.txt", "docs/advisories.py")]
    assert order == sorted(order)
