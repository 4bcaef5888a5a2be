from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from longrank.errors import Changed, InputError
from longrank.formats import lines, opening, whole_files
from longrank.formats.lines import Line, TextOptions, decode, read_blocks, read_lines
from longrank.formats.opening import Limits
from longrank.types import Notes


def texts(path: Path, options: TextOptions = lines.DEFAULT_TEXT) -> list[str]:
    return [line.text for line in read_lines(path, Notes(), options)]


def written(folder: Path, content: bytes, name: str = "x.txt") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    path = written(tmp_path, "a\u2028b\u0085c\u00a0d\x0ce\rf\ng\n".encode())
    assert texts(path) == ["a\u2028b\u0085c\u00a0d\x0ce\rf", "g"]


def test_one_carriage_return_before_a_line_feed_goes(tmp_path: Path) -> None:
    assert texts(written(tmp_path, b"a\r\nb\r\r\n\r\nc\r")) == ["a", "b\r", "", "c\r"]


def test_carriage_returns_alone_end_no_line_and_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x.txt:1: lines end in carriage returns alone; convert it, e.g. tr"):
        texts(written(tmp_path, b"1\tdogs\r2\tcats\r"))


def test_lines_know_their_number_and_whether_they_were_ended(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\n\nb")
    assert list(read_lines(path, Notes())) == [Line(1, "a", True), Line(2, "", True), Line(3, "b", False)]


def test_an_empty_file_has_no_line(tmp_path: Path) -> None:
    assert texts(written(tmp_path, b"")) == []
    assert texts(written(tmp_path, gzip.compress(b""), "x.gz")) == []
    assert texts(written(tmp_path, b"", "empty.gz")) == []


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
@given(content=st.lists(st.sampled_from([b"\n", b"\r\n", b"a", "é".encode(), b"\r", b" "])).map(b"".join))
def test_lines_do_not_depend_on_how_much_is_read_at_a_time(
    chunk: int, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(b"\n" in content or b"\r" not in content)
    path = written(tmp_path_factory.getbasetemp(), content, f"chunk{chunk}.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_CHUNK", chunk)
        found = list(read_lines(path, Notes()))
    pieces = content.split(b"\n")
    expected = [Line(i, p.removesuffix(b"\r").decode(), True) for i, p in enumerate(pieces[:-1], 1)]
    expected += [Line(len(pieces), pieces[-1].decode(), False)] if pieces[-1] else []
    assert found == expected


def test_blocks_are_the_lines_joined(tmp_path: Path) -> None:
    path = written(tmp_path, b"".join(b"line %d\r\n" % i for i in range(300_000)))
    blocks = list(read_blocks(path, Notes()))
    assert len(blocks) > 2
    assert blocks[1].first == blocks[0].text.count("\n") + 2
    assert [t for b in blocks for t in b.text.split("\n")] == [f"line {i}" for i in range(300_000)]


def test_a_byte_order_mark_is_skipped_and_counted(tmp_path: Path) -> None:
    notes = Notes()
    path = written(tmp_path, b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    assert [line.text for line in read_lines(path, notes)] == ["a", "\ufeffb"]
    assert notes["byte-order mark skipped"] == 1
    assert decode(path.read_bytes(), path, notes).startswith("a\n")


def test_undecodable_bytes_are_refused_with_line_and_offset(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfab\r\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"x.txt:2: byte 10 is not utf-8 \(got '0xe9'\)"):
        texts(path)
    with pytest.raises(InputError, match="byte 10 is not utf-8"):
        decode(path.read_bytes(), path, Notes())


def test_lines_before_an_undecodable_one_in_another_block_are_yielded(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\n" + b"b" * (2 << 20) + b"\xff\n")
    reader = read_lines(path, Notes())
    assert next(reader).text == "a"
    with pytest.raises(InputError, match=f":2: byte {(2 << 20) + 2} is"):
        next(reader)


def test_undecodable_bytes_can_be_replaced_and_are_counted(tmp_path: Path) -> None:
    notes = Notes()
    path = written(tmp_path, "fine \ufffd\n".encode() + b"caf\xe9 \xff\n")
    options = TextOptions(errors="replace")
    assert [line.text for line in read_lines(path, notes, options)] == ["fine \ufffd", "caf\ufffd \ufffd"]
    assert notes.lines() == [f"undecodable bytes replaced by U+FFFD: 2 (first: {path}:2)"]


def test_another_encoding_can_be_named(tmp_path: Path) -> None:
    assert texts(written(tmp_path, b"caf\xe9\nna\xefve\n"), TextOptions("latin-1")) == ["café", "naïve"]


@pytest.mark.parametrize(("encoding", "what"), [("klingon", "unknown encoding"), ("hex", "unknown"), ("idna", "idna")])
def test_an_encoding_that_is_none_is_refused(encoding: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=what):
        texts(written(tmp_path, b"xn--\xff\n"), TextOptions(encoding))


def test_utf_16_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="file is UTF-16; convert it"):
        texts(written(tmp_path, "ab\n".encode("utf-16")))


def test_a_nul_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":2: holds a NUL"):
        texts(written(tmp_path, b"a\nb\x00\n"))
    with pytest.raises(InputError, match=r":2: holds a NUL"):
        texts(written(tmp_path, b"a\nb\x00\n"), TextOptions("latin-1"))


@pytest.mark.parametrize("content", [b"ab\n" + b"c" * 11 + b"\nd", b"ab\n" + b"c" * 11, b"ab\n" + b"c" * 99])
def test_a_line_over_the_limit_is_refused_with_its_number(content: bytes, tmp_path: Path) -> None:
    options = TextOptions(limits=Limits(max_line=10))
    with pytest.raises(InputError, match=":2: line is longer than 10 bytes"):
        texts(written(tmp_path, content), options)
    assert texts(written(tmp_path, b"c" * 10 + b"\n" + b"c" * 10), options) == ["c" * 10] * 2


def test_an_endless_line_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.txt"
    with path.open("wb") as stream:
        stream.truncate(1 << 33)
    with pytest.raises(InputError, match=":1: line is longer than"):
        texts(path)


def test_what_is_packed_must_say_so_in_its_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a gzip file but its name does not end in .gz; name it \.gz"):
        texts(written(tmp_path, gzip.compress(b"a\n")))
    with pytest.raises(InputError, match="is a zip file; unpack it first"):
        texts(written(tmp_path, b"PK\x05\x06" + bytes(18)))


def test_an_archive_in_disguise_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="NUL"):
        texts(written(tmp_path, gzip.compress(b"docs.txt" + bytes(600)), "tar-inside.gz"))


@pytest.mark.parametrize("cut", [1, 9, 15, 25])
def test_a_cut_gzip_file_is_refused_with_its_length(cut: int, tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(4000).hex().encode())
    with pytest.raises(InputError, match=f"cut off at byte {len(packed) - cut};"):
        texts(written(tmp_path, packed[:-cut], "x.gz"))


def test_rubbish_after_a_gzip_member_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gzip file is damaged"):
        texts(written(tmp_path, gzip.compress(b"a\n") + b"rubbish", "x.gz"))


def test_a_pipe_is_read_once_and_whole(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"a\nb\n",))
    writer.start()
    assert texts(tmp_path / "pipe") == ["a", "b"]
    writer.join()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_read_is_a_users_mistake(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\n")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        texts(path)


def test_a_name_that_no_file_can_have_is_a_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        texts(tmp_path / ("x" * 300))
    with pytest.raises(InputError, match="no such file"):
        texts(tmp_path / "a\x00b")


def test_the_file_is_closed_when_the_reader_is_left_early(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a\n" * 10), "x.gz")
    reader = read_lines(path, Notes())
    next(reader)
    reader.close()  # an open file would be a ResourceWarning, which is an error here


@pytest.mark.parametrize("change", [b"", b"a\n" * (1 << 20), b"a\n" * (1 << 21) + b"more\n"])
def test_a_file_that_is_written_to_while_it_is_read_is_refused(change: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, b"b\n" * (1 << 21))
    reader = read_lines(path, Notes())
    assert next(reader).text == "b"
    path.write_bytes(change)  # in place: the reader's file
    with pytest.raises(InputError, match=r"x\.txt: has changed since it was opened"):
        list(reader)


def test_a_file_that_is_replaced_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = written(tmp_path, b"b\n" * (1 << 21))
    reader = read_lines(path, Notes())
    next(reader)
    written(tmp_path, b"a\n", "new").replace(path)
    assert {line.text for line in reader} == {"b"}


@pytest.mark.parametrize(("n_writes", "is_read"), [(4, True), (5, False)])
def test_a_document_that_is_written_to_while_it_is_read_is_read_again(
    n_writes: int, is_read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, writes, real = written(tmp_path, b"0" * 10), list(range(n_writes)), whole_files.read_chunks

    def writing(place: Path, limits: Limits) -> Iterator[bytes]:
        for chunk in real(place, limits):
            if writes:
                place.write_bytes(b"x" * (2 + writes.pop()))
            yield chunk

    monkeypatch.setattr(whole_files, "read_chunks", writing)
    if is_read:
        assert whole_files.read_whole(path, Limits()) == b"xx"
    else:
        with pytest.raises(Changed, match="has changed since it was opened"):
            whole_files.read_whole(path, Limits())
