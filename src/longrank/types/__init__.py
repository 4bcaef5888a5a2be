"""The values that travel between the rooms: plain, no torch, no pandas at import.

    Query -> [ScoredDoc] -> Document -> [Passage] -> Evidence -> Run -> measures against Qrels

Offsets are half-open and count Unicode code points, as Python slices do.
"""

from longrank.types.frames import columns_of as columns_of
from longrank.types.frames import id_of as id_of
from longrank.types.frames import is_frame as is_frame
from longrank.types.frames import rows_of as rows_of
from longrank.types.html import html_table as html_table
from longrank.types.notes import Notes as Notes
from longrank.types.pages import Pages as Pages
from longrank.types.pages import headings_of as headings_of
from longrank.types.run import Run as Run
from longrank.types.values import NONE_MISSING as NONE_MISSING
from longrank.types.values import UNMATCHED as UNMATCHED
from longrank.types.values import Document as Document
from longrank.types.values import Evidence as Evidence
from longrank.types.values import Float32s as Float32s
from longrank.types.values import Int32s as Int32s
from longrank.types.values import Missing as Missing
from longrank.types.values import Passage as Passage
from longrank.types.values import Qrels as Qrels
from longrank.types.values import Query as Query
from longrank.types.values import Ranking as Ranking
from longrank.types.values import ScoredDoc as ScoredDoc
from longrank.types.values import Segmentation as Segmentation
from longrank.types.values import Span as Span
from longrank.types.values import scored_docs as scored_docs
