"""Compare sentence splitters: hard cases, over-long sentences, exact offsets, speed.

    python -m benchmarks.sentence_splitters DATA [--splitter NAME ...] [--punkt FOLDER] [--results docs/results]

It needs blingfire, pysbd, nltk, spacy, syntok and segtok. Each splitter reads texts as they are; the column "with
lines" has it split blocks of lines (`longrank.text.lines`), as LongRank does with its own. Figures:

- cases: texts of `benchmarks.hard_sentences` whose sentences are all right;
- F1 of the beginnings of sentences: fifteen documents of TIME, split by reading them, and the abstracts of SciFact;
- over-long: share of characters in sentences of more than 800 characters, and of more than 512 words;
- offsets: texts of hard characters (no unpaired surrogates, which most splitters refuse) whose sentences are ascending
  slices of them that leave out nothing but blanks;
- characters of SciFact and squad-dev-v1.1 per second of CPU time.

NLTK's data are on no package index by themselves: FOLDER is an ``nltk_data`` folder with ``tokenizers/punkt_tab``, such
as the package llama-index-core has. A text on which a splitter fails is a single sentence.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.hard_sentences import CASES, unmarked
from longrank.demo.stdlib import documents as module_documents
from longrank.text.lines import blocks
from longrank.text.sentences import make_splitter
from longrank.text.windows import Span, trimmed
from longrank.types import Notes

Split = Callable[[str], Iterable[Span]]

COLLECTIONS = {
    "time": "text",
    "scifact": "text",
    "qmsum": "text",
    "squad-dev-v1.1": "text",
    "cranfield": "text",
    "cacm": "raw",
}
PYTHON = "Python's documentation"
LONG_CHARACTERS, LONG_WORDS = 800, 512
HARD = [
    '"',
    "«",
    "”",
    "(",
    ")",
    "A",
    "b",
    ".",
    "?",
    "…",
    "U.S.",
    "Dr.",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\u2028",
    "\x85",
    "\u00a0",
]
HARD += ["\u2009", "\u3000", "\u200b", "e\u0301", "\u0301", "😀", "𝒳", "ß", "。", "\x00", "Then he left. "]


def ours(language: str) -> Split:
    """LongRank's default; lines are part of it."""
    splitter = make_splitter("sentencex", language)

    def split(text: str) -> list[Span]:
        units = splitter.sentences(text, len(text) + 1)
        return list(zip(units.starts.tolist(), units.ends.tolist(), strict=True))

    return split


def sentencex(language: str) -> Split:
    """As Wikimedia ships it."""
    from sentencex import get_sentence_boundaries

    return lambda text: [(b["start_index"], b["end_index"]) for b in get_sentence_boundaries(language, text)]


def blingfire(language: str) -> Split:
    """Microsoft's finite-state machine for all languages."""
    from blingfire import text_to_sentences_and_offsets

    return lambda text: text_to_sentences_and_offsets(text)[1]


def pysbd(language: str) -> Split:
    """Rules of pragmatic_segmenter."""
    from pysbd import Segmenter
    from pysbd.languages import LANGUAGE_CODES

    segmenter = Segmenter(language if language in LANGUAGE_CODES else "en", clean=False, char_span=True)
    return lambda text: [(span.start, span.end) for span in segmenter.segment(text)]


def punkt(language: str) -> Split:
    """NLTK's trained model."""
    from nltk.tokenize.punkt import PunktTokenizer

    names = {"fr": "french", "de": "german", "es": "spanish", "ru": "russian"}
    return PunktTokenizer(names.get(language, "english")).span_tokenize


def spacy(language: str) -> Split:
    """The sentencizer."""
    from spacy import blank

    pipe = blank("xx" if language in {"ja", "zh"} else language)  # the two need other packages
    pipe.add_pipe("sentencizer")
    pipe.max_length = 10**8
    return lambda text: [(sentence.start_char, sentence.end_char) for sentence in pipe(text).sents]


def syntok(language: str) -> Split:
    """Rules for English, Spanish and German."""
    from syntok.segmenter import analyze

    def split(text: str) -> list[Span]:
        sentences = [sentence for paragraph in analyze(text) for sentence in paragraph if sentence]
        return [(one[0].offset, one[-1].offset + len(one[-1].value)) for one in sentences]

    return split


def segtok(language: str) -> Split:
    """Rules for Indo-European languages; it gives sentences without offsets, which are looked for."""
    from segtok.segmenter import split_multi

    def split(text: str) -> Iterator[Span]:
        end = 0
        for sentence in split_multi(text):
            start = text.index(sentence, end)
            end = start + len(sentence)
            yield start, end

    return split


SPLITTERS = {"LongRank": ours} | {
    make.__name__: make for make in (sentencex, blingfire, pysbd, punkt, spacy, syntok, segtok)
}


class Gold(NamedTuple):
    """A text and the beginnings of its sentences, except the first."""

    text: str
    beginnings: frozenset[int]


def main() -> None:
    """Measure each splitter, print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--splitter", action="append", choices=SPLITTERS, help="only this one; repeatable")
    parser.add_argument("--punkt", type=Path, help="folder of NLTK's data")
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    if args.punkt:
        import nltk

        nltk.data.path.append(str(args.punkt))
    path = args.results / "sentence-splitters.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in args.splitter or SPLITTERS:
        found[name] = measured(SPLITTERS[name], args.data)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table({name: found[name] for name in SPLITTERS if name in found}))


def measured(make: Callable[[str], Split], data: Path) -> dict[str, Any]:
    """Return the figures of a splitter."""
    split = make("en")
    right = {kind: sum(is_right(make, *case) for case in cases) for kind, cases in CASES.items()}
    of_blocks = sum(
        is_right(lambda language: by_block(make(language)), *case) for cases in CASES.values() for case in cases
    )
    return {
        "right": right,
        "right_with_lines": of_blocks,
        "f1": {name: f1(split, gold) for name, gold in (("time", time_gold(data)), ("scifact", scifact_gold(data)))},
        "offsets": exact_offsets(split, 1000),
        "over_long": {name: over_long(split, texts(data, name)) for name in (*COLLECTIONS, PYTHON)},
        "characters_per_second": speed(split, [*texts(data, "scifact"), *texts(data, "squad-dev-v1.1")]),
    }


def by_block(split: Split) -> Split:
    """Return the splitter of the blocks of lines."""
    return lambda text: [(start + a, start + b) for start, end in blocks(text) for a, b in split(text[start:end])]


def spans_of(split: Split, text: str) -> list[Span]:
    """Return the trimmed sentences; a text on which the splitter fails is a single sentence."""
    try:
        spans = list(split(text))
    except Exception:
        spans = [(0, len(text))]
    return [span for start, end in spans if (span := trimmed(text, start, end))]


def is_right(make: Callable[[str], Split], language: str, marked: str) -> bool:
    """Return true if a splitter finds the sentences of a hard case."""
    text, sentences = unmarked(marked)
    return [text[start:end] for start, end in spans_of(make(language), text)] == sentences


def f1(split: Split, gold: Sequence[Gold]) -> float:
    """Return the F1 of the beginnings of sentences over all texts."""
    hits = found = there = 0
    for text, beginnings in gold:
        ours = {start for start, _ in spans_of(split, text)[1:]}
        hits, found, there = hits + len(ours & beginnings), found + len(ours), there + len(beginnings)
    return 2 * hits / (found + there)


def over_long(split: Split, of: Iterable[str]) -> dict[str, float]:
    """Return the shares of characters in sentences of too many characters, and of too many words."""
    total = characters = words = 0
    for text in of:
        for start, end in spans_of(split, text):
            total += end - start
            if end - start > LONG_CHARACTERS:
                characters += end - start
                words += (end - start) * (len(text[start:end].split()) > LONG_WORDS)
    return {"characters": characters / total, "words": words / total}


def exact_offsets(split: Split, n: int) -> int:
    """Return how many of `n` texts of hard characters are split into slices that leave out nothing but blanks."""
    drawn = random.Random(0)
    hard = ["".join(drawn.choices(HARD, k=drawn.randint(1, 40))) for _ in range(n)]
    return sum(is_exact(split, text) for text in hard)


def is_exact(split: Split, text: str) -> bool:
    """Return true if the sentences are ascending slices of a text that leave out nothing but blanks."""
    at = 0
    try:
        for start, end in split(text):
            if not at <= start <= end <= len(text) or text[at:start].strip():
                return False
            at = end
    except Exception:
        return False
    return not text[at:].strip()


def speed(split: Split, of: Sequence[str]) -> float:
    """Return characters per second of CPU time."""
    start = time.process_time()
    for text in of:
        spans_of(split, text)
    return sum(map(len, of)) / (time.process_time() - start)


@cache
def texts(data: Path, name: str) -> list[str]:
    """Return the texts of a collection that are not blank."""
    if name == PYTHON:
        return [document.text for document in module_documents(Notes())]
    return [text for document in read(data, name) if (text := document[COLLECTIONS[name]]).strip()]


def read(data: Path, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the documents of a collection."""
    with gzip.open(data / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@cache
def time_gold(data: Path) -> list[Gold]:
    """Return the documents of TIME that were split by reading them."""
    path = Path("tests/unit/text/time_sentences.json")
    spans = json.loads(path.read_text(encoding="utf-8"))
    found = {document["doc_id"]: document["text"] for document in read(data, "time")}
    return [Gold(found[doc_id], frozenset(start for start, _ in own[1:])) for doc_id, own in spans.items()]


@cache
def scifact_gold(data: Path) -> list[Gold]:
    """Return the abstracts of SciFact, whose passages are sentences."""
    gold = []
    for document in read(data, "scifact"):
        text, beginnings, end = document["text"], [], 0
        for sentence in document["passages"]:
            start = text.index(sentence, end)
            end = start + len(sentence)
            beginnings.append(start + len(sentence) - len(sentence.lstrip()))
        gold.append(Gold(text, frozenset(beginnings[1:])))
    return gold


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return two Markdown tables: quality, and over-long shares by collection."""
    n = sum(map(len, CASES.values()))
    head = ["splitter", f"cases right of {n}", "with lines", "F1 TIME", "F1 SciFact", "offsets", "M characters/s"]
    rows = [
        [
            name,
            str(sum(one["right"].values())),
            str(one["right_with_lines"]),
            f"{one['f1']['time']:.3f}",
            f"{one['f1']['scifact']:.3f}",
            f"{one['offsets'] / 10:.1f}%",
            f"{one['characters_per_second'] / 1e6:.2f}",
        ]
        for name, one in found.items()
    ]
    places = [*COLLECTIONS, PYTHON]
    shares = [[name, *(_shares(one["over_long"][place]) for place in places)] for name, one in found.items()]
    return f"{_markdown(head, rows)}\n\n{_markdown(['splitter', *places], shares)}"


def _shares(one: Mapping[str, float]) -> str:
    return f"{one['characters']:.1%} / {one['words']:.1%}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
