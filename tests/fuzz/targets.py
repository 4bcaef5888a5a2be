"""The readers that are fuzzed: name -> function of a file and of notes. Only LongRank's own errors may escape."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fuzz.seeds import OTHERS
from fuzz.written import WRITTEN
from longrank.collections.documents import locate_documents
from longrank.errors import InputError, IntegrityError
from longrank.formats.answers import read_answers
from longrank.formats.corpora import READERS
from longrank.formats.evidence import read_evidence
from longrank.formats.expansions import read_expansions
from longrank.formats.folds import read_folds
from longrank.formats.passage_documents import read_passage_documents
from longrank.formats.passage_qrels import read_passage_judgments
from longrank.formats.queries import QUERY_FORMATS, read_queries
from longrank.formats.records import CorpusOptions
from longrank.formats.shown_passages import read_shown_passages
from longrank.formats.trec import read_qrels, read_run
from longrank.models.description import describe
from longrank.networks.model_files import find_model
from longrank.ranking.settings import load_pipeline
from longrank.types import Notes

Read = Callable[[Path, Notes], object]
DECLARED = (InputError, IntegrityError)

MODEL_FILES = {
    "model config": "config.json",
    "model tokenizer settings": "tokenizer_config.json",
    "model modules": "modules.json",
    "model shards": "model.safetensors.index.json",
    "model weights": "model.safetensors",
    "model tokenizer": "tokenizer.json",
}


def documents(format: str, path: Path, notes: Notes) -> object:
    return list(locate_documents([str(path)], notes, CorpusOptions(format)))


def evidence(path: Path, notes: Notes) -> object:
    return list(read_evidence(path)[1])


def model_file(name: str, path: Path, notes: Notes) -> object:
    """Check the model folder in which `path` is the file `name`; the other files are valid."""
    folder = path.parent / "model"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes(OTHERS["model config"])
    for other in (*MODEL_FILES.values(), "shard.safetensors"):
        if other.endswith(".safetensors"):
            (folder / other).write_bytes(NO_TENSORS)
        elif other != "config.json":
            (folder / other).unlink(missing_ok=True)
    (folder / name).write_bytes(path.read_bytes())
    if name == MODEL_FILES["model shards"]:
        (folder / "model.safetensors").unlink()  # the shards are the weights
    return find_model(str(folder))


NO_TENSORS = (2).to_bytes(8, "little") + b"{}"


def network_description(path: Path, notes: Notes) -> object:
    folder = path.parent / "network"
    folder.mkdir(exist_ok=True)
    (folder / "longrank.json").write_bytes(path.read_bytes())
    return describe(folder)


TARGETS: dict[str, Read] = {
    **{name: partial(documents, name) for name in READERS},
    "queries": read_queries,
    **{f"queries: {name}": partial(read_queries, format=name) for name in QUERY_FORMATS},
    "qrels": read_qrels,
    "run": read_run,
    "folds": read_folds,
    "expansions": lambda path, notes: list(read_expansions([path], notes)),
    "passage qrels": read_passage_judgments,
    "passage documents": lambda path, notes: read_passage_documents(path, {"p1"}, notes),
    "shown passages": lambda path, notes: list(read_shown_passages(path, notes)),
    "answers": read_answers,
    "evidence": evidence,
    "settings": lambda path, notes: load_pipeline(str(path)),
    **{name: partial(model_file, file) for name, file in MODEL_FILES.items()},
    "network description": network_description,
    **WRITTEN,
}

EXTRAS = {
    "pdf": "pypdfium2",
    **dict.fromkeys(("docx", "pptx", "odt", "epub"), "defusedxml"),
    **dict.fromkeys(("html", "trecweb"), "resiliparse"),
    "markdown": "markdown_it",
    **dict.fromkeys(("parquet", "arrow"), "pyarrow"),
    "store: postgres": "psycopg",
    "store: opensearch": "opensearchpy",
    "store: elasticsearch": "elasticsearch",
    "store: qdrant": "qdrant_client",
    "compressed texts": "backports" if sys.version_info < (3, 14) else "compression.zstd",
    "server answer": "fastapi",
    "judgments of the page": "fastapi",
}
"""Target -> the module that it needs."""


TOML = ("settings", "recipe", "training", *(target for target in WRITTEN if target.startswith("store: ")))


def file_name(target: str) -> str:
    """Return the name under which a target's bytes are stored."""
    return "fuzzed.toml" if target in TOML else f"fuzzed.{target}" if target in READERS else "fuzzed"
