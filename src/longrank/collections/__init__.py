"""Read collections and their parts from files, names, datasets and values in memory.

read_queries      file, collection, ``irds:ID``, texts, mapping, table     -> queries
read_qrels        file, collection, ``irds:ID``, mapping, table            -> judgments
read_run          file, mapping, table                                     -> run
read_answers      file, collection, mapping                                -> texts that answer the queries
read_gold_spans   file, collection, mapping                                -> judgments of passages
read_documents    files, folders, ``irds:ID``, iterable                    -> stream of documents
open_collection   name of the catalogue, folder, ``irds:ID``               -> places of the parts
"""

from longrank.collections.collection import open_collection as open_collection
from longrank.collections.collection import places as places
from longrank.collections.documents import read_documents as read_documents
from longrank.collections.gold import read_answers as read_answers
from longrank.collections.gold import read_gold_spans as read_gold_spans
from longrank.collections.judgments import read_qrels as read_qrels
from longrank.collections.queries import read_queries as read_queries
from longrank.collections.runs import read_run as read_run
