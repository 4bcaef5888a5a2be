"""Build the documentation site into build/site/html: ``python docs/site.py``.

Pages and pictures are copied to build/site/source with the folders of the repository, so that links between them hold
on the site as they do in a clone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build" / "site" / "source"
KINDS = {".md", ".png", ".svg", ".json", ".ipynb", ".jsonl", ".txt", ".py"}
FOLDERS = ("docs", "deploy", "examples")


def copy_pages() -> None:
    """Copy what the pages show or link to."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    files = [*ROOT.glob("*.md"), *(ROOT / "LICENSE",)]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    for path in files:
        target = SOURCE / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def main() -> int:
    """Copy the pages, and build the site; a warning, such as a broken link, fails the build."""
    copy_pages()
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
