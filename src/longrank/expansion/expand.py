"""Predict queries for a whole collection: a line per document, in the collection's order.

A document's queries are those of its passages, in their order. The file appears when all lines are there. Until then,
``FILE.unfinished`` beside it is a journal with a record per document and a mark after each block; work resumes after
the last mark. Blocks and batches depend on the documents and settings alone, so interruptions never change a byte.
Each document is compared with the first reading before its queries are predicted, so the journal has no others.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from longrank.collections import read_documents
from longrank.collections.databases import is_address, shown_source
from longrank.errors import InputError
from longrank.expansion.decoding import TextKey
from longrank.expansion.predictor import Prediction, QueryPredictor
from longrank.expansion.reading import Read, Reading
from longrank.formats.expansions import expansion_line
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.storage import MANIFEST, Journal, atomic_write, read_journal
from longrank.storage.files import writing
from longrank.storage.remote import address_of
from longrank.storage.workplace import working_on
from longrank.types import Document, Notes

_DIGEST = 8  # bytes
_BLOCK = 64  # passages, about; an interruption loses the queries of at most one block
_NO_TEXT = "documents without text, for which nothing is predicted"


Block: TypeAlias = list[tuple[str, Read]]
PredictBlocks: TypeAlias = Callable[[Iterable[Block]], Iterator[list[dict[str, Any]]]]
"""Predicts for blocks of documents, in order: a record of each document."""


class Documents(NamedTuple):
    """Documents that can be read repeatedly, their number, and a digest of their content."""

    documents: Callable[[], Iterator[Document]]
    n_documents: int
    digest: str


@contextmanager
def open_documents(source: Any, options: CorpusOptions | None, notes: Notes) -> Iterator[Documents]:
    """Open the documents of an index, or of a source as `longrank.collections.read_documents` takes it.

    Other sources than an index are read once to count and digest their documents. A later reading that meets other
    documents raises an InputError at the first of them. A digest of each document is kept in a temporary file.

    Args:
        source: an index or its folder; or files, folders, databases, ``irds:ID`` or documents in memory.
        options: format, fields and encoding of documents that are no index.
        notes: counts what was accepted with a remark.

    Raises:
        InputError: a fault of the source, no document, or options for an index.
        IntegrityError: the index is damaged.
        LongRankError: no space for the temporary file.
    """
    place = isinstance(source, str | Path) and not is_address(str(source))
    if address_of(source) or (place and (Path(source) / MANIFEST).is_file()):
        source = Index.open(source)
    if isinstance(source, Index):
        if options is not None:
            raise InputError("format and fields are for documents, not for an index", path=source.place)
        if not source.n_docs:
            raise InputError("holds no document", path=source.place)
        yield Documents(lambda: iter(source), source.n_docs, source.digest)
        return
    source = list(source) if isinstance(source, Iterator) else source
    shown = shown_source(str(source)) if isinstance(source, str | Path) else None
    digest, n_documents = hashlib.sha256(), 0
    with TemporaryFile(buffering=0) as digests:  # else a full disk shows when it is closed
        for document in read_documents(source, options, notes):
            content = _content(document)
            digest.update(content)
            with writing(Path(gettempdir())):
                digests.write(_short_digest(content))
            n_documents += 1
        unchanged = partial(_unchanged, digests=digests, shown=shown)
        yield Documents(lambda: unchanged(read_documents(source, options)), n_documents, digest.hexdigest())


def _content(document: Document) -> bytes:
    """Return all of a document that its queries depend on."""
    headings = [document.headings] if document.headings else []  # work begun by earlier versions goes on
    return json.dumps([document.doc_id, document.title, document.text, document.passages, *headings]).encode()


def _short_digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def _unchanged(documents: Iterable[Document], digests: BinaryIO, shown: str | None) -> Iterator[Document]:
    """Yield documents that are those of the first reading, whose digests are given.

    Raises:
        InputError: other documents, fewer or more.
    """
    digests.seek(0)
    for document in documents:
        if digests.read(_DIGEST) != _short_digest(_content(document)):
            raise _changed(shown, document.doc_id)
        yield document
    if digests.read(1):
        raise _changed(shown, None)


def _changed(shown: str | None, doc_id: str | None) -> InputError:
    """Return the error of documents that are not those of the first reading; `doc_id`: the first of them, if any."""
    fix = "index them, and expand the index: an open index does not change"
    return InputError("the documents have changed since the first reading", path=shown, got=doc_id, fix=fix)


def expand(
    collection: Documents,
    predictor: QueryPredictor,
    reading: Reading,
    output: Path,
    *,
    notes: Notes,
    progress: Callable[[int], object] = lambda n: None,
    predict: PredictBlocks | None = None,
) -> int:
    """Write the queries predicted for each document to `output`, or resume an interrupted call.

    Args:
        collection: the documents.
        predictor: the model.
        reading: makes the texts that the model reads.
        output: a file as `longrank.formats.expansions` reads it.
        notes: counts texts and queries that were cut or left out.
        progress: called with the number of documents just done, first with those done earlier.
        predict: predicts for blocks, in order (`longrank.expansion.spread`). None: the predictor does.

    Returns:
        The number of queries in the file.

    Raises:
        InputError: an unfinished file of other settings, documents or another model; documents that have changed since
            they were opened; another process writes the same file, or it cannot be written.
        LongRankError: there is no memory for a single passage, or no space for the file.
    """
    unfinished = output.with_name(output.name + ".unfinished")
    with working_on(unfinished):
        with _journal(unfinished, collection, predictor, reading) as journal:
            progress(journal.n_committed)
            remaining = islice(collection.documents(), journal.n_committed, None)
            blocks = _blocks(remaining, reading, max(_BLOCK, predictor.batch))
            for records in predict(blocks) if predict else (predicted(block, predictor) for block in blocks):
                for record in records:
                    journal.append(json.dumps(record).encode())
                journal.commit()
                progress(len(records))
        n_queries = _write(unfinished, output, notes)
        unfinished.unlink()
    return n_queries


def _journal(path: Path, collection: Documents, predictor: QueryPredictor, reading: Reading) -> Journal:
    header = {
        "format": "longrank-expansions-unfinished",
        "model": predictor.fingerprint,
        "reading": reading.fingerprint,
        "documents": collection.digest,
    }
    return Journal(path, header, "unfinished file of expand")


def _blocks(documents: Iterable[Document], reading: Reading, n_texts: int) -> Iterator[Block]:
    """Yield blocks of documents with `n_texts` passages or more; the last block may have fewer."""
    block: Block = []
    texts = 0
    for document in documents:
        block.append((document.doc_id, reading.read(document)))
        texts += len(block[-1][1].texts)
        if texts >= n_texts:
            yield block
            block, texts = [], 0
    if block:
        yield block


def predicted(block: Block, predictor: QueryPredictor) -> list[dict[str, Any]]:
    """Return a record of each document of a block."""
    texts = [text for _, read in block for text in read.texts]
    keys = [TextKey(doc_id, passage) for doc_id, read in block for passage in read.passages]
    predictions, records = iter(predictor.predict(texts, keys)), []
    for doc_id, read in block:
        of_document = list(islice(predictions, len(read.texts)))
        queries = [query for prediction in of_document for query in prediction.queries]
        records.append({"doc_id": doc_id, "queries": queries, "remarks": _remarks(read, of_document, predictor)})
    return records


def _remarks(read: Read, predictions: Sequence[Prediction], predictor: QueryPredictor) -> dict[str, int]:
    counts = Counter(read.remarks)
    counts[_NO_TEXT] += not any(read.texts)
    counts[f"passages cut at {predictor.max_tokens} tokens"] += sum(prediction.text_cut for prediction in predictions)
    counts[f"predicted queries cut at {predictor.decoding.max_query_tokens} tokens"] += sum(
        prediction.n_cut for prediction in predictions
    )
    counts["predicted queries that are empty, left out"] += sum(prediction.n_empty for prediction in predictions)
    return dict(+counts)


def _write(journal: Path, output: Path, notes: Notes) -> int:
    n_queries = 0
    with atomic_write(output, "w") as stream:
        for body in read_journal(journal):
            record = json.loads(body)
            for what, count in record["remarks"].items():
                notes.add(what, f"document {record['doc_id']}", count)
            stream.write(expansion_line(record["doc_id"], record["queries"]))
            n_queries += len(record["queries"])
    return n_queries
