"""Make 300 real documents on a Debian machine: manuals of packages, and conversions of them to office formats.

The packages are downloaded by ``apt-get download`` and unpacked, not installed. pandoc and LibreOffice convert pages to
DOCX, ODT, EPUB, PPTX, Markdown, reStructuredText and PDF.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

PACKAGES = (
    *("developers-reference", "libtasn1-doc", "shared-mime-info", "bash-doc", "debian-reference-en", "maint-guide"),
    *("debmake-doc", "gnuplot-doc", "debian-policy", "debian-faq", "valgrind", "apt-doc", "git-doc", "sqlite3-doc"),
)
"""Packages of Debian 12; the first eight have the pages of ``real_pages.toml``."""
N_DOCUMENTS = 300
_CONVERTED = {"docx": 35, "odt": 35, "epub": 20, "pptx": 15, "md": 20, "rst": 15}  # by pandoc
_BY_OFFICE = {"pdf": ("docx", 10), "docx": ("odt", 10), "odt": ("docx", 10)}  # target -> (source, number)
_LIMITS = (3_000, 150_000)  # bytes of a page: neither a list of links nor a book


def make_collection(folder: Path) -> Path:
    """Make the documents below a new folder, and return their folder."""
    files, work = folder / "documents", folder / "work"
    files.mkdir(parents=True)
    unpacked = _unpacked(work)
    for path in _found(unpacked, ".pdf", ".pdf.gz", ".epub"):
        _put(path, files / path.name.removesuffix(".gz"))
    pages = [path for path in _found(unpacked, ".html") if _LIMITS[0] < path.stat().st_size < _LIMITS[1]]
    by_package = iter(_round_robin(pages, unpacked))
    for target, n in _CONVERTED.items():
        _convert(list(islice(by_package, n)), target, files / "converted")
    for target, (source, n) in _BY_OFFICE.items():
        _convert_by_office(sorted((files / "converted").glob(f"*.{source}"))[:n], target, files / "office" / source)
    n_missing = N_DOCUMENTS - sum(path.is_file() for path in files.rglob("*"))
    for number, path in enumerate(islice(by_package, n_missing)):
        _put(path, files / "pages" / f"{number:03d}-{path.name}")
    shutil.rmtree(work)
    return files


def _unpacked(work: Path) -> Path:
    (work / "files").mkdir(parents=True)
    subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=work, check=True, stderr=subprocess.DEVNULL)
    for archive in sorted(work.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive, work / "files" / archive.name.partition("_")[0]], check=True)
    return work / "files"


def _found(folder: Path, *endings: str) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(endings))


def _round_robin(paths: Iterable[Path], folder: Path) -> Iterator[Path]:
    """Yield paths of all packages in turn."""
    packages: dict[str, list[Path]] = {}
    for path in paths:
        packages.setdefault(path.relative_to(folder).parts[0], []).append(path)
    while packages:
        for name in list(packages):
            yield packages[name].pop(0)
            if not packages[name]:
                del packages[name]


def _put(path: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


def _convert(pages: Sequence[Path], target: str, folder: Path) -> None:
    """Convert HTML pages by pandoc, without what they refer to."""
    folder.mkdir(exist_ok=True)
    formats = {"md": "markdown", "rst": "rst"}
    for number, path in enumerate(pages):
        output = folder / f"{number:03d}-{path.stem}.{target}"
        text = path.read_text(encoding="utf-8", errors="replace")
        command = ["pandoc", "--from", "html", "--to", formats.get(target, target), "--standalone", "--output", output]
        subprocess.run(command, input=text, text=True, check=True, stderr=subprocess.DEVNULL, cwd=folder)


def _convert_by_office(paths: Sequence[Path], target: str, folder: Path) -> None:
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder.absolute()}.profile"]
    subprocess.run(
        [*command, "--convert-to", target, "--outdir", folder, *paths], check=True, stdout=subprocess.DEVNULL
    )
    shutil.rmtree(f"{folder.absolute()}.profile", ignore_errors=True)
