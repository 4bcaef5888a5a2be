"""Measure time and memory of reading malformed and huge files, each in a process of its own.

    PYTHONPATH=tests python -m benchmarks.malformed_files

The files are those of ``tests/unit/formats/test_formats_hostile.py``, and files at the limits: a PDF of 10,000 pages,
office files of much text, a mailbox. Memory is the peak resident set of the process that reads, and of the process that
parses. Prints one JSON object; the exit code is 1 if a file takes more than 60 seconds or 1 GiB.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from document_files import docx, epub, odt, paragraph, pdf_bytes
from longrank.collections import read_documents
from longrank.formats.parsed.child import _stop_idle
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.types import Notes
from unit.formats.test_formats_hostile import containers, malformed

SECONDS, MIB = 60, 1024
WORDS = "The quick brown fox jumps over the lazy dog, again and again. "


class Reading(NamedTuple):
    """A file that was read: seconds, MiB of the reading and of the parsing process, documents, and why not."""

    name: str
    seconds: float
    processor_seconds: float
    reader: int
    parser: int
    documents: int
    reason: str


def large(folder: Path) -> Iterator[Path]:
    """Write files at the limits of the parsers."""
    path = folder / "pages-10000.pdf"
    path.write_bytes(
        pdf_bytes([[f"Page {number}: line {line}. {WORDS}" for line in range(40)] for number in range(10_000)])
    )
    yield path
    varied = [f"{number} {WORDS}" for number in range(1_500_000)]  # 100 MB, hard to pack
    yield docx(folder / "paragraphs.docx", "".join(paragraph(text) for text in varied[:300_000]))
    yield odt(folder / "paragraphs.odt", "".join(f"<text:p>{text}</text:p>" for text in varied[:300_000]))
    yield epub(folder / "chapters.epub", ["".join(f"<p>{text}</p>" for text in varied[n::30]) for n in range(30)])
    path = folder / "messages.mbox"
    path.write_text("".join(f"From x\nSubject: {text}\n\n{text}\n\n" for text in varied[:50_000]))
    yield path
    path = folder / "letter.eml"
    path.write_text("Subject: long\n\n" + "\n".join(varied))
    yield path
    path = folder / "lines.md"
    path.write_text("\n\n".join(varied[:300_000]))
    yield path


def write(folder: Path) -> int:
    """Write all files; return the number of malformed files."""
    (folder / "scratch").mkdir()
    for name, content in malformed(folder / "scratch"):
        (folder / name).write_bytes(content)
    list(containers(folder))
    n_malformed = sum(path.is_file() for path in folder.iterdir())
    list(large(folder))
    return n_malformed


def read(path: Path) -> Reading:
    """Read a file as a part of a folder; call it in a fresh process."""
    began, reasons = time.perf_counter(), list[str]()
    options = CorpusOptions(files=FileOptions(include=(path.name,), skipped=lambda _, reason: reasons.append(reason)))
    try:
        n_documents = sum(1 for _ in read_documents(path.parent, options, Notes()))
    except Exception as error:
        n_documents, reasons = 0, [str(error)]
    seconds = time.perf_counter() - began
    _stop_idle()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    status = Path("/proc/self/status").read_text()
    reader = int(status.partition("VmHWM:")[2].split()[0]) >> 10
    processor = sum(usage.ru_utime + usage.ru_stime for usage in used)
    reason = reasons[0].removeprefix(f"{path}: ") if reasons else ""
    return Reading(
        path.name, round(seconds, 1), round(processor, 1), reader, used[1].ru_maxrss >> 10, n_documents, reason
    )


def main() -> None:
    """Read all files, and report the slowest and the largest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            n_malformed = pool.apply(write, (folder,))
            readings = pool.map(read, sorted(path for path in folder.iterdir() if path.is_file()), chunksize=1)
    readings.sort(key=lambda reading: -max(reading.reader, reading.parser))
    over = [r for r in readings if r.seconds > SECONDS or max(r.reader, r.parser) > MIB]
    report = {
        "malformed files": n_malformed,
        "skipped": sum(bool(reading.reason) for reading in readings),
        "slowest": max(readings, key=lambda reading: reading.seconds)._asdict(),
        "largest": [reading._asdict() for reading in readings[:8]],
        "over the limits": [reading.name for reading in over],
    }
    print(json.dumps(report, indent=1))
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
