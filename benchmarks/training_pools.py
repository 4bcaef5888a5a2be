"""The collections that a passage scorer learns from, as pools of queries and passages.

What is trained on is never evaluated:

    SQuAD       questions about the articles whose SHA-256 of the doc_id is even, among their paragraphs; questions
                about the others are for evaluation (`is_training_article`)
    SciFact     claims of the split "train", among abstracts that begin with their titles
    QMSum       queries of the split "train" (`benchmarks.meeting_pools`)
    sentences   squad-nqg-sentences: questions about other articles of SQuAD, among single sentences in lower case

and, of any of them, no query whose text is an evaluated one. What validates a training is neither trained on nor
reported: ADI's questions, some of SciFact's training claims, and questions about two of SQuAD's training articles.

The cascade's cross-encoder has been evaluated on squad-dev-mixed by another half of SQuAD's articles: it learns from
`cascade_articles`, from all training claims and from Cranfield's questions, several of whose abstracts are relevant
because they are about the question's topic, as whole documents are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmarks.training_examples import Pool, Settings, sample
from longrank.collections.documents import locate_documents
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.types import Document, Notes, Qrels, Query

_DEV_ARTICLES = 2  # of SQuAD


def is_training_article(doc_id: str) -> bool:
    """Say if a SQuAD article is for training; questions about the other articles are for evaluation."""
    return int(hashlib.sha256(doc_id.encode()).hexdigest(), 16) % 2 == 0


def cascade_articles(doc_ids: Sequence[str]) -> frozenset[str]:
    """Return the half of SQuAD's articles that the cascade's cross-encoder learns from."""
    return frozenset(sample(doc_ids, len(doc_ids) // 2, 0, str))


@cache
def evaluated_texts(data: Path) -> frozenset[str]:
    """Return the texts of all queries that a model must not have learned from, in lower case."""
    _, questions, judged = read_collection(data / "squad-dev-v1.1")
    kept = [one for one in questions if not all(map(is_training_article, judged[one.query_id]))]
    for name in ("scifact", "qmsum"):
        kept += [one for one in read_collection(data / name)[1] if one.fields["split"] != "train"]
    return frozenset(one.text.lower() for one in kept)


def unseen(queries: Sequence[Query], data: Path) -> list[Query]:
    """Return the queries that do not read like an evaluated one."""
    return [query for query in queries if query.text.lower() not in evaluated_texts(data)]


def squad_pools(data: Path, settings: Settings) -> list[Pool]:
    """Questions about training articles, without dev articles, among the paragraphs of these articles."""
    training, validating = _squad_articles(data, settings)
    pool = _squad_pool(data, training - validating)
    chosen = sample(unseen(pool.queries, data), settings.squad_queries, settings.seed, query_id)
    return [pool._replace(queries=chosen)]


def dev_squad_pools(data: Path, settings: Settings) -> list[Pool]:
    """Questions about two training articles that are not trained on, among their paragraphs."""
    pool = _squad_pool(data, _squad_articles(data, settings)[1])
    return [pool._replace(queries=sample(pool.queries, settings.dev_queries, settings.seed, query_id))]


def cascade_squad_pools(data: Path, settings: Settings) -> list[Pool]:
    """Questions about the cascade's training articles, among their paragraphs."""
    documents, _, _ = read_collection(data / "squad-dev-v1.1")
    pool = _squad_pool(data, cascade_articles([document.doc_id for document in documents]))
    return [pool._replace(queries=sample(pool.queries, settings.squad_queries, settings.seed, query_id))]


def scifact_pools(data: Path, settings: Settings) -> list[Pool]:
    """Training claims, without dev claims and claims that cite a document of a dev claim."""
    (pool,), held_out = cascade_scifact_pools(data, settings), _dev_claims(data, settings)
    cited = {n for claim in held_out for n in pool.relevant[claim.query_id]}
    kept = [one for one in unseen(pool.queries, data) if cited.isdisjoint(pool.relevant[one.query_id])]
    return [pool._replace(queries=kept)]


def dev_scifact_pools(data: Path, settings: Settings) -> list[Pool]:
    """Training claims that are not trained on, among the same abstracts."""
    (pool,) = cascade_scifact_pools(data, settings)
    return [pool._replace(queries=_dev_claims(data, settings))]


def cascade_scifact_pools(data: Path, settings: Settings) -> list[Pool]:
    """All training claims, among the abstracts that they cite and some others."""
    documents, queries, judged = read_collection(data / "scifact")
    claims = [query for query in queries if query.fields["split"] == "train"]
    cited = {doc_id for claim in claims for doc_id in judged[claim.query_id]}
    others = [document.doc_id for document in documents if document.doc_id not in cited]
    kept = cited | set(sample(others, settings.scifact_abstracts, settings.seed, str))
    texts = {one.doc_id: f"{one.title} {one.text}" for one in documents if one.doc_id in kept}
    return [_pool(claims, texts, judged)._replace(n_each=settings.scifact_examples)]


def cranfield_pools(data: Path, settings: Settings) -> list[Pool]:
    """All questions, among all abstracts, which begin with their titles."""
    documents, queries, judged = read_collection(data / "cranfield")
    pool = _pool(queries, {one.doc_id: one.text for one in documents}, judged)
    return [pool._replace(n_each=settings.cranfield_examples)]


def adi_pools(data: Path, settings: Settings) -> list[Pool]:
    """Some questions, among all abstracts."""
    documents, queries, judged = read_collection(data / "adi")
    texts = {one.doc_id: f"{one.title} {one.text}" for one in documents}
    return [_pool(sample(queries, settings.dev_queries, settings.seed, query_id), texts, judged)]


def sentence_pools(data: Path, settings: Settings) -> list[Pool]:
    """Some questions, among the sentences that answer them and the neighbours of these."""
    documents, queries, judged = read_collection(data / "squad-nqg-sentences")
    chosen = sample(unseen(queries, data), settings.sentence_queries, settings.seed, query_id)
    answers = {doc_id for query in chosen for doc_id in judged[query.query_id]}
    places = [n for n, document in enumerate(documents) if document.doc_id in answers]
    kept = sorted({n + step for n in places for step in (-1, 0, 1)} & set(range(len(documents))))
    return [_pool(chosen, {documents[n].doc_id: documents[n].text for n in kept}, judged)]


@cache
def read_collection(folder: Path) -> tuple[list[Document], list[Query], Qrels]:
    """Return the documents, queries and judgments of a collection folder."""
    notes = Notes()
    documents = [located.document for located in locate_documents([str(folder)], notes)]
    return documents, read_queries(folder / "queries.jsonl", notes), read_qrels(folder / "qrels.txt", notes)


def query_id(query: Query) -> str:
    """Return the key by which a query is sampled."""
    return query.query_id


def _squad_articles(data: Path, settings: Settings) -> tuple[frozenset[str], frozenset[str]]:
    """Return the training articles, and the dev articles among them."""
    documents, _, _ = read_collection(data / "squad-dev-v1.1")
    training = [document.doc_id for document in documents if is_training_article(document.doc_id)]
    return frozenset(training), frozenset(sample(training, _DEV_ARTICLES, settings.seed, str))


def _squad_pool(data: Path, articles: Collection[str]) -> Pool:
    """Return all questions about some articles, among their paragraphs."""
    documents, queries, judged = read_collection(data / "squad-dev-v1.1")
    paragraphs = {
        f"{document.doc_id}#{n}": document.text[start:end]
        for document in documents
        if document.doc_id in articles
        for n, (start, end) in enumerate(document.passages)
    }
    ours = [query for query in queries if all(doc_id in articles for doc_id in judged[query.query_id])]
    return _pool(ours, paragraphs, read_qrels(data / "squad-dev-v1.1" / "passage_qrels.txt", Notes()))


def _dev_claims(data: Path, settings: Settings) -> list[Query]:
    claims = [query for query in read_collection(data / "scifact")[1] if query.fields["split"] == "train"]
    return sample(claims, settings.dev_queries, settings.seed, query_id)


def _pool(queries: Sequence[Query], texts: Mapping[str, str], judged: Qrels) -> Pool:
    numbers = {name: n for n, name in enumerate(texts)}
    relevant = {
        query.query_id: [numbers[name] for name, grade in judged[query.query_id].items() if grade > 0]
        for query in queries
    }
    return Pool(queries, list(texts.values()), relevant)
