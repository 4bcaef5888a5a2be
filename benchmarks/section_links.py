"""Windows inside sections against windows over the whole text, on HTML manuals whose pages link to sections.

    apt-get download sqlite3-doc git-doc debian-policy valgrind debmake-doc developers-reference
    for package in *.deb; do dpkg-deb -x $package manuals; done
    python -m benchmarks.section_links manuals

A query is the text of a link from one page to a section of another, of at least two words that the heading does not
hold as they stand: the author says that the section is what these words are about. The passages of the linked page are
ranked by BM25 of the passage, and a passage hits if its middle lies in the section. Prints a Markdown table; p: paired
t-test over the means of the linked pages, since links to the same page are not independent.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

import numpy as np

from longrank.evaluation.significance import t_test
from longrank.index import Index
from longrank.protocols import ScoringTask
from longrank.scoring.lexical import LexicalScorer
from longrank.text.segment import make_segmenter
from longrank.types import Document, Query, Span

PRESETS = ("windows", "sections")
AT = (1, 3)
HEADING = re.compile(r"h[1-6]")


class Page(HTMLParser):
    """Links of a page to sections, and the heading at each anchor.

    Attributes:
        links: (address, text) of each link with a fragment.
        headings: anchor -> text of the heading that it is at.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links, self.headings = list[tuple[str, str]](), dict[str, str]()
        self._anchors, self._heading = list[str](), False
        self._address, self._words, self._title = "", list[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8", errors="replace"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._anchors += filter(None, [values.get("id"), values.get("name") if tag == "a" else None])
        if HEADING.fullmatch(tag):
            self._heading, self._title = True, []
        elif tag == "a" and "#" in values.get("href", ""):
            self._address, self._words = values["href"], []

    def handle_data(self, data: str) -> None:
        self._words.append(data)
        if self._heading:
            self._title.append(data)
        elif data.strip():
            self._anchors = []  # they stand at a text that is no heading

    def handle_endtag(self, tag: str) -> None:
        if HEADING.fullmatch(tag) and self._heading:
            self.headings |= {anchor: flat("".join(self._title)) for anchor in self._anchors}
            self._anchors, self._heading = [], False
        elif tag == "a" and self._address:
            self.links.append((self._address, flat("".join(self._words))))
            self._address = ""


class Case(NamedTuple):
    """A query, the page that answers it, and the place of the section in the page's text."""

    query: str
    doc_id: str
    section: Span


def flat(text: str) -> str:
    """Return a text with white space collapsed, without a permalink sign."""
    return " ".join(text.replace("¶", " ").split())


def cases(folder: Path, documents: Mapping[str, Document]) -> Iterator[Case]:
    """Yield the distinct queries, in the order of the pages."""
    pages = {name: Page(folder / name) for name in sorted(documents)}
    seen = set()
    for name, page in pages.items():
        for address, text in page.links:
            target, anchor = urldefrag(address)
            linked = linked_page(folder, name, unquote(target))
            if linked == name or linked not in pages or (text.lower(), linked) in seen:
                continue
            heading = pages[linked].headings.get(unquote(anchor), "")
            section = section_of(documents[linked], heading)
            if section is not None and len(text.split()) >= 2 and text.lower() not in heading.lower():
                seen.add((text.lower(), linked))
                yield Case(text, linked, section)


def linked_page(folder: Path, name: str, target: str) -> str:
    """Return the page that a relative address in page `name` leads to; empty outside the folder."""
    path = (folder / name).parent.joinpath(target).resolve()
    return str(path.relative_to(folder.resolve())) if target and path.is_relative_to(folder.resolve()) else ""


def section_of(document: Document, heading: str) -> Span | None:
    """Return the place of the only section with a heading; None without such a section or if it is the whole page."""
    places = [place for place in document.headings if flat(document.text[place[0] : place[1]]) == heading]
    if len(places) != 1:
        return None
    begin, _, level = places[0]
    later = (start for start, _, other in document.headings if start > begin and other <= level)
    end = next(later, len(document.text))
    return None if end - begin > len(document.text) / 2 else (begin, end)


def hits(index: Index, preset: str, found: list[Case]) -> dict[int, list[float]]:
    """Return for each depth 1 or 0 for each query: a passage of the best so many hits."""
    scorer, segmenter, values = LexicalScorer(index), make_segmenter(preset), defaultdict[int, list[float]](list)
    for case in found:
        passages = segmenter.segment(index.document(case.doc_id)).passages
        task = ScoringTask(Query(case.query, case.query), case.doc_id, passages, tuple(p.text for p in passages))
        (scores,) = scorer.score([task])
        order = np.argsort(-scores.scores, kind="stable")
        middles = [(passages[place].start + passages[place].end) // 2 for place in order[: max(AT)].tolist()]
        for at in AT:
            values[at].append(float(any(case.section[0] <= middle < case.section[1] for middle in middles[:at])))
    return values


def by_page(found: list[Case], values: list[float]) -> np.ndarray:
    """Return the mean of each linked page."""
    pages = defaultdict[str, list[float]](list)
    for case, value in zip(found, values, strict=True):
        pages[case.doc_id].append(value)
    return np.array([np.mean(pages[name]) for name in sorted(pages)])


def main() -> None:
    """Measure both presets, and print a table."""
    folder = Path(sys.argv[1])
    index = Index.build(str(folder))
    documents = {document.doc_id: document for document in index if document.doc_id.endswith(".html")}
    found = list(cases(folder, documents))
    values = {preset: hits(index, preset, found) for preset in PRESETS}
    n_pages = len({case.doc_id for case in found})
    print(f"{len(found)} queries, {n_pages} linked pages, {len(documents)} pages\n")
    print("| passages | " + " | ".join(f"hit@{at} | p" for at in AT) + " |\n|---|" + "---|---|" * len(AT))
    for preset, row in values.items():
        cells = []
        for at in AT:
            gains = by_page(found, row[at]) - by_page(found, values[PRESETS[0]][at])
            cells += [f"{np.mean(row[at]):.4f}", "" if preset == PRESETS[0] else f"{t_test(gains):.2g}"]
        print(f"| `{preset}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
