"""Write ``docs/licences.md``: the licence of every package that an extra brings, by the metadata of what is installed.

python docs/licences.py    exit 1 if a package is under the GPL or AGPL, or states no licence
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parent / "licences.md"
UNSTATED = "not stated"
_HEAD = """# Licences of dependencies

Made by `make audit` (`docs/licences.py`) from the metadata of the installed packages. The licences are those that the
packages state; the check fails on GPL and AGPL, and on a package that states none. The LGPL is named below the table.
Extra `dev` brings tools that are used to change LongRank, not to run it.

| package | licence | brought by |
|---|---|---|
"""
_LGPL = re.compile(r"LGPL|Lesser General Public", re.IGNORECASE)
_GPL = re.compile(r"\bA?GPL|(?<!Lesser )General Public License", re.IGNORECASE)


def licence_of(expression: str, classifiers: list[str], text: str) -> str:
    """Return the licence that a package states: its SPDX expression, else classifiers, else the first line of text."""
    named = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License :: ")]
    named = [one for one in named if one not in ("OSI Approved", "DFSG approved", "Freely Distributable")]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return expression or ", ".join(named) or (lines[0][:100] if lines else UNSTATED)


def is_gpl(licence: str) -> bool:
    """Say whether a licence, in each of its alternatives, is the GPL or AGPL; the LGPL is another."""
    return all(_GPL.search(_LGPL.sub("", branch)) is not None for branch in re.split(r"\bOR\b", licence))


def brought_by() -> tuple[dict[str, set[str]], set[str]]:
    """Return the extras that bring each installed package ('' stands for no extra), and what is not installed."""
    extras: dict[str, set[str]] = {}
    absent: set[str] = set()
    for extra in ("", *distribution("longrank").metadata.get_all("Provides-Extra", [])):
        waiting, seen = [("longrank", extra)], set()
        while waiting:
            name, wanted = waiting.pop()
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            try:
                found = distribution(name)
            except PackageNotFoundError:
                absent.add(f"{name} ({extra})")
                continue
            extras.setdefault(name, set()).add(extra)
            waiting += _required(found, wanted)
    del extras["longrank"]
    return extras, absent


def _required(found: Distribution, extra: str) -> list[tuple[str, str]]:
    """Return the packages, each with an extra of its own or '', that a package needs in this environment."""
    pairs = []
    for requirement in map(Requirement, found.requires or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            pairs += [(canonicalize_name(requirement.name), own) for own in ("", *sorted(requirement.extras))]
    return pairs


def main() -> int:
    """Write the page; return the exit code."""
    extras, absent = brought_by()
    licences = {}
    for name in sorted(extras):
        metadata = distribution(name).metadata
        stated = metadata.get("License-Expression") or "", metadata.get_all("Classifier", []), metadata.get("License")
        licences[name] = licence_of(stated[0], stated[1], stated[2] or "")
    lesser = [f"`{name}` ({', '.join(_names(extras[name]))})" for name in licences if _LGPL.search(licences[name])]
    rows = "".join(f"| {name} | {licences[name]} | {', '.join(_names(extras[name]))} |\n" for name in licences)
    left = ", ".join(sorted(absent)) or "none"
    foot = f"\nLGPL: {', '.join(lesser) or 'none'}.\n\nNot installed where this page was made, so not read: {left}.\n"
    PAGE.write_text(_HEAD + rows + foot, encoding="utf-8")
    bad = [name for name, licence in licences.items() if licence == UNSTATED or is_gpl(licence)]
    for name in bad:
        print(f"{name}: licence '{licences[name]}' (extras: {', '.join(_names(extras[name]))})", file=sys.stderr)
    print(f"{len(licences)} packages, {len(bad)} refused, LGPL: {', '.join(lesser) or 'none'}; wrote {PAGE}")
    return 1 if bad else 0


def _names(extras: set[str]) -> list[str]:
    """Return the extras, or that every installation has the package."""
    return ["every installation"] if "" in extras else sorted(extras)


if __name__ == "__main__":
    sys.exit(main())
