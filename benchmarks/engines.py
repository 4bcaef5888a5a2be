"""Search engines behind one interface, each run in a process of its own: ``python engines.py ENGINE ...``.

    build SOURCE FOLDER CORES     index a folder of JSONL files, from text to an index on disk
    serve FOLDER                  answer questions: a line of JSON each, on standard input and output

Words are those between spaces. All rank by BM25 with k1 .9 and b .4, except tantivy, whose 1.2 and .75 are
fixed. An engine is imported only where it runs, so each may live in another Python.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL, RTLD_GLOBAL
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

Ranking = list[tuple[str, float]]


def documents(source: str) -> Iterator[tuple[str, str]]:
    for path in sorted(Path(source).glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                one = json.loads(line)
                yield one["id"], one["contents"]


def passed_on(answers: Iterator[Any]) -> None:
    for _ in answers:
        pass


class Engine(ABC):
    """An open index. Queries are text, so that their analysis is measured, too."""

    batches: tuple[str, ...] = ("arrays", "rows")
    module: str

    @classmethod
    def installed(cls) -> None:
        """Fail if the engine cannot be imported."""
        __import__(cls.module)

    @staticmethod
    @abstractmethod
    def build(source: str, folder: str, cores: int) -> None:
        """Index on all cores, as far as the engine can."""

    @abstractmethod
    def __init__(self, folder: str) -> None: ...

    @abstractmethod
    def arrays(self, text: str, k: int) -> object:
        """Find the k best: numbers of documents and scores, as the engine keeps them."""

    @abstractmethod
    def rows(self, text: str, k: int) -> Ranking:
        """Find the k best: ids of documents and scores, in Python."""

    def batch(self, texts: list[str], k: int, cores: int, kind: str) -> object:
        """Answer all queries on all cores; rows are made one after another and forgotten, as when a run is written."""
        with ThreadPoolExecutor(cores) as pool:
            answers = pool.map(lambda text: getattr(self, kind)(text, k), texts)
            return list(answers) if kind == "arrays" else passed_on(answers)


class LongRank(Engine):
    """LongRank; `rows` are the rankings of `retrieve`."""

    module = "longrank"

    @staticmethod
    def build(source: str, folder: str, cores: int) -> None:
        from longrank.cli.main import main

        if code := main(["index", source, "-o", folder, "--analyzer", "none", "--workers", str(cores)]):
            sys.exit(code)

    def __init__(self, folder: str) -> None:
        from longrank.index import Index
        from longrank.retrieval import BM25, make_retriever

        self.index = Index.open(folder)
        self.bm25 = BM25(self.index)
        self.rm3 = make_retriever(self.index, "bm25-anserini+rm3", fb_docs=10, fb_terms=10)

    def arrays(self, text: str, k: int) -> object:
        return self.bm25.search(self.bm25.query_terms(self._query(text)), k)

    def rows(self, text: str, k: int) -> Ranking:
        return self.bm25.retrieve(self._query(text), k)  # type: ignore[return-value]

    def batch(self, texts: list[str], k: int, cores: int, kind: str) -> object:
        from longrank.retrieval import retrieve_all

        if kind == "rows":
            found = retrieve_all(self.bm25, [self._query(text) for text in texts], k, cores)
            return passed_on(list(zip(one.doc_ids, one.scores, strict=True)) for one in found)
        with ThreadPoolExecutor(cores) as pool:
            blocks = [texts[first : first + 16] for first in range(0, len(texts), 16)]
            return list(pool.map(lambda block: self._hits(block, k), blocks))

    def _hits(self, texts: list[str], k: int) -> object:
        return self.bm25.search_all([self.bm25.query_terms(self._query(text)) for text in texts], k)

    def top(self, texts: list[str], k: int, settings: dict[str, Any]) -> list[Ranking]:
        """Return rankings with the parameters of another engine."""
        from longrank.retrieval import BM25

        bm25 = BM25(self.index, **settings)
        return [[(row.doc_id, row.score) for row in bm25.retrieve(self._query(text), k)] for text in texts]

    def feedback(self, texts: list[str], k: int) -> list[tuple[float, float]]:
        """Time RM3, and its two searches alone (the query, and the expanded query, k documents each), in ms."""
        return [self._feedback(self._query(text), k) for text in texts]

    def _feedback(self, query: Any, k: int) -> tuple[float, float]:
        start = time.perf_counter()
        expanded = self.rm3.expand(query).terms
        self.bm25.search(expanded, k)
        middle = time.perf_counter()
        self.bm25.search(self.bm25.query_terms(query), k)
        self.bm25.search(expanded, k)
        return 1000 * (middle - start), 1000 * (time.perf_counter() - middle)

    def _query(self, text: str) -> Any:
        from longrank.types import Query

        return Query("q", text)


class Bm25s(Engine):
    """bm25s with its numba backend and its own tokenizer, which is told to split at spaces."""

    module = "bm25s"

    @staticmethod
    def _tokens(texts: list[str], **options: Any) -> Any:
        import bm25s

        return bm25s.tokenize(texts, stopwords=None, token_pattern=r"\S+", show_progress=False, **options)

    @staticmethod
    def build(source: str, folder: str, cores: int) -> None:
        import bm25s

        ids, texts = zip(*documents(source), strict=True)
        engine = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
        engine.index(Bm25s._tokens(list(texts)), show_progress=False)
        engine.save(folder, show_progress=False)
        (Path(folder) / "ids.json").write_text(json.dumps(ids))

    def __init__(self, folder: str) -> None:
        import bm25s
        import numpy as np

        self.engine = bm25s.BM25.load(folder, show_progress=False)
        self.ids = np.array(json.loads((Path(folder) / "ids.json").read_text()), object)

    def _found(self, texts: list[str], k: int, cores: int, **options: Any) -> Any:
        tokens = self._tokens(texts, return_ids=False)
        return self.engine.retrieve(tokens, k=k, n_threads=cores, show_progress=False, **options)

    def arrays(self, text: str, k: int) -> object:
        return self._found([text], k, 1)

    def rows(self, text: str, k: int) -> Ranking:
        return next(self._ranked([text], k, 1))

    def batch(self, texts: list[str], k: int, cores: int, kind: str) -> object:
        return self._found(texts, k, cores) if kind == "arrays" else passed_on(self._ranked(texts, k, cores))

    def _ranked(self, texts: list[str], k: int, cores: int) -> Iterator[Ranking]:
        found = self._found(texts, k, cores, corpus=self.ids)
        columns = zip(found.documents.tolist(), found.scores.tolist(), strict=True)
        return (list(zip(ids, scores, strict=True)) for ids, scores in columns)


class Lucene(Engine):
    """Anserini's searcher, through pyserini; `arrays` and batches are left in Java.

    There is no batch of `arrays`: the bridge to Java crashes when several threads call the same method.
    """

    batches, module = ("rows",), "pyserini"

    @staticmethod
    def _load(name: str) -> Any:
        from pyserini.pyclass import autoclass

        return autoclass(name)

    @staticmethod
    def build(source: str, folder: str, cores: int) -> None:
        how = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-pretokenized"]
        arguments = [*how, "-input", source, "-index", folder, "-threads", str(cores)]
        Lucene._load("io.anserini.index.IndexCollection").main(arguments)

    def __init__(self, folder: str) -> None:
        self.analyzer = self._load("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()
        self.words = self._load("io.anserini.search.query.BagOfWordsQueryGenerator")()
        self.engine = self._load("io.anserini.search.SimpleSearcher")(folder, self.analyzer)
        self.engine.set_bm25(0.9, 0.4)

    def arrays(self, text: str, k: int) -> object:
        return self.engine.searcher.search(self.words.buildQuery("contents", self.analyzer, text), k)

    def rows(self, text: str, k: int) -> Ranking:
        return [(hit.docid, hit.score) for hit in self.engine.search(text, k)]

    def batch(self, texts: list[str], k: int, cores: int, kind: str) -> object:
        queries, ids = (self._load("java.util.ArrayList")() for _ in range(2))
        for number, text in enumerate(texts):
            queries.add(text), ids.add(str(number))
        return self.engine.batch_search(queries, ids, k, cores)


class Tantivy(Engine):
    """tantivy with its own BM25 (k1 1.2, b .75); ids are stored fields, the only way to them from Python."""

    module = "tantivy"

    @staticmethod
    def _schema() -> Any:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        return builder.build()

    @staticmethod
    def build(source: str, folder: str, cores: int) -> None:
        import tantivy

        Path(folder).mkdir()
        writer = tantivy.Index(Tantivy._schema(), path=folder).writer(num_threads=cores)
        for doc_id, text in documents(source):
            writer.add_document(tantivy.Document(id=doc_id, body=text))
        writer.commit()
        writer.wait_merging_threads()

    def __init__(self, folder: str) -> None:
        import tantivy

        self.tantivy, self.schema = tantivy, self._schema()
        self.engine = tantivy.Index(self.schema, path=folder).searcher()

    def arrays(self, text: str, k: int) -> Any:
        some, term = self.tantivy.Occur.Should, self.tantivy.Query.term_query
        words = [(some, term(self.schema, "body", word, "freq")) for word in text.split()]
        return self.engine.search(self.tantivy.Query.boolean_query(words), k, count=False).hits

    def rows(self, text: str, k: int) -> Ranking:
        return [(self.engine.doc(place).get_first("id"), score) for score, place in self.arrays(text, k)]


class Pisa(Engine):
    """PISA's MaxScore over SIMD-BP128 blocks, by the compiled part of pyterrier_pisa alone: the rest needs Java."""

    module = "pyterrier_pisa"

    @classmethod
    def installed(cls) -> None:
        cls._library()

    @staticmethod
    def _library() -> Any:
        package = find_spec(Pisa.module)
        if package is None or package.submodule_search_locations is None:
            raise ModuleNotFoundError(Pisa.module)
        threads = Path(sys.prefix) / "lib" / "libtbb.so.2"
        if threads.exists():  # of the package tbb 2020.3.254, whose folder is not searched for libraries
            CDLL(str(threads), RTLD_GLOBAL)
        (path,) = Path(next(iter(package.submodule_search_locations))).glob("_pisathon*.so")
        spec = spec_from_file_location("_pisathon", path)
        assert spec and spec.loader
        library = module_from_spec(spec)
        spec.loader.exec_module(library)
        return library

    @staticmethod
    def build(source: str, folder: str, cores: int) -> None:
        Path(folder).mkdir()
        with tempfile.NamedTemporaryFile("w", dir=Path(folder).parent, encoding="utf-8") as stream:
            stream.writelines(f"{doc_id} {text}\n" for doc_id, text in documents(source))
            stream.flush()
            Pisa._library().index(stream.name, folder, "", 100_000, cores)
        Pisa(folder).arrays("a", 1)  # it compresses postings and computes bounds when first opened

    def __init__(self, folder: str) -> None:
        self.library = self._library()
        self.context = self.library.RetrievalContext()
        self.library.prepare_index(self.context, folder, "block_simdbp", "bm25", "", bm25_k1=0.9, bm25_b=0.4)

    def arrays(self, text: str, k: int) -> Any:
        import numpy as np

        queries, ranks = (np.empty(k, np.int32) for _ in range(2))
        ids, scores = np.empty(k, object), np.empty(k, np.float32)
        results = {"result_qidxs": queries, "result_docnos": ids, "result_ranks": ranks, "result_scores": scores}
        n = self.library.retrieve(self.context, "maxscore", [(0, text)], k=k, threads=1, **results)
        return ids[:n], scores[:n]

    def rows(self, text: str, k: int) -> Ranking:
        ids, scores = self.arrays(text, k)
        return list(zip(ids.tolist(), scores.tolist(), strict=True))


ENGINES: dict[str, type[Engine]] = {
    "longrank": LongRank,
    "bm25s": Bm25s,
    "lucene": Lucene,
    "tantivy": Tantivy,
    "pisa": Pisa,
}


def serve(engine: Engine) -> None:
    """Answer until there are no more questions. Whatever else is printed goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(engine, **json.loads(line))), file=answers, flush=True)


def answer(engine: Any, what: str, texts: list[str], k: int, **more: Any) -> Any:
    """Return the ms of single queries (``arrays``, ``rows``) or of a ``batch``, if there is one; or another answer.

    ``cpu`` is ``arrays`` in CPU time of all threads.
    """
    if what in ("arrays", "rows"):
        return [_timed(getattr(engine, what), text, k) for text in texts]
    if what == "cpu":
        return [_timed(engine.arrays, text, k, clock=time.process_time) for text in texts]
    if what == "batch":
        return _timed(engine.batch, texts, k, more["cores"], more["kind"]) if more["kind"] in engine.batches else None
    if what == "found":
        return [engine.rows(text, k) for text in texts]
    return getattr(engine, what)(texts, k, **more)


def _timed(work: Any, *arguments: Any, clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    work(*arguments)
    return 1000 * (clock() - start)


def main() -> None:
    name, what, *arguments = sys.argv[1:]
    engine = ENGINES[name]
    if what == "build":
        source, folder, cores = arguments
        engine.build(source, folder, int(cores))
    elif what == "serve":
        serve(engine(arguments[0]))
    else:  # is it installed?
        engine.installed()


if __name__ == "__main__":
    main()
