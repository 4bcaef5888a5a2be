"""Compare token streams with Lucene's: real collections, hard strings, every character, random strings.

    python3.11 -m venv lucene && lucene/bin/pip install . pyserini==0.22.1 faiss-cpu torch      (and Java 17)
    PYTHONPATH=src:tests lucene/bin/python -m benchmarks.lucene_tokens DATA [--random 100000] [--write]

DATA is a folder of collection folders; those that are absent are left out. `porter` is compared with
Anserini's default (`DefaultEnglishAnalyzer.newStemmingInstance("porter")`), `none` with
`newNonStemmingInstance(CharArraySet.EMPTY_SET)`. Prints how many texts differ, and where they first do: a class
is who has other words, and the general categories (UAX #44) of the letters beyond ASCII in them.
`--write` keeps Lucene's digests (`tests/token_streams.py` says of what) and its terms of the hard
strings in `tests/parity/lucene_tokens.json`, for the test beside it.
"""

from __future__ import annotations

import argparse
import json
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from benchmarks.hard_strings import HARD
from longrank.text.analysis import ANALYZERS
from token_streams import COLLECTIONS, digest, texts_of

ENGINE = "Lucene 9.5.0 in Anserini 0.22.1"
KEPT = Path(__file__).parents[1] / "tests" / "parity" / "lucene_tokens.json"
AROUND = (
    *("{}", "a{}b", "1{}2", "カ{}カ", "א{}א", "ก{}ก", "一{}", "_{}", "x's{}", "{}s", "a{}ed"),
    *("👍{}", "{}👍", "👍\u200d{}", "{}\u200d👍", "{}\u0301", "{}\ufe0f\u20e3", "{}🏽", "🇩{}", "{}{}"),
)
"""Where a character is tried; a line feed between them keeps them apart."""
ENGLISH = ("porter", "none")
"""The analyzers that follow Lucene."""
PLANES = (range(0x20), range(0x21, 0xD800), range(0xE000, 0x32400), range(0xE0000, 0xE1000))
"""All of Unicode but blanks, surrogates and planes that hold nothing or private characters."""

Tokens = Callable[[str, str], list[str]]


def lucene() -> Tokens:
    """Return the function (analyzer, text) -> Lucene's terms.

    Texts go over as UTF-8: handed over as they are, pyjnius changes characters beyond the BMP.
    """
    from pyserini.analysis import JAnalyzerUtils, get_lucene_analyzer
    from pyserini.pyclass import JString

    chains = {"porter": get_lucene_analyzer(), "none": get_lucene_analyzer(stemming=False, stopwords=False)}

    def tokens(analyzer: str, text: str) -> list[str]:
        return list(JAnalyzerUtils.analyze(chains[analyzer], JString(text.encode(), "UTF-8")).toArray())

    return tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--random", type=int, default=100_000, help="how many random strings")
    parser.add_argument("--write", action="store_true", help=f"write {KEPT.name}")
    args = parser.parse_args()
    tokens = lucene()
    hard = [text for texts in HARD.values() for text in texts]
    characters = ["\n".join(AROUND).replace("{}", chr(code)) for plane in PLANES for code in plane]
    kept: dict[str, Any] = {}
    for analyzer in ENGLISH:
        kept[analyzer] = {name: digests(args.data / name, analyzer, tokens) for name in here(args.data)}
        compare(f"hard strings, {analyzer}", analyzer, hard, tokens)
        compare(f"random strings, {analyzer}", analyzer, random_strings(args.random), tokens)
        compare(f"every character, {analyzer}", analyzer, characters, tokens)
    if args.write:
        write(kept, [{"text": text} | {analyzer: tokens(analyzer, text) for analyzer in ENGLISH} for text in hard])


def here(data: Path) -> list[str]:
    return [name for name in COLLECTIONS if (data / name).is_dir()]


def digests(folder: Path, analyzer: str, tokens: Tokens) -> dict[str, Any]:
    return {
        part: digest(compare(f"{folder.name} {part}, {analyzer}", analyzer, texts, tokens))
        for part, texts in texts_of(folder).items()
    }


def write(collections: dict[str, Any], strings: list[dict[str, Any]]) -> None:
    """Write a hard string a line in ASCII; invisible characters are escaped."""
    lines = ",\n".join(map(json.dumps, strings))
    parts = {
        "engine": json.dumps(ENGINE),
        "collections": json.dumps(collections, indent=1),
        "strings": f"[\n{lines}\n]",
    }
    members = ",\n".join(f'"{name}": {value}' for name, value in parts.items())
    KEPT.write_text(f"{{{members}}}\n", encoding="ascii")


def compare(title: str, analyzer: str, texts: Iterable[str], tokens: Tokens) -> list[list[str]]:
    """Print the differences over `texts`; return Lucene's terms of each."""
    streams, classes = [], Counter[str]()
    for text in texts:
        theirs, ours = tokens(analyzer, text), ANALYZERS[analyzer](text)
        streams.append(theirs)
        if theirs != ours:
            classes[difference(theirs, ours)] += 1
    print(f"{title}: {len(streams)} texts, {sum(map(len, streams))} terms; {classes.total()} texts differ", flush=True)
    for kind, count in classes.most_common():
        print(f"    {count:7} {kind}")
    return streams


def difference(theirs: list[str], ours: list[str]) -> str:
    """Return the class of the first stretch where the streams differ."""
    blocks = SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes()
    tag, i, j, k, m = next(block for block in blocks if block[0] != "equal")
    letters = {unicodedata.category(letter) for letter in "".join(theirs[i:j] + ours[k:m]) if not letter.isascii()}
    kind = {"delete": "words of Lucene's alone", "insert": "words of ours alone", "replace": "other words"}[tag]
    return f"{kind}: {' '.join(sorted(letters)) or 'ASCII'}"


def random_strings(n: int, seed: int = 1) -> list[str]:
    """Strings of 2 to 10 characters out of the hard ones, of few kinds each, so that rules meet."""
    rng = random.Random(seed)
    letters = sorted({letter for texts in HARD.values() for text in texts for letter in text} - set("\r\n"))
    return ["".join(rng.choices(rng.sample(letters, rng.randint(2, 6)), k=rng.randint(2, 10))) for _ in range(n)]


if __name__ == "__main__":
    main()
