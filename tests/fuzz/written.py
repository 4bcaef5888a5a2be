"""Readers of what LongRank itself writes, or what its servers answer: records in folders that are otherwise valid."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

from longrank.cli.search import print_results
from longrank.collections.databases import parse_address
from longrank.collections.sqlite import read_rows
from longrank.errors import LongRankError
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.index.filter_parsing import parsed_filter
from longrank.index.folder import SOURCES
from longrank.index.metadata import NAME as METADATA
from longrank.index.sources import Sources, SourceState, read_sources, write_sources
from longrank.index.vectors import stored_vectors
from longrank.networks.late_settings import ARCHITECTURE, read_late_settings
from longrank.networks.late_settings import METADATA as METADATA_OF_COLBERT
from longrank.networks.model_files import Model
from longrank.ranking.calibration import Calibration, read_calibration, write_calibration
from longrank.ranking.found import result_json
from longrank.reproduction.recipe_files import load_recipe
from longrank.retrieval.stores import STORES, open_store
from longrank.service.client import results_of
from longrank.service.judging import opened_judging
from longrank.storage import MANIFEST, verify
from longrank.storage.manifests import seal, sha256_of
from longrank.storage.workplace import read_json
from longrank.training.passage_data.examples import ExampleFile
from longrank.training.settings import load_training
from longrank.types import Notes
from longrank.verbs.retrieve import retrieve
from stored import random_vectors, store

LATE = ("Transformer", "Dense", "MultiVectorMask")
LATE_FILES = {"late settings": "config_sentence_transformers.json", "late metadata": METADATA_OF_COLBERT}
Read = Callable[[Path, Notes], object]

DOCUMENTS = [{"doc_id": "d", "text": "Dogs bark.", "year": 2}, {"doc_id": "e", "title": "Cats", "text": "Cats purr."}]
FILES = {
    "index manifest": MANIFEST,
    "index sources": ".sources.jsonl",
    "segment manifest": f"data-*/{MANIFEST}",
    "index metadata": f"data-*/{METADATA}",
    "index texts": "data-*/texts.bytes",
    "compressed texts": "data-*/text_blocks.bytes",
    "shards": MANIFEST,
    "vector offsets": "vectors/tiny-words/offsets",
    "vectors manifest": f"vectors/tiny-words/{MANIFEST}",
}
"""Target -> the file of an index that it replaces."""


def made_index(folder: Path, name: str) -> Path:
    """Return an index with metadata, vectors and a record of its sources, built once in a folder."""
    built = folder / "valid"
    if not built.is_dir():
        lines = "".join(json.dumps(row) + "\n" for row in DOCUMENTS)
        (folder / "docs.jsonl").write_text(lines)
        options = {"compress": name == "compressed texts", "shards": 2 if name == "shards" else 1}
        index = Index.build(folder / "docs.jsonl", built, **options)
        store(index, random_vectors(index))
        path = str(folder / "docs.jsonl")
        write_sources(
            built / SOURCES, Sources((path,), CorpusOptions("jsonl"), {path: SourceState.of(folder / "docs.jsonl")})
        )
    return built


def place_of(name: str, index: Path) -> Path:
    """Return the file of an index that a target replaces."""
    (found,) = index.glob(FILES[name])
    return found


def index_with(name: str, path: Path, notes: Notes) -> object:
    """Open an index in which `path` is the file of `name`, and read it; checksums follow, as if they were forged."""
    valid = made_index(path.parent, name)
    changed = path.parent / "changed"
    shutil.rmtree(changed, ignore_errors=True)
    shutil.copytree(valid, changed)
    place = place_of(name, changed)
    place.write_bytes(path.read_bytes())
    if name not in ("index manifest", "shards", "vectors manifest", "index sources"):
        forge(place, changed)
    if name == "index sources":
        return read_sources(changed)
    index = Index.open(changed)
    if name in ("vectors manifest", "vector offsets"):
        vectors = stored_vectors(index)
        return [vectors.segmentation(document) for document in index], vectors.matrix.sum()
    run = retrieve(index, ["dogs purr"], notes=notes)
    return run, [(index.document(row.doc_id), index.metadata(row.doc_id)) for row in run.get("1")]


def forge(place: Path, index: Path) -> None:
    """Write the size and checksum of a file into the manifests of its segment and of its index."""
    for folder in (place.parent, index) if "vectors" not in place.parts else (place.parent,):
        if place != folder / MANIFEST:
            manifest = json.loads((folder / MANIFEST).read_bytes())
            entry = {"size": place.stat().st_size, "sha256": sha256_of(place)}
            manifest["files"][place.relative_to(folder).as_posix()] = entry
            (folder / MANIFEST).write_text(json.dumps(manifest))
            place = folder / MANIFEST


def sealed(path: Path, notes: Notes) -> object:
    folder = path.parent / "sealed"
    folder.mkdir(exist_ok=True)
    (folder / "record.json").write_bytes(b"{}")
    (folder / MANIFEST).write_bytes(path.read_bytes())
    return verify(folder)


def answer(path: Path, notes: Notes) -> object:
    try:
        results, _ = results_of("http://localhost", 200, path.read_bytes())
    except LongRankError:  # no wrong input, and no damaged file: the server is to blame
        return None
    with contextlib.redirect_stdout(io.StringIO()):
        print_results(results)
    return [json.dumps(result_json(result)) for result in results], results.notes.lines()


def judged(path: Path, notes: Notes) -> object:
    with opened_judging(path, notes=notes) as judging:
        return judging.describe()


def calibration(path: Path, notes: Notes) -> object:
    read = read_calibration(path)
    return read.summary, read.bound.of(read.bound.x)


def late_settings(name: str, path: Path, notes: Notes) -> object:
    """Read the settings of a late-interaction model in which `path` is the file `name`; the other files are valid."""
    folder = path.parent / "late"
    folder.mkdir(exist_ok=True)
    is_colbert = name == METADATA_OF_COLBERT
    (folder / "config.json").write_text(json.dumps({"architectures": [ARCHITECTURE] if is_colbert else []}))
    if not is_colbert:
        (folder / "modules.json").write_text(json.dumps([{"type": f"x.{kind}", "path": ""} for kind in LATE]))
    (folder / name).write_bytes(path.read_bytes())
    return read_late_settings(Model("late", folder, folder, ""), notes)


WRITTEN: dict[str, Read] = {
    **{name: partial(index_with, name) for name in FILES},
    **{f"store: {name}": partial(lambda name, path, notes: open_store(f"{name}:{path}"), name) for name in STORES},
    "recipe": lambda path, notes: load_recipe(str(path)),
    "training": lambda path, notes: load_training(str(path)),
    "training examples": lambda path, notes: list(ExampleFile(path, notes)),
    "calibration": calibration,
    "finished folder": sealed,
    "record of a folder": lambda path, notes: read_json(path),
    "server answer": answer,
    "judgments of the page": judged,
    "filter": lambda path, notes: parsed_filter(path.read_text("utf-8", "replace")),
    **{name: partial(late_settings, file) for name, file in LATE_FILES.items()},
    "sqlite": lambda path, notes: list(read_rows(parse_address(f"sqlite:///{path}?query=SELECT * FROM docs"))),
}


ANSWER = {
    "query": "dogs",
    "pipeline": "lexical",
    "warnings": ["w"],
    "partial": {"n_documents": 2, "n_read": 1, "n_partly": 0, "n_unread": 1},
    "results": [
        {
            **{"rank": 1, "doc_id": "d", "title": "", "score": 1.5, "first_stage": 1.5, "aggregate": 1.5},
            **{"n_passages": 1, "n_scored": 1, "n_truncated": 0, "metadata": {"year": 2}},
            "passages": [
                {"index": 0, "start": 0, "end": 4, "score": 1.0, "text": "Dogs", "words": [[0, 4]], "highlights": []}
            ],
        }
    ],
}
TEXTS: dict[str, str] = {
    "store: postgres": 'url = "postgresql://ada@localhost/library"\ntable = "books"\n',
    "store: opensearch": 'url = "http://localhost:9200"\nindex = "books"\n',
    "store: elasticsearch": 'url = "http://localhost:9200"\nindex = "books"\n',
    "store: qdrant": 'url = "http://localhost:6333"\ncollection = "books"\nencoder = "minilm"\n',
    "recipe": 'paper = "OWN"\nabout = "made up"\nitem = "Table 2"\ncollection = "tiny"\nmeasures = ["AP"]\n'
    'program = "birch:results"\nexpected = [{ row = "x", values = { AP = 0.1 } }]\n[settings]\ndepth = 10\n'
    '[[decision]]\nabout = "folds"\ntext = "Not said."\nchoice = "five"\n',
    "training": '[network]\nname = "cross-encoder"\nmodel = "minilm"\n[[loss]]\nname = "cross-entropy"\n[loop]\n'
    'steps = 9\nbatch = 4\noptimizer = { name = "adamw", learning_rate = 1e-5 }\n[validation]\nmeasure = "AP"\n',
    "training examples": '{"query": "dogs", "texts": ["Dogs bark.", "Cats purr."]}\n',
    "record of a folder": '{"format": "longrank training", "seed": 1}',
    "late settings": '{"query_prefix": "[Q] ", "document_length": 300, "prompts": {"query": "q"}, "query_length": 32}',
    "late metadata": '{"query_maxlen": 32, "doc_maxlen": 180, "mask_punctuation": true, "query_token_id": "[Q]"}',
    "server answer": json.dumps(ANSWER),
    "judgments of the page": "1 0 d 1\n",
    "filter": '{"$and": [{"year": {"$gte": 2}}, {"lang": {"$in": ["en", "de"]}}]}',
}


def _calibration(path: Path) -> bytes:
    write_calibration(Calibration(3, 0.1, "maxp", "cheap", "dear", 20, 0.0, 0.5, (0.0, 1.0), (0.5, 2.0), 0.25), path)
    return path.read_bytes()


def _sealed(folder: Path) -> bytes:
    folder.mkdir(exist_ok=True)
    (folder / "record.json").write_bytes(b"{}")
    seal(folder, "training")
    return (folder / MANIFEST).read_bytes()


def _database(path: Path) -> bytes:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE IF NOT EXISTS docs (id TEXT, text TEXT, year INT)")
        database.execute("INSERT INTO docs VALUES ('d', 'Dogs bark.', 2), ('e', 'Cats purr.', NULL)")
        database.commit()
    return path.read_bytes()


SEEDS: dict[str, Callable[[Path], bytes]] = {
    **{name: partial(lambda text, folder: text.encode(), text) for name, text in TEXTS.items()},
    **{
        name: partial(
            lambda name, folder: place_of(name, made_index(folder, name)).read_bytes(),
            name,
        )
        for name in FILES
    },
    "calibration": lambda folder: _calibration(folder / "calibration.json"),
    "finished folder": lambda folder: _sealed(folder / "sealed"),
    "sqlite": lambda folder: _database(folder / "docs.sqlite"),
}
"""Target -> a valid file of it; the folder is for scratch."""
