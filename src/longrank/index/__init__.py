"""The index: built from a stream of documents in bounded memory, then memory-mapped and never changed.

build_index   documents -> folder
index_files   files -> documents -> folder
Index         postings, statistics and whole documents of a built one
verify_index  compares every file with its checksum
"""

from longrank.index.builder import build_index
from longrank.index.files import index_files
from longrank.index.folder import verify_index
from longrank.index.options import IndexOptions
from longrank.index.reader import Index

__all__ = ["Index", "IndexOptions", "build_index", "index_files", "verify_index"]
