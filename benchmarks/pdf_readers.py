"""Compare PDF readers: pages per second and characters without blanks of each file.

python -m benchmarks.pdf_readers FILE...
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path


def by_pdfium(path: Path) -> list[str]:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    texts = [page.get_textpage().get_text_range() for page in document]
    document.close()
    return texts


def by_pypdf(path: Path) -> list[str]:
    from pypdf import PdfReader

    return [page.extract_text() for page in PdfReader(path).pages]


READERS: dict[str, Callable[[Path], list[str]]] = {"pypdfium2": by_pdfium, "pypdf": by_pypdf}


def main() -> None:
    print("| file | reader | pages | pages/s | characters without blanks |\n|---|---|---|---|---|")
    for path in map(Path, sys.argv[1:]):
        for name, read in READERS.items():
            begin = time.perf_counter()
            texts = read(path)
            rate = len(texts) / (time.perf_counter() - begin)
            size = sum(len(word) for text in texts for word in text.split())
            print(f"| {path.name} | {name} | {len(texts)} | {rate:.0f} | {size} |")


if __name__ == "__main__":
    main()
