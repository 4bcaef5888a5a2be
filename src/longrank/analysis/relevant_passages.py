"""Count the relevant passages of relevant documents (PARADE, table 9).

A passage counts from a grade on; so does a document, if documents are judged, too. PARADE's rules: FiRA's passages of
grade 3; TREC DL's passages of grade 3 in documents of grade 2 or 3; WebAP 3 and 4; Genomics 1 and 2. The passage ids of
MS MARCO and TREC DL do not name the document, so a mapping does.
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
    """Relevant (query, document) pairs by the number of relevant passages.

    Attributes:
        n: pairs with at least one relevant passage.
        counts: number of relevant passages -> pairs.
        per_document: distribution of the number.
        exactly_1: share of the pairs with one relevant passage.
        up_to_2: share with one or two.
        from_3: share with three or more.
        without: pairs that the documents' judgments call relevant, without a relevant passage; not in `n`.
        left_out: pairs with a relevant passage that the documents' judgments do not call relevant; not in `n`.
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
        document_of: passage id -> doc id, as `before` or `mapped` return it.
        level: lowest relevant grade of a passage.
        qrels: judgments of documents; None: a document with a relevant passage is relevant.
        document_level: lowest relevant grade of a document in `qrels`.

    Raises:
        InputError: as `document_of`; or no relevant document has a relevant passage.
    """
    passages = Counter(
        (query_id, document_of(passage))
        for query_id, judged in passage_qrels.items()
        for passage, grade in judged.items()
        if grade >= level
    )
    pairs = set(passages) if qrels is None else _relevant(qrels, document_level)
    counted = [n for pair, n in passages.items() if pair in pairs]
    if not counted:
        raise InputError(
            "no relevant document has a relevant passage",
            about=("passage_qrels", "qrels"),
            fix="check the level and the passage ids",
        )
    counts, n = Counter(counted), len(counted)
    return RelevantPassages(
        n=n,
        counts=dict(sorted(counts.items())),
        per_document=distribution(counted),
        exactly_1=counts[1] / n,
        up_to_2=(counts[1] + counts[2]) / n,
        from_3=(n - counts[1] - counts[2]) / n,
        without=len(pairs) - n,
        left_out=len(passages) - n,
    )


def before(separator: str) -> Callable[[str], str]:
    """Return the function passage id -> doc id, the text before the last `separator`.

    Raises:
        InputError: `separator` is empty; from the function: the id lacks it.
    """
    if not separator:
        raise InputError("the separator of a passage id cannot be empty")

    def document_of(passage: str) -> str:
        doc_id, separated, _ = passage.rpartition(separator)
        if not separated:
            raise InputError(
                f"a passage id lacks {separator!r}",
                about=("passage_qrels",),
                got=passage,
                fix="give the separator of these ids",
            )
        return doc_id

    return document_of


def mapped(documents: Mapping[str, str]) -> Callable[[str], str]:
    """Return the function passage id -> doc id of a mapping.

    Raises:
        InputError: from the function: the mapping lacks the passage.
    """

    def document_of(passage: str) -> str:
        try:
            return documents[passage]
        except KeyError:
            raise InputError("the mapping lacks a passage", about=("mapping",), got=passage) from None

    return document_of


def _relevant(qrels: Qrels, level: int) -> set[tuple[str, str]]:
    return {
        (query_id, doc_id) for query_id, judged in qrels.items() for doc_id, grade in judged.items() if grade >= level
    }
