"""Clients grade documents; the grades are in a qrels file that evaluate reads, and pools hide where they come from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.cli.main import main
from longrank.errors import BeingWritten, InputError, LongRankError
from longrank.index import Index
from longrank.service import judging as module
from longrank.service.engine import Engine
from longrank.service.judging import Judging, opened_judging
from longrank.service.pooling import Pools
from longrank.service.rerank import Service
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.types import Notes
from served import Ask, Reply, answers, desk_of, opened

KEY = {"authorization": "Bearer secret"}
TOPICS = "1\tfox\n2\tmoon\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return desk_of(tmp_path_factory.mktemp("judged"), settings=ServiceSettings(key="secret"))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A qrels file that is not there yet, and topics."""
    topics = tmp_path / "topics.tsv"
    topics.write_text(TOPICS)
    return tmp_path / "qrels.txt", topics


@pytest.fixture
def judging(files: tuple[Path, Path]) -> Iterator[Judging]:
    with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
        yield judging


def asked(plain: Service, judging: Judging | None, *requests: tuple[Any, ...]) -> list[Reply]:
    async def talk(ask: Ask) -> list[Reply]:
        return [await ask(*request, headers=KEY) for request in requests]

    return answers(opened(plain.engine, plain.settings, judging), talk)  # type: ignore[no-any-return]


def grade(doc_id: str, value: int | None, **query: Any) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/judgments", {"doc_id": doc_id, "grade": value, **(query or {"query": "fox"})}


def test_a_grade_is_in_the_file_when_the_answer_comes(
    plain: Service, judging: Judging, files: tuple[Path, Path]
) -> None:
    first, second, third = asked(plain, judging, grade("d", 3), grade("e", 0), grade("f", 1, query_id="2"))
    assert first.json == {"query_id": "1", "allowed": True, "grades": {"d": 3}}
    assert second.json["grades"] == {"d": 3, "e": 0}
    assert third.json["query_id"] == "2"
    assert files[0].read_text() == "1 0 d 3\n1 0 e 0\n2 0 f 1\n"


def test_a_grade_is_replaced_and_removed(plain: Service, judging: Judging, files: tuple[Path, Path]) -> None:
    asked(plain, judging, grade("d", 3), grade("d", 1))
    assert files[0].read_text() == "1 0 d 1\n"
    (reply,) = asked(plain, judging, grade("d", None))
    assert (reply.json["grades"], files[0].read_text()) == ({}, "")


def test_the_grade_of_a_document_that_left_the_index_can_be_removed_and_not_replaced(
    plain: Service, judging: Judging, files: tuple[Path, Path]
) -> None:
    files[0].write_text("1 0 gone 2\n1 0 d 1\n")
    replaced, removed, again, elsewhere = asked(
        plain, judging, grade("gone", 1), grade("gone", None), grade("gone", None), grade("gone", None, query="new")
    )
    assert (removed.status, removed.json["grades"], files[0].read_text()) == (200, {"d": 1}, "1 0 d 1\n")
    assert [reply.status for reply in (replaced, again, elsewhere)] == [404, 404, 404]


def test_a_grade_that_another_client_has_changed_is_refused_with_the_grades_of_the_file(
    plain: Service, judging: Judging, files: tuple[Path, Path]
) -> None:
    first, again, other, removed, back = asked(
        plain,
        judging,
        grade("d", 3, query="fox", was=None),
        grade("d", 1, query="fox", was=None),
        grade("d", 1, query_id="1", was=0),
        grade("d", None, query="fox", was=1),
        grade("d", 2, query="fox", was=3),
    )
    assert (first.status, back.status) == (200, 200)
    for reply in (again, other, removed):
        assert (reply.status, reply.json["code"], reply.json["grades"]) == (409, "graded", {"d": 3})
        assert reply.json["message"] == "the grade in the file is 3 by now; it stays"
    assert files[0].read_text() == "1 0 d 2\n"
    asked(plain, judging, grade("d", None))
    (gone,) = asked(plain, judging, grade("d", 1, query="fox", was=2))
    assert (gone.status, gone.json["grades"]) == (409, {})
    assert gone.json["message"] == "the grade in the file is none by now; it stays"


def test_a_grade_that_another_program_has_written_is_refused_too(
    plain: Service, judging: Judging, files: tuple[Path, Path]
) -> None:
    asked(plain, judging, grade("d", 3))
    files[0].write_text("1 0 d 0\n")
    (reply,) = asked(plain, judging, grade("d", None, query="fox", was=3))
    assert (reply.status, reply.json["grades"], files[0].read_text()) == (409, {"d": 0}, "1 0 d 0\n")


def test_the_grades_of_a_file_s_own_scale_are_shown_replaced_and_brought_back(
    plain: Service, files: tuple[Path, Path]
) -> None:
    rows = "1 Q0 f 4\n1 Q0 d -2\n"
    files[0].write_text(rows)
    with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
        shown, pool, topics, _, _, back, _ = asked(
            plain,
            judging,
            ("GET", "/judgments?query=fox"),
            ("GET", "/pool?query_id=1"),
            ("GET", "/topics"),
            grade("d", 2, query="fox", was=-2),
            grade("f", 1, query="fox", was=4),
            grade("d", -2, query="fox", was=2),
            grade("f", 4, query="fox", was=1),
        )
    assert shown.json["grades"] == {"f": 4, "d": -2}
    assert {one["doc_id"]: one["grade"] for one in pool.json["documents"]} == {"f": 4, "d": -2}
    assert [one["n_judged"] for one in topics.json["topics"]] == [1, 0]
    assert back.json["grades"] == {"f": 1, "d": -2}
    assert files[0].read_text() == rows


def test_judging_goes_on_where_it_ended(plain: Service, files: tuple[Path, Path]) -> None:
    for doc_id, value in (("d", 2), ("f", 1)):
        with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
            asked(plain, judging, grade(doc_id, value))
    with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
        grades, topics = asked(plain, judging, ("GET", "/judgments?query=fox"), ("GET", "/topics"))
    assert grades.json == {"query_id": "1", "allowed": True, "grades": {"d": 2, "f": 1}}
    assert topics.json["topics"] == [
        {"query_id": "1", "query": "fox", "n_judged": 2},
        {"query_id": "2", "query": "moon", "n_judged": 0},
    ]


def test_evaluate_reads_the_judgments_of_queries_that_clients_asked(
    plain: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened_judging(Path("qrels.txt"), notes=Notes()) as judging:
        new, *_ = asked(
            plain,
            judging,
            ("GET", "/judgments?query=the+fox"),
            grade("d", 3, query="the  fox"),
            grade("f", 1, query="the fox"),
            grade("f", 2, query="a moon"),
        )
    assert new.json == {"query_id": None, "allowed": True, "grades": {}}
    assert [json.loads(line) for line in Path("qrels.queries.jsonl").read_text().splitlines()] == [
        {"query_id": "q1", "text": "the fox"},
        {"query_id": "q2", "text": "a moon"},
    ]
    assert plain.engine.index is not None
    index = str(plain.engine.index.path)
    assert main(["retrieve", index, "qrels.queries.jsonl", "-o", "bm25.run"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "qrels.txt", "bm25.run", "-m", "nDCG@10", "--format", "json"]) == 0
    assert "nDCG@10" in capsys.readouterr().out
    with opened_judging(Path("qrels.txt"), notes=Notes()) as judging:
        assert judging.add("the fox").query_id == "q1"
        assert judging.add("rain").query_id == "q3"


def test_files_whose_queries_would_be_in_one_file_are_not_judged_at_once(tmp_path: Path) -> None:
    topics = tmp_path / "topics.jsonl"
    topics.write_text('{"query_id": "1", "text": "a moon"}\n')
    with opened_judging(tmp_path / "qrels.txt", notes=Notes()):
        with (
            pytest.raises(InputError, match=r"qrels\.queries\.jsonl"),
            opened_judging(tmp_path / "qrels", notes=Notes()),
        ):
            pass
        with opened_judging(tmp_path / "qrels.tsv", str(topics), notes=Notes()):
            pass


def test_a_topic_does_not_take_the_grades_of_another_query_with_its_id(tmp_path: Path) -> None:
    qrels, topics = tmp_path / "qrels.txt", tmp_path / "topics.jsonl"
    with opened_judging(qrels, notes=Notes()) as judging:
        judging.judge(judging.add("the fox").query_id, "f", 3)
    topics.write_text('{"query_id": "q1", "text": "a moon"}\n')
    said = r"qrels\.queries\.jsonl: query 'q1', which was judged without topics, is no query of the topics; judge"
    with pytest.raises(InputError, match=said), opened_judging(qrels, str(topics), notes=Notes()):
        pass
    assert qrels.read_text() == "q1 0 f 3\n"
    topics.write_text('{"query_id": "q1", "text": "the  fox"}\n{"query_id": "q2", "text": "a moon"}\n')
    for kept in (tmp_path / "qrels.queries.jsonl").read_text(), "no JSON\n":
        (tmp_path / "qrels.queries.jsonl").write_text(kept)
        with opened_judging(qrels, str(topics), notes=Notes()) as judging:
            assert judging.grades("q1") == {"f": 3}


def test_the_file_of_own_queries_keeps_its_lines_and_those_of_other_programs(tmp_path: Path) -> None:
    own, first = tmp_path / "qrels.queries.jsonl", '{"query_id": "x", "text": "der Fuchs", "lang": "de", "year": 2020}'
    own.write_text(first)
    with opened_judging(tmp_path / "qrels.txt", notes=Notes()) as judging:
        assert judging.add("a moon").query_id == "q1"
        lines = [first, '{"query_id": "q1", "text": "a moon"}', '{"query_id": "q2", "text": "by hand"}']
        own.write_text("\n".join(lines) + "\n")
        assert judging.add("by hand").query_id == "q2"
        assert judging.add("rain").query_id == "q3"
        lines.append('{"query_id": "q3", "text": "rain"}')
        assert own.read_text().splitlines() == lines
        own.write_text("no JSON\n")
        with pytest.raises(InputError, match=r"qrels\.queries\.jsonl:1: is not JSON"):
            judging.add("snow")
        assert own.read_text() == "no JSON\n"
        own.unlink()
        assert judging.add("snow").query_id == "q4"
        texts = [json.loads(line)["text"] for line in own.read_text().splitlines()]
        assert texts == ["der Fuchs", "a moon", "by hand", "rain", "snow"]
        assert json.loads(own.read_text().splitlines()[0])["lang"] == "de"


@pytest.mark.parametrize("earlier", [False, True])
def test_own_queries_lie_beside_the_file_to_which_a_link_leads(tmp_path: Path, earlier: bool) -> None:
    """Those that an earlier version wrote beside the link are read there."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "qrels.txt").symlink_to(tmp_path / "disk" / "judged.txt")
    own = tmp_path / "disk" / "judged.queries.jsonl"
    if earlier:
        own = tmp_path / "qrels.queries.jsonl"
        own.write_text('{"query_id": "q1", "text": "rain"}\n')
    with opened_judging(tmp_path / "qrels.txt", notes=Notes()) as judging:
        judging.add("a moon")
    assert "a moon" in own.read_text()
    assert {path.name for path in tmp_path.rglob("*.jsonl")} == {own.name}


def test_a_pool_has_the_best_of_all_pipelines_without_ranks_scores_or_pipelines(
    plain: Service, judging: Judging
) -> None:
    judging.judge("1", "f", 2)
    (reply,) = asked(plain, judging, ("GET", "/pool?query_id=1"))
    documents = reply.json["documents"]
    assert {one["doc_id"] for one in documents} == {"d", "f"}
    assert {one["doc_id"]: one["grade"] for one in documents} == {"d": None, "f": 2}
    assert set(documents[0]) == {"doc_id", "title", "passages", "grade"}
    passages = [passage for one in documents for passage in one["passages"]]
    assert passages
    assert {name for passage in passages for name in passage} == {
        "start", "end", "text", "words", "highlights", "place",
    }  # fmt: skip
    for one in documents:
        assert [passage["start"] for passage in one["passages"]] == sorted(p["start"] for p in one["passages"])


def test_a_pool_is_searched_in_the_language_of_its_topic(tmp_path: Path) -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    rows = [{"id": "en", "lang": "en", "text": "they die young"}, {"id": "de", "lang": "de", "text": "der Hund bellt"}]
    engine = Engine([PipelineChoice("bm25")], Index.build(rows, tmp_path / "i", analyzer_field="lang"), notes=Notes())
    engine.load()
    (tmp_path / "topics.jsonl").write_text('{"query_id": "1", "text": "die Hunde", "lang": "de"}\n')
    with opened_judging(tmp_path / "qrels.txt", str(tmp_path / "topics.jsonl"), notes=Notes()) as judging:

        async def talk(ask: Ask) -> Reply:
            return await ask("GET", "/pool?query_id=1", headers=KEY)

        reply = answers(opened(engine, ServiceSettings(key="secret"), judging), talk)
    assert [one["doc_id"] for one in reply.json["documents"]] == ["de"]


def test_a_pool_of_another_state_of_the_index_is_not_kept(plain: Service, judging: Judging) -> None:
    class Behind:
        """Replicas that have not yet noticed a change of the index."""

        digest, n = "an older state", 0

        async def search(self, *_: Any) -> dict[str, Any]:
            self.n += 1
            return {"digest": self.digest, "results": []}

    replicas, query = Behind(), judging.topics[0]
    pools = Pools(plain, judging, replicas)  # type: ignore[arg-type]
    n_pipelines = len(plain.engine.names())
    asyncio.run(pools.of(query))
    assert plain.engine.index is not None
    replicas.digest = plain.engine.index.digest
    for _ in range(2):
        asyncio.run(pools.of(query))
    assert replicas.n == 2 * n_pipelines


def test_the_order_of_a_pool_is_drawn_by_the_seed_alone(plain: Service, files: tuple[Path, Path]) -> None:
    orders = {}
    for seed in (1, 1, *range(2, 8)):
        with opened_judging(files[0], str(files[1]), seed=seed, notes=Notes()) as judging:
            (reply,) = asked(plain, judging, ("GET", "/pool?query_id=1"))
        order = [one["doc_id"] for one in reply.json["documents"]]
        assert orders.setdefault(seed, order) == order
    assert {tuple(order) for order in orders.values()} == {("d", "f"), ("f", "d")}


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        (grade("none", 1), 404, "/doc_id: no such document in the index"),
        (grade("d", 128), 422, "/grade: "),
        (grade("d", 1, query="fox", was=True), 422, "/was: "),
        (grade("d", 1, query="rain"), 422, "only the queries of the topics file can be judged"),
        (grade("d", 1, query_id="9"), 404, "/query_id: no such topic"),
        (grade("d", 1, query_id="1", query="fox"), 422, "send either query or query_id"),
        (("GET", "/pool?query_id=9"), 404, "/query_id: no such topic"),
    ],
)
def test_wrong_judgments_are_refused_and_change_nothing(
    plain: Service, judging: Judging, files: tuple[Path, Path], request_: tuple[Any, ...], status: int, message: str
) -> None:
    (reply,) = asked(plain, judging, request_)
    assert reply.status == status
    assert reply.json["message"].startswith(message)
    assert not files[0].exists()


def test_without_judging_there_are_no_such_addresses(plain: Service, judging: Judging) -> None:
    without, described = asked(plain, None, ("GET", "/topics"), ("GET", "/info"))
    assert (without.status, described.json["judging"]) == (404, None)
    (described,) = asked(plain, judging, ("GET", "/info"))
    assert [one["grade"] for one in described.json["judging"]["grades"]] == [0, 1, 2, 3]
    assert described.json["judging"]["any_query"] is False


def test_a_grade_that_cannot_be_written_is_not_kept(judging: Judging, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise LongRankError("no space left")

    monkeypatch.setattr(module, "atomic_write", full)
    with pytest.raises(LongRankError, match="no space left"):
        judging.judge("1", "d", 3)
    assert judging.grades("1") == {}


def test_ids_that_no_qrels_file_can_hold_are_refused(judging: Judging, files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="doc_id"):
        judging.judge("1", "two words", 3)
    assert not files[0].exists()


def test_grades_that_another_program_writes_stay(judging: Judging, files: tuple[Path, Path]) -> None:
    judging.judge("1", "d", 3)
    with files[0].open("a") as stream:
        stream.write("7 0 x 2\n")
    assert judging.grades("7") == {"x": 2}
    judging.judge("1", "e", 0)
    assert files[0].read_text() == "1 0 d 3\n7 0 x 2\n1 0 e 0\n"
    files[0].write_text("1 0 d\n")
    assert judging.grades("7") == {"x": 2}
    with pytest.raises(InputError, match="3 columns instead of 4"):
        judging.judge("1", "f", 1)
    assert files[0].read_text() == "1 0 d\n"
    files[0].unlink()  # what was judged is written again
    judging.judge("1", "f", 1)
    assert files[0].read_text() == "1 0 d 3\n1 0 e 0\n7 0 x 2\n1 0 f 1\n"


def test_rows_that_are_not_grades_of_the_page_stay_as_they_are(judging: Judging, files: tuple[Path, Path]) -> None:
    rows = "# by hand\n1 Q0 d 1\n1 0 spam -2\n\n9 0 c 0\n9 0 c 0\r\n1\t0  \u00e9\u2028x -1"
    files[0].write_bytes(rows.encode())
    judging.judge("2", "d", 2)
    assert files[0].read_bytes().decode() == f"{rows}\n2 0 d 2\n"
    assert judging.grades("1") == {"d": 1, "spam": -2, "\u00e9\u2028x": -1}
    judging.judge("1", "d", 3)
    judging.judge("2", "d", None)
    assert files[0].read_bytes().decode() == rows.replace("d 1", "d 3") + "\n"


def test_a_file_of_comments_alone_can_be_judged_into(files: tuple[Path, Path]) -> None:
    files[0].write_text("# pooled in May\n")
    with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
        judging.judge("1", "d", 2)
        judging.judge("1", "d", None)
    with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
        judging.judge("1", "e", 1)
    assert files[0].read_text() == "# pooled in May\n1 0 e 1\n"


@pytest.mark.parametrize("comment", [b"# caf\xe9\n", b"# \x01\n", b"# a\rb\n"])
def test_a_file_whose_comments_no_program_could_read_again_is_refused(files: tuple[Path, Path], comment: bytes) -> None:
    files[0].write_bytes(comment)
    with pytest.raises(InputError), opened_judging(files[0], str(files[1]), notes=Notes()):
        pass
    assert files[0].read_bytes() == comment


def test_a_grade_that_another_program_writes_at_the_same_moment_is_known(
    files: tuple[Path, Path], judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging.judge("1", "d", 1)
    text = module._text

    def late(path: Path) -> str:
        monkeypatch.setattr(module, "_text", text)
        with path.open("a") as stream:
            stream.write("1 0 x 3\n")
        return text(path)

    monkeypatch.setattr(module, "_text", late)
    judging.judge("1", "e", 1)
    assert judging.grades("1") == {"d": 1, "x": 3, "e": 1}
    assert files[0].read_text() == "1 0 d 1\n1 0 x 3\n1 0 e 1\n"


def test_a_line_that_another_program_adds_while_a_grade_is_written_stays(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, own = module.atomic_write, '{"query_id": "mine", "text": "bread"}\n'
    left = {"qrels.txt": "other 0 x 1\n", "qrels.queries.jsonl": own}

    @contextmanager
    def slow(path: Path, **options: Any) -> Iterator[Any]:
        with real(path, **options) as stream:
            yield stream
            if path.name in left:
                with path.open("a") as other:
                    other.write(left.pop(path.name))

    monkeypatch.setattr(module, "atomic_write", slow)
    files[0].write_text("1 0 d 1\n")
    with opened_judging(files[0], notes=Notes()) as judging:
        judging.judge("1", "f", 2)
        assert files[0].read_text() == "1 0 d 1\nother 0 x 1\n1 0 f 2\n"
        (tmp_path / "qrels.queries.jsonl").write_text('{"query_id": "q7", "text": "moon"}\n')
        judging.add("fox")
    assert [json.loads(line)["text"] for line in (tmp_path / "qrels.queries.jsonl").read_text().splitlines()] == [
        "moon",
        "bread",
        "fox",
    ]


def test_queries_and_grades_that_another_program_adds_are_shown(tmp_path: Path) -> None:
    path, own = tmp_path / "qrels.txt", tmp_path / "qrels.queries.jsonl"
    with opened_judging(path, notes=Notes()) as judging:
        judging.add("fox")
        with own.open("a") as other:
            other.write('{"query_id": "mine", "text": "hound storm"}\n')
        path.write_text("mine 0 d 3\n")
        found = judging.find("hound  storm")
        assert found is not None
        assert (found.query_id, judging.grades("mine")) == ("mine", {"d": 3})
        with own.open("a") as other:
            other.write("no row\n")
        assert [topic.query_id for topic in judging.topics] == ["q1", "mine"]


def test_judgments_in_beir_s_columns_keep_them(files: tuple[Path, Path]) -> None:
    header = "\ufeffquery-id\tcorpus-id\tscore\n"
    files[0].write_text(f"{header}1\td\t1\n")
    with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
        judging.judge("1", "e", 2)
        judging.judge("1", "d", 0)
    assert files[0].read_text() == f"{header}1\td\t0\n1\te\t2\n"


def test_a_new_row_ends_as_the_other_rows_do(files: tuple[Path, Path]) -> None:
    files[0].write_bytes(b"1 0 d 1\r\n")
    with opened_judging(files[0], str(files[1]), notes=Notes()) as judging:
        judging.judge("1", "e", 2)
        judging.judge("1", "d", 3)
    assert files[0].read_bytes() == b"1 0 d 3\r\n1 0 e 2\r\n"


def test_a_new_query_takes_no_id_that_another_program_has_used_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 d 1\n")
    with opened_judging(path, notes=Notes()) as judging:
        path.write_text("q1 0 d 1\nq2 0 x 3\n")
        assert judging.add("a moon").query_id == "q3"
        path.write_text("no row\n")
        with pytest.raises(InputError, match=r"qrels\.txt:1: 2 columns instead of 4"):
            judging.add("rain")
        assert judging.find("rain") is None


def test_one_server_judges_into_a_file(judging: Judging, files: tuple[Path, Path]) -> None:
    with (
        pytest.raises(BeingWritten, match=r"qrels\.txt: is being written by"),
        opened_judging(files[0], str(files[1]), notes=Notes()),
    ):
        pass
    with pytest.raises(InputError, match=r"use a name without \.gz"), opened_judging(Path("q.gz"), notes=Notes()):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["INDEX", "--judgments", "q.txt"], "--judgments needs a key"),
        (["--rerank-only", "--judgments", "q.txt"], "--judgments needs an index"),
        (["INDEX", "--pool", "5"], "--pool is of judging"),
    ],
)
def test_judging_needs_an_index_and_a_key(
    plain: Service,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LONGRANK_API_KEY", raising=False)
    assert plain.engine.index is not None
    assert main(["serve", *(str(plain.engine.index.path) if one == "INDEX" else one for one in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_an_id_that_would_begin_a_comment_is_refused_and_grades_stay(tmp_path: Path) -> None:
    topics, path = tmp_path / "topics.jsonl", tmp_path / "qrels.txt"
    topics.write_text('{"query_id": "#1", "text": "fox"}\n{"query_id": "2", "text": "moon"}\n')
    with opened_judging(path, str(topics), notes=Notes()) as judging:
        judging.judge("2", "d", 1)
        with pytest.raises(InputError, match="would begin a comment"):
            judging.judge("#1", "d", 3)
    assert path.read_text() == "2 0 d 1\n"


@pytest.mark.parametrize("text", [" ", "\x1c", "\u2028\x85"])
def test_a_blank_query_is_not_kept_since_the_next_server_could_not_read_it(tmp_path: Path, text: str) -> None:
    with opened_judging(tmp_path / "qrels.txt", notes=Notes()) as judging:
        with pytest.raises(InputError, match="needs text"):
            judging.add(text)
        judging.add("fox")
    with opened_judging(tmp_path / "qrels.txt", notes=Notes()) as judging:
        assert [topic.text for topic in judging.topics] == ["fox"]


def test_grades_stay_when_another_program_has_just_emptied_the_file(judging: Judging, files: tuple[Path, Path]) -> None:
    judging.judge("1", "d", 1)
    files[0].write_text("")
    judging.judge("1", "e", 2)
    assert files[0].read_text() == "1 0 d 1\n1 0 e 2\n"
