"""The malformed documents of the test plan, one row per numbered case: what is given, what must come.

Used twice: on the readers (`tests/unit/formats`) and on `longrank index` (`tests/cli`). Case 47, the same id
twice, is found by whoever collects documents, so only the command knows it.
"""

from __future__ import annotations

import gzip
import zlib
from typing import NamedTuple


class Case(NamedTuple):
    """A malformed file of documents and what must come of it.

    Attributes:
        number: the case's number.
        outcome: E refused, W accepted with a counted remark, O accepted.
        name: the file's name, which tells its format.
        content: the file.
        line: the line an E names, 0 for none.
        says: words of the error, or of the remark.
        text: what must be the text of document 1 where the file is accepted.
        options: what `longrank index` is given besides.
        what: tells rows of one case apart.
    """

    number: int
    outcome: str
    name: str
    content: bytes
    line: int = 0
    says: str = ""
    text: str = "dogs"
    options: tuple[str, ...] = ()
    what: str = ""

    @property
    def id(self) -> str:
        return "-".join(filter(None, (f"case-{self.number}-{self.outcome}", self.what)))


def by_id(case: Case) -> str:
    return case.id


GOOD = '{"id": "0", "text": "cats"}\n'


def jsonl(number: int, outcome: str, second: str, says: str = "", what: str = "", text: str = "dogs") -> Case:
    """A good line and the line in question."""
    return Case(number, outcome, "docs.jsonl", (GOOD + second + "\n").encode(), 2, says, text, what=what)


def doc(inside: str, docno: str = "1") -> str:
    return f"<DOC>\n<DOCNO> {docno} </DOCNO>\n<TEXT>\n{inside}\n</TEXT>\n</DOC>\n"


def trec(number: int, outcome: str, content: str, line: int = 0, says: str = "", what: str = "") -> Case:
    return Case(number, outcome, "docs.trectext", content.encode(), line, says, what=what)


def page(body: str, head: str = "<title>t</title>") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body><p>{body}</p></body></html>"


JSONL = [
    jsonl(41, "E", '{"id": 1, "text": "dogs"', "is not JSON"),
    jsonl(41, "E", "dogs", "is not JSON", "word"),
    Case(42, "E", "docs.json", b'[{"id": 1, "text": "dogs"}]', 1, "looks like JSON, not JSONL"),
    Case(42, "E", "docs.jsonl", b'[\n{"id": 1, "text": "dogs"}\n]\n', 1, "looks like JSON, not JSONL", what="lines"),
    jsonl(43, "E", '{"text": "dogs"}', "no id; one of doc_id, id, _id, docno is needed"),
    jsonl(44, "E", '{"id": 1, "title": "dogs"}', "no text; a field text or body or contents is needed"),
    Case(45, "O", "docs.jsonl", b'{"id": 1, "text": "dogs"}\n{"id": "7", "text": "cats"}\n', what="number"),
    jsonl(46, "E", '{"id": 1, "text": "dogs", "text": "cats"}', "key occurs twice"),
    jsonl(48, "E", '{"id": 1, "text": null}', "'text' is null"),
    jsonl(48, "E", '{"id": 1, "body": null}', "'body' is null", "alias"),
    jsonl(49, "W", '{"id": 1, "text": ""}', "documents with an empty text: 1", text=""),
    jsonl(50, "E", '{"id": 1, "text": 5}', "'text' is not a string (got 5)"),
    jsonl(50, "E", '{"id": 1, "text": ["dogs"]}', "'text' is not a string", "list"),
    jsonl(50, "E", '{"id": 1, "text": "dogs", "title": 5}', "'title' is not a string", "title"),
    jsonl(51, "E", '{"id": 1, "text": "dogs", "x": NaN}', "is not a JSON number"),
    jsonl(52, "E", '{"id": 1, "text": "dogs", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper than 100"),
    jsonl(53, "E", '{"id": 1, "text": "dogs", "x": ' + "1" * 5000 + "}", "number of 5000 digits"),
    jsonl(53, "E", '{"id": ' + "1" * 5000 + ', "text": "dogs"}', "number of 5000 digits", "id"),
    jsonl(54, "W", '{"id": 1, "text": "\\ud800dogs"}', "lone surrogates replaced by U+FFFD: 1", text="\ufffddogs"),
]

LONG = ("x" * 99 + " ") * 100_000 + "dogs"  # 10 MB

TREC = [
    trec(55, "E", doc("cats", "0") + doc("dogs")[:-7], 7, "<DOC> is never closed; the file looks truncated"),
    trec(56, "E", doc("cats\n<DOC>\ndogs"), 5, "<DOC> inside the <DOC> of line 1"),
    trec(56, "E", doc("dogs") + "</DOC>\n", 7, "</DOC> without a <DOC>", "closed-twice"),
    trec(57, "E", doc("cats", "0") + "<DOC>\n<TEXT>dogs</TEXT>\n</DOC>\n", 7, "no <DOCNO> in this <DOC>"),
    trec(57, "E", "<DOC>\n<DOCNO> </DOCNO>\ndogs</DOC>\n", 2, "DOCNO is empty", "empty"),
    trec(57, "E", "<DOC>\n<DOCNO> 1 \n<TEXT>dogs</TEXT></DOC>\n", 2, "<DOCNO> is not closed", "open"),
    trec(58, "E", doc("dogs").replace("</DOCNO>", "</DOCNO>\n<DOCNO>2</DOCNO>"), 3, "second <DOCNO> in one <DOC>"),
    trec(59, "O", doc("dogs", "  1\t"), what="outside"),
    trec(59, "E", doc("dogs", "FT 911"), 2, "DOCNO holds white space (got 'FT 911')", "inside"),
    Case(
        60, "O", "docs.trectext", doc("R&D: a < b &amp;&lt; &lt;P&gt; &nosuch; AT&T").encode(),
        text="R&D: a < b &< <P> &nosuch; AT&T",
    ),
    Case(61, "E", "docs.trectext", doc("d\xf6gs").encode("latin-1"), 4, "byte 33 is not utf-8 (got '0xf6')"),
    Case(61, "O", "docs.trectext", doc("d\xf6gs").encode("latin-1"), text="d\xf6gs", options=("--encoding", "latin-1")),
    Case(
        61, "W", "docs.trectext", doc("d\xf6gs").encode("latin-1"), says="undecodable bytes replaced by U+FFFD: 1",
        text="d\ufffdgs", options=("--encoding-errors", "replace"),
    ),
    trec(62, "O", doc("dogs").lower()),
    trec(62, "O", doc("dogs").replace("DOC", "Doc").replace("<TEXT>", "<Text>"), what="mixed"),
    Case(63, "O", "docs.trectext", doc(LONG).replace("\n", "").encode(), text=LONG),
]  # fmt: skip

BREAKS = "a\u2028b\u0085c\xa0d"  # what str.splitlines and str.split take for ends of lines and words

TSV = [
    Case(64, "E", "docs.tsv", b"0\tcats\n1\tdogs\tand more\n", 2, "3 columns instead of 2"),
    Case(64, "E", "docs.tsv", b"0\tcats\n1 dogs\n", 2, "1 column instead of 2", what="none"),
    Case(64, "E", "docs.tsv", b"0\tcats\n1", 2, "the file looks truncated", what="truncated"),
    Case(64, "E", "docs.tsv", b"1\turl\ttitle\n", 1, "3 columns instead of 4", options=("--format", "msmarco-docs")),
    Case(64, "O", "docs.tsv", b"1\turl\ttitle\tdogs\n", options=("--format", "msmarco-docs")),
    Case(65, "O", "docs.tsv", b"1\tdogs\r\n2\tcats\r\n"),
    Case(65, "O", "docs.jsonl", b'{"id": 1, "text": "dogs"}\r\n', what="jsonl"),
    Case(65, "O", "docs.trectext", doc("dogs").replace("\n", "\r\n").encode(), what="trectext"),
    Case(66, "O", "docs.tsv", b'1\t"dogs\n2\tcats"\n', text='"dogs'),
    Case(67, "E", "docs.tsv", "1\tdogs\n".encode("utf-16"), says="file is UTF-16"),
    Case(67, "E", "docs.html", page("dogs").encode("utf-16"), says="file is UTF-16", what="html"),
    Case(68, "O", "docs.tsv", f"1\t{BREAKS}\x0b\x1c.\n".encode(), text=f"{BREAKS}\x0b\x1c."),
    Case(68, "O", "docs.jsonl", f'{{"id": 1, "text": "{BREAKS}"}}\n'.encode(), text=BREAKS, what="jsonl"),
]  # fmt: skip

HTML = [
    Case(69, "O", "1.html", b"<html><body><div><p>dogs<b> bark<li></div><i>loud", text="dogs bark\n\n  loud"),
    Case(
        70, "W", "1.html", page("<div>" * 100_000 + "dogs" + "</div>" * 100_000).encode(),
        says="pages too deeply nested for an HTML parser, read whole: 1",
    ),
    Case(71, "O", "1.html", page("dogs<script>var cats;</script><style>cats{}</style><!-- cats -->").encode()),
    Case(
        72, "W", "1.html", page("d\xf6gs", '<meta charset="iso-8859-1">').encode(), text="d\xf6gs",
        says="pages whose declared charset contradicts their bytes: 1",
    ),
    Case(
        72, "W", "1.html", page("d\xf6gs", '<meta charset="utf-8">').encode("latin-1"), text="d\xf6gs",
        says="pages whose declared charset contradicts their bytes: 1", what="not-utf-8",
    ),
    Case(72, "O", "1.html", page("d\xf6gs", '<meta charset="iso-8859-1">').encode("latin-1"), text="d\xf6gs"),
    Case(72, "E", "1.html", page("d\xf6gs").encode("latin-1"), says="is not utf-8 (got '0xf6')", what="undeclared"),
]  # fmt: skip

PACKED_DOCS = gzip.compress(b'{"id": 1, "text": "dogs"}\n{"id": 2, "text": "cats"}\n', mtime=0)
_WRONG_CRC = PACKED_DOCS[:-8] + zlib.crc32(b"other").to_bytes(4, "little") + PACKED_DOCS[-4:]

PACKED = [
    Case(73, "E", "docs.jsonl.gz", GOOD.encode(), says="is not a gzip file"),
    Case(74, "E", "docs.jsonl.gz", PACKED_DOCS[:-20], says=f"cut off at byte {len(PACKED_DOCS) - 20}"),
    Case(75, "E", "docs.jsonl.gz", _WRONG_CRC, says="gzip file is damaged"),
    Case(76, "O", "docs.jsonl.gz", gzip.compress(b'{"id": 1, "text": "dogs"}\n') + gzip.compress(GOOD.encode())),
    Case(
        77, "E", "docs.tsv.gz", gzip.compress(b"1\t" + b"dogs " * 400_000), says="--max-uncompressed",
        options=("--max-uncompressed", "1000000"),
    ),
    *(
        Case(78 + i % 3, "E", name, PACKED_DOCS, says="unpack it first", what=name)
        for i, name in enumerate(("docs.tar", "docs.zip", "docs.7z", "docs.tar.gz", "docs.tgz", "FB396001.Z", "a.0Z"))
    ),
]  # fmt: skip

CASES = JSONL + TREC + TSV + HTML + PACKED

assert len({(case.id, case.options) for case in CASES}) == len(CASES)
assert {case.number for case in CASES} == set(range(41, 81)) - {47}, "all cases but 47, which only the command knows"
