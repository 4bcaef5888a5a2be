from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.formats.evidence import EvidenceWriter, evidence_header, evidence_json, read_evidence
from longrank.storage import Journal
from longrank.types import Evidence

ARRAYS = ("passage_index", "passage_start", "passage_end", "passage_score", "passage_weight")


def header(**changes: object) -> dict[str, object]:
    given = {
        "unit": "bm25",
        "scorer": "lexical",
        "collection": "c0",
        "queries": "q0",
        "n_queries": 4,
        "candidates": "r0",
        "options": {"depth": 100, "block_queries": 2},
    }
    return evidence_header(**(given | changes))  # type: ignore[arg-type]


def evidence(query_id: str, doc_id: str, scores: list[float], **changes: object) -> Evidence:
    count = len(scores)
    values: dict[str, object] = {
        "query_id": query_id,
        "doc_id": doc_id,
        "first_stage": 0.1,
        "passage_index": np.arange(count, dtype=np.int32),
        "passage_start": np.arange(count, dtype=np.int32) * 10,
        "passage_end": np.arange(count, dtype=np.int32) * 10 + 9,
        "passage_score": np.array(scores, dtype=np.float32),
        "passage_weight": np.ones(count, dtype=np.float32),
        "n_passages": count + 2,
        "n_truncated": 1,
    }
    return Evidence(**(values | changes))  # type: ignore[arg-type]


def same(one: Evidence, other: Evidence) -> bool:
    plain = ("query_id", "doc_id", "first_stage", "n_passages", "n_truncated", "document_score")
    return all(getattr(one, name) == getattr(other, name) for name in plain) and all(
        getattr(one, name).dtype == getattr(other, name).dtype
        and getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ARRAYS
    )


QUERIES = {
    "q1": [evidence("q1", "d1", [1.5]), evidence("q1", "d\u2028é\ud800", [-0.0, 3e-39], document_score=-7.25)],
    "q2": [],
    "q3": [evidence("q3", "d1", [0.25, 0.5, 0.125])],
    "q4": [evidence("q4", "d9", [2.0, 1.0])],
}


def write(path: Path, stop: int = 4, **changes: object) -> None:
    """Write the evidence of the first `stop` queries, two queries per block, from where the file ends."""
    with EvidenceWriter(path, header(**changes)) as writer:
        todo = list(QUERIES.items())[writer.n_queries_done : stop]
        while todo:
            for query_id, rows in todo[:2]:
                writer.write_query(query_id, rows)
            writer.commit()
            todo = todo[2:]


def test_the_parts_of_a_mix_come_back_as_written_and_are_shown_by_name(tmp_path: Path) -> None:
    parts = {name: np.array(scores, np.float32) for name, scores in (("main", [1.5, -0.0]), ("lexical", [0, 3e-39]))}
    others = {name: scores[:1] for name, scores in parts.items()}
    written = [
        evidence("q1", "d1", [0.5, 1.0], passage_parts=parts),
        evidence("q1", "d2", [0.25], passage_parts=others),
    ]
    options = {"parts": [*parts], "mix": {"method": "minmax", "weights": {"lexical": 0.5}}}
    with EvidenceWriter(tmp_path / "e", header(n_queries=1, options=options)) as writer:
        writer.write_query("q1", written)
        writer.commit()
    read = list(read_evidence(tmp_path / "e")[1])
    for one, other in zip(read, written, strict=True):
        assert same(one, other)
        assert one.passage_parts is not None and other.passage_parts is not None
        assert {name: part.tobytes() for name, part in one.passage_parts.items()} == {
            name: part.tobytes() for name, part in other.passage_parts.items()
        }
    passages = evidence_json(read[0])["passages"]
    assert [passage["parts"] for passage in passages] == [  # type: ignore[attr-defined]
        {"main": 1.5, "lexical": 0.0},
        {"main": 0.0, "lexical": float(np.float32(3e-39))},
    ]


@pytest.mark.parametrize("parts", [None, {"main": [1.0]}, {"main": [1.0, 2.0], "lexical": [0.0]}])
def test_evidence_with_other_parts_than_the_header_names_is_not_written(
    tmp_path: Path, parts: dict[str, list[float]] | None
) -> None:
    held = None if parts is None else {name: np.array(part, np.float32) for name, part in parts.items()}
    writer = EvidenceWriter(tmp_path / "e", header(options={"parts": ["main", "lexical"]}))
    with writer, pytest.raises(ValueError, match=r"has parts|uneven arrays"):
        writer.write_query("q1", [evidence("q1", "d1", [0.5], passage_parts=held)])


def test_a_part_that_is_not_finite_is_refused_by_passage(tmp_path: Path) -> None:
    parts = {"main": np.array([0, np.nan], np.float32)}
    writer = EvidenceWriter(tmp_path / "e", header(options={"parts": ["main"]}))
    with writer, pytest.raises(LongRankError, match="passage 1 of document 'd1'"):
        writer.write_query("q1", [evidence("q1", "d1", [0.5, 1.0], passage_parts=parts)])


def test_evidence_comes_back_bit_for_bit(tmp_path: Path) -> None:
    write(tmp_path / "e")
    found, rows = read_evidence(tmp_path / "e")
    assert found == header()
    assert found["depth"] == 100
    expected = [row for rows in QUERIES.values() for row in rows]
    assert all(same(a, b) for a, b in zip(expected, rows, strict=True))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=5), max_size=4),
    st.text(max_size=9),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_evidence_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, scores: list[list[float]], name: str, first: float
) -> None:
    path = tmp_path_factory.mktemp("evidence") / "e"
    rows = [evidence(name, f"{name}{n}", one, first_stage=first) for n, one in enumerate(scores)]
    with EvidenceWriter(path, header(n_queries=1)) as writer:
        writer.write_query(name, rows)
        writer.commit()
    assert all(same(a, b) for a, b in zip(rows, read_evidence(path)[1], strict=True))


def test_a_file_torn_at_any_byte_of_the_last_block_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    whole, half, torn = tmp_path / "whole", tmp_path / "half", tmp_path / "torn"
    write(half, stop=2)
    write(whole)
    expected, safe = whole.read_bytes(), half.stat().st_size
    assert expected.startswith(half.read_bytes())
    for size in range(safe, len(expected)):
        torn.write_bytes(expected[:size])
        with EvidenceWriter(torn, header()) as writer:
            assert writer.n_queries_done == 2
        write(torn)
        assert torn.read_bytes() == expected, size


def test_a_flipped_bit_anywhere_in_the_last_block_is_redone_on_resume_and_refused_by_a_reader(tmp_path: Path) -> None:
    whole, half, torn = tmp_path / "whole", tmp_path / "half", tmp_path / "torn"
    write(half, stop=2)
    write(whole)
    expected = whole.read_bytes()
    for at in range(half.stat().st_size, len(expected)):
        damaged = bytearray(expected)
        damaged[at] ^= 1 << at % 8
        torn.write_bytes(damaged)
        with pytest.raises(IntegrityError, match="torn"):
            list(read_evidence(torn)[1])
        write(torn)
        assert torn.read_bytes() == expected, at


def test_a_file_that_stops_at_a_commit_mark_is_refused_as_unfinished(tmp_path: Path) -> None:
    write(tmp_path / "e", stop=2)
    with pytest.raises(IntegrityError, match=r"e: unfinished: 2 of 4 queries; run the command that wrote it again"):
        list(read_evidence(tmp_path / "e")[1])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"scorer": "other"}, "other scorer"),
        ({"collection": "other"}, "other collection"),
        ({"queries": "other"}, "other queries"),
        ({"candidates": "other"}, "other candidates"),
        ({"options": {"depth": 30, "block_queries": 2}}, "other depth: 100 then, 30 now"),
    ],
)
def test_resuming_with_something_changed_is_refused_by_its_name(
    tmp_path: Path, changes: dict[str, object], named: str
) -> None:
    write(tmp_path / "e", stop=2)
    before = (tmp_path / "e").read_bytes()
    with pytest.raises(InputError, match=named):
        write(tmp_path / "e", **changes)
    assert (tmp_path / "e").read_bytes() == before


def test_two_writers_cannot_share_a_file(tmp_path: Path) -> None:
    with EvidenceWriter(tmp_path / "e", header()), pytest.raises(InputError, match="is being written by pid"):
        EvidenceWriter(tmp_path / "e", header()).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["e"]


def test_a_file_that_is_replaced_between_its_header_and_its_records_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "e")
    write(tmp_path / "other", scorer="another")
    _, records = read_evidence(tmp_path / "e")
    (tmp_path / "other").replace(tmp_path / "e")
    with pytest.raises(InputError, match="e: has changed since it was opened; begin again"):
        list(records)


@pytest.mark.parametrize("n_queries", [None, "4", 4.0])
def test_a_header_without_a_number_of_queries_is_damage(tmp_path: Path, n_queries: object) -> None:
    Journal(tmp_path / "e", header() | {"n_queries": n_queries}).close()
    with pytest.raises(IntegrityError, match="e: the header line is damaged: it has no number of queries"):
        read_evidence(tmp_path / "e")


def test_evidence_without_queries_is_a_whole_file(tmp_path: Path) -> None:
    with EvidenceWriter(tmp_path / "e", header(n_queries=0)):
        pass
    assert list(read_evidence(tmp_path / "e")[1]) == []


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_score_that_is_not_finite_is_refused_by_name(tmp_path: Path, bad: float) -> None:
    with EvidenceWriter(tmp_path / "e", header()) as writer:
        with pytest.raises(LongRankError, match="passage 1 of document 'd1' for query 'q1'"):
            writer.write_query("q1", [evidence("q1", "d1", [0.0, bad])])
        with pytest.raises(LongRankError, match="score of document 'd1' for query 'q1'"):
            writer.write_query("q1", [evidence("q1", "d1", [0.0], document_score=bad)])


def test_evidence_of_another_query_or_without_passages_is_a_programming_error(tmp_path: Path) -> None:
    with EvidenceWriter(tmp_path / "e", header()) as writer:
        for wrong in (evidence("q2", "d1", [1.0]), evidence("q1", "d1", [])):
            with pytest.raises(ValueError, match="no or uneven arrays"):
                writer.write_query("q1", [wrong])


def test_other_files_and_other_versions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q1 Q0 d1 1 2.0 tag\n")
    (tmp_path / "json").write_text('{"format": "something"}\n')
    with EvidenceWriter(tmp_path / "new", header() | {"version": 9}):
        pass
    with pytest.raises(InputError, match="not a file written by longrank"):
        read_evidence(tmp_path / "run")
    with pytest.raises(InputError, match="is not an evidence file"):
        read_evidence(tmp_path / "json")
    with pytest.raises(IntegrityError, match="version 9; this longrank reads 1"):
        read_evidence(tmp_path / "new")


def test_a_flipped_bit_anywhere_in_the_header_is_refused_by_readers_and_writers(tmp_path: Path) -> None:
    write(tmp_path / "e", stop=2)
    whole, damaged = (tmp_path / "e").read_bytes(), tmp_path / "damaged"
    for at in range(whole.index(b"\n") + 1):
        for value in {whole[at] ^ 1, whole[at] ^ 128, ord("\n"), ord("1")} - {whole[at]}:
            damaged.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            with pytest.raises((InputError, IntegrityError), match="damaged"):
                read_evidence(damaged)
    for at in range(0, whole.index(b"\n") + 1, 7):
        content = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        damaged.write_bytes(content)
        with pytest.raises((InputError, IntegrityError)):
            write(damaged)
        assert damaged.read_bytes() == content


def test_a_file_without_a_checksum_of_its_header_is_read_and_resumed(tmp_path: Path) -> None:
    whole, old = tmp_path / "whole", tmp_path / "old"
    write(whole)
    write(old, stop=2)
    line, _, frames = old.read_bytes().partition(b"\n")
    start, own, _ = line.partition(b', "journal": 2, "crc32": "')
    assert own
    old.write_bytes(start + b"}\n" + frames)
    write(old)
    assert old.read_bytes() == start + b"}\n" + whole.read_bytes().partition(b"\n")[2]
    assert read_evidence(old)[0] == read_evidence(whole)[0] == header()
    assert all(same(a, b) for a, b in zip(read_evidence(old)[1], read_evidence(whole)[1], strict=True))


@pytest.mark.parametrize("content", ['{"query_id": "q1", "text": "dogs"}\n', "q1\tdogs\n", ""])
def test_a_file_of_the_user_is_not_taken_for_evidence_and_stays(tmp_path: Path, content: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        write(path)
    cure = "choose another name for the output"
    assert str(caught.value) == f"{path}: exists and is no evidence file of longrank; {cure}"
    assert path.read_text() == content


def test_options_cannot_replace_what_the_format_needs() -> None:
    with pytest.raises(ValueError, match="unit"):
        header(options={"unit": "other"})


def test_json_lists_passages_with_their_offsets() -> None:
    shown = evidence_json(evidence("q1", "d1", [0.5], document_score=2.0))
    assert shown == {
        "query_id": "q1",
        "doc_id": "d1",
        "first_stage": 0.1,
        "document_score": 2.0,
        "n_passages": 3,
        "n_truncated": 1,
        "passages": [{"index": 0, "start": 0, "end": 9, "score": 0.5, "weight": 1.0}],
    }
