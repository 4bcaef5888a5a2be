"""Hashes of documents by their content."""

from __future__ import annotations

import hashlib

from longrank.types import Document

SIZE = 16
"""Bytes of a hash."""


def hash_of(document: Document) -> bytes:
    """Return a hash of all that the passages of a document depend on, 16 bytes."""
    digest = hashlib.blake2b(digest_size=SIZE)
    headings = [repr(document.headings)] if document.headings else []  # hashes of other documents stay as they were
    for part in (document.doc_id, document.title, document.text, repr(document.passages), *headings):
        content = part.encode(errors="surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.digest()
