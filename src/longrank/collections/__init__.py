"""Read collections and their parts from files, names, datasets and values in memory.

read_queries      file, collection, ``irds:ID``, texts, mapping, table     -> queries
read_qrels        file, collection, ``irds:ID``, mapping, table            -> judgments
read_run          file, mapping, table                                     -> run
read_documents    files, folders, ``irds:ID``, iterable                    -> stream of documents
open_collection   name of the catalogue, folder, ``irds:ID``               -> places of the parts
"""

from longrank.collections.collection import Collection, open_collection, places
from longrank.collections.documents import read_documents
from longrank.collections.judgments import Judgments, read_qrels
from longrank.collections.queries import Queries, read_queries
from longrank.collections.runs import read_run

__all__ = [
    "Collection",
    "Judgments",
    "Queries",
    "open_collection",
    "places",
    "read_documents",
    "read_qrels",
    "read_queries",
    "read_run",
]
