"""The malformed topics, qrels and runs of the test plan, one row per numbered case: what is given, what must come.

Used twice: on the readers (`tests/unit/formats`) and on the commands (`tests/cli`).
"""

from __future__ import annotations

import gzip
import zlib
from typing import NamedTuple

Q, R, S = "topics", "qrels", "run"  # which of the three files is malformed


class Case(NamedTuple):
    """A malformed file and what must come of it.

    Attributes:
        number: the case's number.
        kind: which file it is.
        outcome: E refused, W accepted with a counted remark, O accepted.
        content: the file; None: absent.
        line: the line an E names, 0 for none.
        says: words of the error, or of the remark.
        name: the file's name.
        option: what the command is given to make a W of it.
    """

    number: int
    kind: str
    outcome: str
    content: bytes | None
    line: int = 0
    says: str = ""
    name: str = ""
    option: str = ""

    @property
    def id(self) -> str:
        return f"case-{self.number}-{self.outcome}" + (f"-{self.name}" if self.name else "")

    @property
    def file_name(self) -> str:
        return self.name or {Q: "topics.txt", R: "qrels.txt", S: "x.run"}[self.kind]


def topic(number: int | str, title: str = "dogs") -> str:
    return f"<top>\n<num> Number: {number}\n<title> {title}\n<desc> Description:\nabout {title}\n</top>\n"


TOPICS = [
    Case(1, Q, "E", b"", says="is empty"),
    Case(1, Q, "E", b"\n \n", says="is empty", name="blank.txt"),
    Case(1, Q, "E", b"", says="is empty", name="empty.jsonl"),
    Case(2, Q, "E", None, says="no such file"),
    Case(4, Q, "E", (topic(1) + topic(2)[:-7]).encode(), 7, "<top> is not closed"),
    Case(4, Q, "E", (topic(1)[:-7] + topic(2)).encode(), 1, "<top> is not closed", name="nested.txt"),
    Case(4, Q, "E", b"<topics>\n<topic number='1'>\n<query>x</query>\n</topics>", 4, "line 2", name="open.xml"),
    Case(5, Q, "E", (topic(1) + topic(2).replace("<num> Number: 2\n", "")).encode(), 7, "without <num>"),
    Case(5, Q, "E", b"<topics>\n<topic><query>x</query></topic></topics>", 2, "without an id", name="noid.xml"),
    Case(5, Q, "E", b'{"text": "dogs"}\n', 1, "no id", name="noid.jsonl"),
    Case(6, Q, "E", (topic(1) + topic(2) + topic(1)).encode(), 13, "occurs twice, first on line 1"),
    Case(6, Q, "E", b'{"_id": "7", "text": "a"}\n{"_id": 7, "text": "b"}\n', 2, "first on line 1", name="twice.jsonl"),
    Case(7, Q, "E", (topic(1) + topic(2, "")).encode(), 7, "empty title"),
    Case(7, Q, "W", (topic(1) + topic(2, "")).encode(), says="empty text: 1", option="--allow-empty-query"),
    Case(8, Q, "E", b"1\tdogs\n2 cats\n", 2, "1 column instead of 2"),
    Case(9, Q, "E", b"1\tdogs\tcats\n", 1, "3 columns instead of 2"),
    Case(10, Q, "E", topic("1 and 2").encode(), 1, "white space"),
    Case(10, Q, "E", b"q 1\tdogs\n", 1, "white space", name="words.tsv"),
    Case(10, Q, "E", "1\tdogs\n\ufeff2\tcats\n".encode(), 2, "an invisible character", name="joined.tsv"),
    Case(11, Q, "W", b"1\t" + b"dogs bark loud " * 7000 + b"\n", says="characters: 1"),
]

JUDGED = "1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n"
RANKED = "1 Q0 d1 1 9.5 tag\n1 Q0 d2 2 8.5 tag\n2 Q0 d2 1 7 tag\n2 Q0 d1 2 6 tag\n"

QRELS = [
    Case(13, R, "E", b"1 0 d1 1\n1 d2 1\n", 2, "3 columns instead of 4"),
    Case(13, R, "E", b"query-id corpus-id score\n1 d2 1\n", 1, "3 columns instead of 4", name="blanks.tsv"),
    Case(13, R, "E", topic(1).encode(), 1, "this looks like SGML or XML", name="topics.txt"),
    Case(14, R, "E", RANKED.encode(), 1, "grade; this looks like a run", name="run.txt"),
    Case(14, R, "E", b"1 0 d1 1\n1 0 d2 1 x\n", 2, "5 columns instead of 4"),
    Case(15, R, "E", b"1 0 d1 1\n1 0 d2 x\n", 2, "grade is not an integer (got 'x')"),
    Case(16, R, "E", b"1 0 d1 1\n1 0 d2 1.5\n", 2, "grade is not an integer (got '1.5')"),
    Case(17, R, "E", b"1 0 d1 127\n1 0 d2 128\n", 2, "beyond 127"),
    Case(17, R, "E", b"1 0 d1 -127\n1 0 d2 -128\n", 2, "beyond 127", name="low.txt"),
    Case(17, R, "E", b"1 0 d1 1\n1 0 d2 1000000000000\n", 2, "beyond 127", name="trillion.txt"),
    Case(17, R, "E", b"1 0 d1 1\n1 0 d2 " + b"9" * 5000 + b"\n", 2, "not an integer", name="digits.txt"),
    Case(18, R, "W", (JUDGED + "1 0 d1 1\n").encode(), says="repeated judgments with the same grade: 1"),
    Case(19, R, "E", (JUDGED + "1 0 d1 0\n").encode(), 4, "1 on line 1, 0 here"),
    Case(20, R, "O", ("# by hand\n\n" + JUDGED + "  \t\n# end").encode(), says="skipped as comments: 2"),
    Case(21, R, "E", (JUDGED + "\ufeff3 0 d1 1\n").encode(), 4, "holds a byte-order mark", name="joined.txt"),
    Case(21, R, "E", b"1 0 d1 1\n1 0 d\x002 1\n", 2, "NUL"),
    Case(23, R, "O", (JUDGED + "3 0 d1 0\n").encode(), says="without a relevant document: 1"),
    Case(24, R, "O", (JUDGED + "2 0 d2 -2\n").encode(), says="negative grades"),
]


def scored(score: str) -> bytes:
    return f"1 Q0 d1 1 9.5 tag\n1 Q0 d2 2 {score} tag\n2 Q0 d1 1 1 tag\n".encode()


RUNS = [
    Case(25, S, "E", b"1 Q0 d1 1 9.5 tag\n1 Q0 d2 2 8.5\n1 Q0 d3 3 7 tag\n", 2, "5 columns instead of 6"),
    Case(25, S, "E", JUDGED.encode(), 1, "this looks like judgments", name="qrels.txt"),
    Case(25, S, "E", b'{"id": 1, "text": "dogs"}', 1, "this looks like JSON", name="docs.jsonl"),
    Case(25, S, "E", RANKED.replace("\n", "\r").encode(), 1, "carriage returns alone", name="old-mac.run"),
    Case(26, S, "E", b"1 Q0 d1 1 9.5 my tag\n", 1, "7 columns instead of 6"),
    Case(27, S, "E", scored("abc"), 2, "score is not a number (got 'abc')"),
    Case(28, S, "E", scored("1,5"), 2, "score is not a number (got '1,5')"),
    Case(29, S, "E", scored("nan"), 2, "score is not a number (got 'nan')"),
    Case(30, S, "E", scored("inf"), 2, "score is not a number (got 'inf')"),
    Case(30, S, "E", scored("-Infinity"), 2, "score is not a number", name="infinity.run"),
    Case(30, S, "E", scored("1e39"), 2, "score is beyond float32", name="float32.run"),
    Case(30, S, "E", scored("1e999"), 2, "score is beyond float32", name="double.run"),
    Case(31, S, "E", scored("1_000"), 2, "score is not a number (got '1_000')"),
    Case(31, S, "E", scored("٣"), 2, "score is not a number (got '٣')", name="arabic.run"),
    Case(32, S, "E", (RANKED + "1 Q0 d1 3 1 tag\n").encode(), 5, "twice for query 1, first on line 1"),
    Case(
        33,
        S,
        "W",
        b"1 Q0 d1 1 8 tag\n1 Q0 d2 2 9 tag\n2 Q0 d1 1 1 tag\n",
        says="contradict the scores, which decide: 1",
    ),
    Case(34, S, "O", scored("9.5"), says="tied scores, ordered by document id descending as in trec_eval: 1"),
    Case(35, S, "W", RANKED.replace("6 tag", "6 other").encode(), says="another tag than tag: 1"),
    Case(36, S, "E", b"", says="empty run"),
    Case(37, S, "O", "".join(sorted(RANKED.splitlines(True), key=lambda row: row.split()[2:4])).encode()),
    Case(38, S, "O", RANKED.encode()[:52], says="fewer than 2 documents, the most in the run: 1"),
    Case(40, S, "E", RANKED.encode()[:-6], 4, "the file looks truncated"),
]


def damaged(packed: bytes, place: int) -> bytes:
    return packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :]


def bomb(unpacked_bytes: int) -> bytes:
    """Return a gzip file of blank lines, about a thousandth of the size it unpacks to."""
    chunk, packer = b"\n" * (1 << 20), zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(chunk) for _ in range(unpacked_bytes >> 20)) + packer.flush()


PACKED_RUN = gzip.compress(RANKED.encode(), mtime=0)

PACKED = [
    Case(73, S, "E", RANKED.encode(), says="not a gzip file", name="x.run.gz"),
    Case(74, S, "E", PACKED_RUN[:-20], says=f"cut off at byte {len(PACKED_RUN) - 20}", name="x.run.gz"),
    Case(75, S, "E", damaged(PACKED_RUN, len(PACKED_RUN) - 8), says="damaged", name="x.run.gz"),
    Case(75, S, "E", PACKED_RUN + b"more", says="other bytes follow", name="longer.run.gz"),
    Case(76, S, "O", gzip.compress(RANKED[:36].encode()) + gzip.compress(RANKED[36:].encode()), name="x.run.gz"),
]

ARCHIVES = [
    Case(78, S, "E", PACKED_RUN, says="unpack it first", name=name)
    for name in ("x.tar", "x.tar.gz", "x.tgz", "x.zip", "x.7z", "x.run.bz2", "x.run.xz", "x.run.zst")
]


def by_id(case: Case) -> str:
    return case.id
