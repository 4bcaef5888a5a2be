"""Small valid files of every format, from which fuzzing begins."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

from document_files import docx, epub, odt, paragraph, pdf_bytes, pptx
from evidences import evidence, write_evidence
from fuzz.written import SEEDS

HTML = b"<html><head><title>Dogs</title></head><body><h1>Dogs</h1><p>They bark &amp; run.</p></body></html>"
MAIL = (
    b"From: Ada <a@x.org>\nSubject: =?utf-8?q?D=C3=B6gs?=\nMIME-Version: 1.0\n"
    b"Content-Type: multipart/mixed; boundary=b\n\n"
    b"--b\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nRG9ncyBiYXJrLg==\n"
    b"--b\nContent-Type: text/html\n\n<p>Dogs.</p>\n--b--\n"
)
DOCUMENTS: dict[str, bytes] = {
    "jsonl": b'{"id": "d", "title": "Dogs", "text": "They bark.", "passages": [[0, 4], [5, 10]], "year": 2}\n',
    "tsv": b"d\tThey bark.\ne\tThey run.\n",
    "msmarco-docs": b"d\thttp://x\tDogs\tThey bark.\n",
    "trectext": b"<DOC>\n<DOCNO> d </DOCNO>\n<HEADLINE>Dogs</HEADLINE>\n<TEXT>\nThey bark.\n</TEXT>\n</DOC>\n",
    "trecweb": b"<DOC>\n<DOCNO>d</DOCNO>\n<DOCHDR>\nhttp://x\n</DOCHDR>\n" + HTML + b"\n</DOC>\n",
    "webap": b"<DOC>\n<DOCNO>d</DOCNO>\n<TARGET_QID>7</TARGET_QID>\n<ORIGINAL_DOCNO>o</ORIGINAL_DOCNO>\n<TEXT>\n"
    b"<GOOD>\n<SENTENCE>They bark.</SENTENCE>\n</GOOD>\n</TEXT>\n</DOC>\n",
    "cord19": b'cord_uid,title,abstract\nd,Dogs,"They bark."\n',
    "html": HTML,
    "text": b"Dogs\n\nThey bark.\n",
    "markdown": b"---\ntitle: Dogs\n---\n\n# Dogs\n\nThey *bark*, [see](x).\n\n```\ncode\n```\n\n- a\n- b\n",
    "rst": b"Dogs\n====\n\nThey *bark*.\n\n.. note:: x\n\n   y\n\n::\n\n   code\n",
    "eml": MAIL,
    "mbox": b"From ada Mon Jan  1 00:00:00 2024\n" + MAIL + b"\nFrom bob Mon Jan  1 00:00:00 2024\n" + MAIL,
    "pdf": pdf_bytes([["Dogs bark."], ["Cats purr."]], title="Dogs"),
}
QUERIES: dict[str, bytes] = {
    "jsonl": b'{"_id": "1", "text": "dogs", "narrative": "of all kinds"}\n{"_id": 2, "text": "cats"}\n',
    "tsv": b"1\tdogs\n2\tcats\n",
    "trec": b"<top>\n<num> Number: 1\n<title> dogs\n<desc> Description:\nDo they bark?\n</top>\n",
    "xml": b"<?xml version='1.0'?>\n<topics>"
    b"<topic number='1'><query>dogs</query><question>Why?</question></topic></topics>",
    "car": b"enwiki:Dog/Barking%20loud\n",
    "cedr": b"query\t1\tdogs\n",
}
OTHERS: dict[str, bytes] = {
    "qrels": b"1 0 d1 1\n1 0 d2 0\n2 0 d1 -1\n",
    "run": b"1 Q0 d1 1 2.5 t\n1 Q0 d2 2 1.25 t\n",
    "folds": b'{"s1": {"train": ["1"], "dev": ["2"], "test": ["3"]}, '
    b'"s2": {"train": ["3"], "dev": ["2"], "test": ["1"]}}',
    "expansions": b'{"id": "1", "queries": ["dogs", "cats"]}\n',
    "passage qrels": b"1 0 d1#2 1\n1 0 d1#3 0\n",
    "shown passages": b'{"query_id": "q", "doc_id": "d", "passages": [{"start": 0, "end": 5, "score": 1.0}]}\n',
    "passage documents": b"p1 d1\np2 d1\n",
    "answers": b'{"_id": "q", "text": "who", "answers": ["Ada", "Bob"]}\n',
    "settings": b"[first_stage]\nk = 5\n\n[final]\ndepth = 3\n",
    "model config": b'{"model_type": "bert", "hidden_size": 4, "architectures": ["BertModel"]}',
    "model tokenizer settings": b'{"tokenizer_class": "BertTokenizer", "model_max_length": 512}',
    "model modules": b'[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]',
    "model shards": b'{"weight_map": {"a": "shard.safetensors", "b": "shard.safetensors"}}',
    "model tokenizer": b'{"version": "1.0", "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a-z]+"}, '
    b'"behavior": "Isolated"}, "model": {"type": "WordPiece", "unk_token": "u", "vocab": {"u": 0}}}',
    "network description": b'{"format": "longrank document network", "version": 1, "network": "parade-max", '
    b'"options": {}, "untrained": true, "record": null}',
}
MADE: dict[str, Callable[[Path], Path]] = {
    "docx": lambda folder: docx(folder / "x.docx", paragraph("Dogs", "H2") + paragraph("They bark."), title="Dogs"),
    "pptx": lambda folder: pptx(folder / "x.pptx", [("Dogs", "They bark."), ("Cats", "purr")]),
    "odt": lambda folder: odt(folder / "x.odt", "<text:p>They bark.</text:p>", title="Dogs"),
    "epub": lambda folder: epub(folder / "x.epub", ["<h1>Dogs</h1><p>They bark.</p>"], title="Dogs"),
    "parquet": lambda folder: _table(folder / "x.parquet"),
    "arrow": lambda folder: _table(folder / "x.arrow"),
    "evidence": lambda folder: _evidence(folder / "e"),
    "model weights": lambda folder: _weights(folder / "model.safetensors"),
}


def _evidence(path: Path) -> Path:
    write_evidence(path, [[evidence("d", [1.0, 2.0])], [evidence("e", [0.5], query_id="r")]])
    return path


def _table(path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.table({"id": [1, 2], "title": ["Dogs", None], "text": ["They bark.", "Cats purr."], "tags": [["a"], []]})
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path, compression="uncompressed")
    return path


def _weights(path: Path) -> Path:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    return path


def seed(name: str, folder: Path) -> bytes:
    """Return the valid file of a target; `folder` is empty and for scratch."""
    if name in SEEDS:
        return SEEDS[name](folder)
    if name in MADE:
        return MADE[name](folder).read_bytes()
    if name.startswith("queries: "):
        return QUERIES[name.removeprefix("queries: ")]
    return OTHERS.get(name) or DOCUMENTS[name]
