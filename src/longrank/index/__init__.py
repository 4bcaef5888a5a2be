"""The index: built from a stream of documents in bounded memory, then memory-mapped and never changed.

Index         postings, statistics and whole documents of a built index; `Index.build` builds it
index_files   another name of `Index.build`
build_index   the same for options that are values
verify_index  compares every file with its checksum
"""

from longrank.index.folder import verify_index
from longrank.index.options import IndexOptions
from longrank.index.reader import Index, build_index
from longrank.index.shared import SharedIndex as SharedIndex  # an index is pickled by it

__all__ = ["Index", "IndexOptions", "build_index", "index_files", "verify_index"]

index_files = Index.build
