"""Make three collections of long documents from SQuAD's development set.

    python -m benchmarks.squad_collections dev-v1.1.json DATA

dev-v1.1.json is the file that https://rajpurkar.github.io/SQuAD-explorer/ offers. A question is a query; what it was
asked of is relevant, document and paragraph:

    DATA/squad-dev-v1.1        48 documents: the articles
    DATA/squad-dev-sections   263: runs of about eight paragraphs of an article, without its title
    DATA/squad-dev-mixed      173: twelve paragraphs of as many articles

Each folder gets docs.jsonl.gz, queries.jsonl, qrels.txt and passage_qrels.txt. Printed are digests of what a document
holds and of the questions; those of the collections that figures here were measured on are in docs/collections.md. They
were made of the pages that show SQuAD's articles, so spaces may differ: then the digests do, too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gains_tasks import write_queries
from longrank.errors import InputError
from longrank.storage import digest_of
from longrank.types import Query

_SECTION, _MIXED, _SEED = 8, 12, 42


class Paragraph(NamedTuple):
    """A paragraph, and its questions: query_id -> text."""

    source: str
    text: str
    questions: Mapping[str, str]


class Document(NamedTuple):
    """A document of a collection: its paragraphs are its passages."""

    doc_id: str
    title: str
    paragraphs: Sequence[Paragraph]


def main() -> None:
    """Write the three collections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="dev-v1.1.json")
    parser.add_argument("data", type=Path, help="the folder of collections")
    args = parser.parse_args()
    try:
        articles = read(args.source)
    except (InputError, OSError) as error:
        parser.error(str(error))
    for name, documents in collections(articles).items():
        (args.data / name).mkdir(parents=True, exist_ok=True)
        write(documents, articles, args.data / name)
        print(name, *digests(documents, articles))


def read(path: Path) -> list[Document]:
    """Return the articles, sorted by their ids.

    Raises:
        InputError: it is not SQuAD's file.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["data"]
        articles = [_article(one["title"].replace(" ", "_"), one["paragraphs"]) for one in found]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("is not SQuAD's JSON", path=path, got=error) from None
    return sorted(articles, key=attrgetter("doc_id"))


def _article(name: str, paragraphs: Sequence[Mapping[str, Any]]) -> Document:
    found = [
        Paragraph(f"{name}#{n}", one["context"].strip(), {qa["id"]: qa["question"].strip() for qa in one["qas"]})
        for n, one in enumerate(paragraphs)
    ]
    return Document(name, name.replace("_", " "), found)


def collections(articles: Sequence[Document]) -> dict[str, list[Document]]:
    """Return the documents of each collection."""
    return {
        "squad-dev-v1.1": list(articles),
        "squad-dev-sections": _numbered(sections(articles)),
        "squad-dev-mixed": _numbered(mixed(articles)),
    }


def sections(articles: Sequence[Document]) -> Iterator[Sequence[Paragraph]]:
    """Yield runs of paragraphs, as equal in number as can be."""
    for article in articles:
        n = len(article.paragraphs)
        parts = max(1, round(n / _SECTION))
        bounds = [round(part * n / parts) for part in range(parts + 1)]
        yield from (article.paragraphs[start:end] for start, end in pairwise(bounds))


def mixed(articles: Sequence[Document]) -> list[list[Paragraph]]:
    """Return the paragraphs dealt out, those of the longest article first, so that no document gets two of one."""
    rng = random.Random(_SEED)
    piles = [_shuffled(article.paragraphs, rng) for article in articles]
    paragraphs = [one for pile in sorted(piles, key=len, reverse=True) for one in pile]
    n = -(-len(paragraphs) // _MIXED)
    return [_shuffled(paragraphs[start::n], rng) for start in range(n)]


def _shuffled(paragraphs: Sequence[Paragraph], rng: random.Random) -> list[Paragraph]:
    found = list(paragraphs)
    rng.shuffle(found)
    return found


def _numbered(documents: Iterable[Sequence[Paragraph]]) -> list[Document]:
    return [Document(f"d{n:04d}", "", paragraphs) for n, paragraphs in enumerate(documents)]


def write(documents: Sequence[Document], articles: Sequence[Document], folder: Path) -> None:
    """Write a collection; queries in the order of the articles, as are the judgments."""
    with gzip.open(folder / "docs.jsonl.gz", "wt", encoding="utf-8") as stream:
        for one in documents:
            passages = [paragraph.text for paragraph in one.paragraphs]
            row = {"doc_id": one.doc_id, "title": one.title, "text": "\n".join(passages), "passages": passages}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    place = {
        one.source: f"{document.doc_id}#{n}" for document in documents for n, one in enumerate(document.paragraphs)
    }
    asked = [
        (query_id, text, place[one.source]) for one in _paragraphs(articles) for query_id, text in one.questions.items()
    ]
    write_queries([Query(query_id, text) for query_id, text, _ in asked], folder / "queries.jsonl")
    lines = {
        "qrels.txt": (f"{query_id} 0 {passage.rpartition('#')[0]} 1" for query_id, _, passage in asked),
        "passage_qrels.txt": (f"{query_id} 0 {passage} 1" for query_id, _, passage in asked),
    }
    for name, rows in lines.items():
        (folder / name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def digests(documents: Sequence[Document], articles: Sequence[Document]) -> tuple[str, str]:
    """Return digests of documents and of questions, which other spaces in the JSON of a line do not change."""
    held = [[one.doc_id, one.title, [paragraph.text for paragraph in one.paragraphs]] for one in documents]
    asked = [[*question] for one in _paragraphs(articles) for question in one.questions.items()]
    return digest_of(held)[:16], digest_of(asked)[:16]


def _paragraphs(articles: Sequence[Document]) -> Iterator[Paragraph]:
    return (paragraph for article in articles for paragraph in article.paragraphs)


if __name__ == "__main__":
    main()
