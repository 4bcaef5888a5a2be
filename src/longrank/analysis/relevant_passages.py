"""How many passages make a document relevant: the case for or against reading more than the best one (PARADE, table 9).

A passage counts if its grade is high enough, and so does a document where documents have grades of their own. PARADE's
rules: FiRA's passages of grade 3; TREC DL's passages of grade 3 in documents of grade 2 or 3; WebAP 3 and 4; Genomics 1
and 2. MS MARCO's and TREC DL's passages have ids of their own, so that a mapping says which document each is from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from longrank.analysis.distribution import Distribution, distribution
from longrank.errors import InputError
from longrank.types import Qrels


@dataclass(frozen=True, slots=True)
class RelevantPassages:
    """Relevant (query, document) pairs by how many relevant passages the document has for the query.

    Attributes:
        n: pairs with at least one.
        counts: relevant passages -> pairs that have so many.
        per_document: how they are distributed.
        exactly_1: share of the pairs that have one.
        up_to_2: share that has one or two.
        from_3: share that has three or more.
        without: pairs that are relevant by the documents' judgments and have no relevant passage; not among the `n`.
        left_out: pairs that have one and are not relevant by the documents' judgments; not among the `n`.
    """

    n: int
    counts: Mapping[int, int]
    per_document: Distribution
    exactly_1: float
    up_to_2: float
    from_3: float
    without: int
    left_out: int


def relevant_passages(
    passage_qrels: Qrels,
    document_of: Callable[[str], str],
    *,
    level: int = 1,
    qrels: Qrels | None = None,
    document_level: int = 1,
) -> RelevantPassages:
    """Count the relevant passages of relevant documents.

    Args:
        passage_qrels: query_id -> passage id -> grade.
        document_of: passage id -> the document's id: `before`, or what `mapped` returns.
        level: lowest grade of a relevant passage.
        qrels: judgments of documents; None: a document is relevant if a passage of it is.
        document_level: lowest grade of a relevant document in `qrels`.

    Raises:
        InputError: as `document_of`; or no passage that counts.
    """
    found = Counter(
        (query_id, document_of(passage))
        for query_id, judged in passage_qrels.items()
        for passage, grade in judged.items()
        if grade >= level
    )
    wanted = set(found) if qrels is None else _relevant(qrels, document_level)
    counted = [n for pair, n in found.items() if pair in wanted]
    if not counted:
        raise InputError("no relevant document has a relevant passage", fix="see --level and the ids of the passages")
    counts, n = Counter(counted), len(counted)
    return RelevantPassages(
        n=n,
        counts=dict(sorted(counts.items())),
        per_document=distribution(counted),
        exactly_1=counts[1] / n,
        up_to_2=(counts[1] + counts[2]) / n,
        from_3=(n - counts[1] - counts[2]) / n,
        without=len(wanted) - n,
        left_out=len(found) - n,
    )


def before(separator: str) -> Callable[[str], str]:
    """Return the function from a passage's id to what stands before the last `separator` in it, its document's id.

    Raises:
        InputError: `separator` is empty; the function: it is not in the id.
    """
    if not separator:
        raise InputError("what separates a document's id from the passage's number cannot be empty")

    def document_of(passage: str) -> str:
        doc_id, found, _ = passage.rpartition(separator)
        if not found:
            raise InputError(
                f"a passage's id holds no {separator!r} after its document's id", got=passage, fix="see --separator"
            )
        return doc_id

    return document_of


def mapped(documents: Mapping[str, str]) -> Callable[[str], str]:
    """Return the function that looks a passage's document up.

    Raises:
        InputError: the function: the mapping lacks a passage.
    """

    def document_of(passage: str) -> str:
        try:
            return documents[passage]
        except KeyError:
            raise InputError("the mapping does not say which document a passage is from", got=passage) from None

    return document_of


def _relevant(qrels: Qrels, level: int) -> set[tuple[str, str]]:
    return {
        (query_id, doc_id) for query_id, judged in qrels.items() for doc_id, grade in judged.items() if grade >= level
    }
