"""The values that travel between the rooms: plain, no torch, no pandas at import.

    Query -> [ScoredDoc] -> Document -> [Passage] -> Evidence -> Run -> measures against Qrels

Offsets are half-open and count Unicode code points, as Python slices do.
"""

from longrank.types.frames import column_names, columns_of, id_of, is_frame
from longrank.types.html import html_table
from longrank.types.notes import Notes
from longrank.types.run import Run
from longrank.types.values import (
    Document,
    Evidence,
    Float32s,
    Int32s,
    Passage,
    Qrels,
    Query,
    ScoredDoc,
    Segmentation,
    scored_docs,
)

__all__ = [
    "Document",
    "Evidence",
    "Float32s",
    "Int32s",
    "Notes",
    "Passage",
    "Qrels",
    "Query",
    "Run",
    "ScoredDoc",
    "Segmentation",
    "column_names",
    "columns_of",
    "html_table",
    "id_of",
    "is_frame",
    "scored_docs",
]
