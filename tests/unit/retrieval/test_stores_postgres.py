"""PostgreSQL as a first stage, run for real: full text and SQL of users, evidence into its texts, one-line errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longrank import rerank, retrieve, search
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.formats.evidence import read_evidence
from longrank.retrieval.stores import open_store
from longrank.types import Notes, Query
from postgresql_server import PASSWORD, running
from tiny_models import save_encoder

psycopg = pytest.importorskip("psycopg", reason="needs the extra postgres")

ROWS = [
    (1, "Harbour lights", "The lights of the harbour burn at night. " * 30 + "Fog hides them.", 1921),
    (2, "Tides", "The tide of the bay is high; the harbour is full.", 1930),
    (3, "Odd \\ words", 'It\'s 100% "odd" & so | is a\\b.\tÄpfel, 東京 and 🦀.', 1947),
    (4, None, None, None),
]
TABLE = 'table = "pages"\ntitle = "title"\ntext = "body"\nmetadata = ["year"]\n'


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as url:
        with psycopg.connect(url, password=PASSWORD) as connection:
            connection.execute("CREATE TABLE pages (id int PRIMARY KEY, title text, body text, year int)")
            connection.execute("CREATE TABLE votes (id int PRIMARY KEY, text text, score int)")
            connection.execute("INSERT INTO votes VALUES (1, 'fog', 70), (2, 'fog and fog over the long harbour', -3)")
            connection.execute('CREATE TABLE "a""b; c" (id uuid, text text)')
            connection.execute("""INSERT INTO "a""b; c" VALUES ('00000000-0000-0000-0000-000000000007', 'odd name')""")
            connection.cursor().executemany("INSERT INTO pages VALUES (%s, %s, %s, %s)", ROWS)
            connection.execute(
                "ALTER TABLE pages ADD words tsvector GENERATED ALWAYS AS "
                "(to_tsvector('english', coalesce(title, '') || ' ' || coalesce(body, ''))) STORED"
            )
        yield url


@pytest.fixture
def store(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes settings and names the store."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)

    def written(settings: str, url: str = server) -> str:
        (tmp_path / "library.toml").write_text(f'url = "{url}"\n{settings}')
        return f"postgres:{tmp_path / 'library.toml'}"

    return written


def ids(source: str, query: str, k: int = 10) -> list[str]:
    return [row.doc_id for row in retrieve(source, {"q": query}, k=k).get("q")]


def test_passages_of_a_search_are_spans_of_the_texts_in_the_table(store: Any) -> None:
    results = search(store(TABLE), "fog over the harbour", pipeline="lexical")
    assert [result.doc_id for result in results] == ["1", "2"]
    assert [result.metadata for result in results] == [{"year": 1921}, {"year": 1930}]
    texts = {str(doc_id): body for doc_id, _, body, _ in ROWS}
    for result in results:
        for passage in result.passages:
            assert texts[result.doc_id][passage.start : passage.end] == passage.text
    assert "Fog hides them." in results[0].passages[0].text
    assert results[0].first_stage == pytest.approx(retrieve(store(TABLE), {"q": "fog over the harbour"})["q"][0].score)


def test_any_word_is_enough_unless_all_are_asked_for(store: Any) -> None:
    assert sorted(ids(store(TABLE), "harbour tide")) == ["1", "2"]
    assert ids(store(TABLE + 'match = "all"\n'), "harbour tide") == ["2"]
    assert ids(store(TABLE), "harbour tide", k=1) == ["2"]


def test_a_stored_tsvector_ranks_as_the_texts_do(store: Any) -> None:
    query = {"q": "harbour lights at night"}
    assert retrieve(store(TABLE + 'tsvector = "words"\n'), query)["q"] == retrieve(store(TABLE), query)["q"]


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE pages; --", "a\\b", '100% "odd" & so | !', "%(k)s {id}", "\0", "it''s"]
)
def test_no_query_is_part_of_the_sql(store: Any, query: str) -> None:
    assert set(ids(store(TABLE), query)) <= {"3"}
    assert ids(store(TABLE), "tide") == ["2"]


def test_names_are_quoted_and_uuids_are_ids(store: Any) -> None:
    source = store("""table = 'a"b; c'\ntext = "text"\n""")
    (result,) = search(source, "odd", pipeline="lexical")
    assert result.doc_id == "00000000-0000-0000-0000-000000000007"
    run = rerank(source, {"q": "odd"}, {"q": {result.doc_id: 1.0}}, pipeline="lexical")
    assert run["q"][0].score > 0


def test_a_table_may_have_a_column_score(store: Any) -> None:
    opened = open_store(store('table = "votes"\ntext = "text"\nmetadata = ["score"]\n'))
    found = opened.search(Query("q", "fog"), 5, Notes())
    assert {item.document.doc_id: item.document.metadata for item in found} == {"1": {"score": 70}, "2": {"score": -3}}
    assert all(0 < item.score < 1 for item in found)
    assert [document.metadata for document in opened.documents(["2"], Notes())] == [{"score": -3}]


def test_a_query_of_the_user_gives_scores_metadata_and_documents(store: Any) -> None:
    sql = (
        "SELECT id AS doc_id, body AS text, year, 10.0 * year AS score FROM pages "
        "WHERE body ILIKE '%%' || %(query)s || '%%' ORDER BY year DESC LIMIT %(k)s"
    )
    source = store(f'sql = "{sql}"\ndocuments = "SELECT id, body AS text FROM pages WHERE id = ANY(%(ids)s)"\n')
    found = open_store(source).search(Query("q", "harbour"), 5, Notes())
    assert [(item.document.doc_id, item.score, item.document.metadata) for item in found] == [
        ("2", 19300.0, {"year": 1930}),
        ("1", 19210.0, {"year": 1921}),
    ]
    reranked = rerank(source, {"q": "harbour"}, {"q": {"1": 2.0, "2": 1.0}}, pipeline="lexical")
    assert {row.doc_id for row in reranked["q"]} == {"1", "2"}


def test_rows_without_a_score_keep_the_order_of_the_query(store: Any) -> None:
    source = store('sql = "SELECT id, body AS text FROM pages WHERE body <> %(query)s ORDER BY id DESC LIMIT %(k)s"\n')
    assert [(row.doc_id, row.score) for row in retrieve(source, {"q": "x"}, k=2)["q"]] == [("3", 1.0), ("2", 0.5)]


@pytest.mark.neural
def test_a_query_vector_reaches_the_query_of_the_user(store: Any, tmp_path: Path) -> None:
    sql = (
        "SELECT 1 AS id, 'a text' AS text, sqrt(sum(x::float8 ^ 2)) AS score, count(*) AS dimension "
        "FROM unnest(string_to_array(trim(both '[]' FROM %(vector)s), ',')) AS x"
    )
    source = store(f'encoder = "{save_encoder(tmp_path / "model")}"\nsql = "{sql}"\n')
    (found,) = open_store(source).search(Query("q", "a text"), 5, Notes())
    assert found.score == pytest.approx(1.0, abs=1e-6)
    assert found.document.metadata == {"dimension": 16}


def test_a_run_is_reranked_by_the_texts_of_the_store(store: Any, tmp_path: Path) -> None:
    source = store(TABLE)
    (tmp_path / "topics.jsonl").write_text('{"query_id": "q", "text": "fog over the harbour"}\n')
    files = [str(tmp_path / name) for name in ("topics.jsonl", "first.run", "second.run")]
    assert main(["retrieve", source, files[0], "-o", files[1]]) == 0
    command = ["rerank", source, *files[:2], "-o", files[2], "--pipeline", "lexical"]
    assert main(command) == 0
    before = Path(files[2]).read_bytes()
    assert main(command) == 0  # resumes from the evidence
    assert Path(files[2]).read_bytes() == before
    scores = {result.doc_id: result.score for result in search(source, "fog over the harbour", pipeline="lexical")}
    for evidence in read_evidence(Path(files[2] + ".evidence"))[1]:
        assert scores[evidence.doc_id] == pytest.approx(float(evidence.passage_score.max()), rel=1e-6)
        text = next(body for doc_id, _, body, _ in ROWS if str(doc_id) == evidence.doc_id)
        assert text is not None
        assert 0 <= evidence.passage_end.max() <= len(text)


def test_documents_that_the_store_lacks_are_refused_or_kept_last(store: Any) -> None:
    run = {"q": {"1": 2.0, "99": 1.0}}
    with pytest.raises(InputError, match=r"not in the store: 1 \(99\)"):
        rerank(store(TABLE), {"q": "harbour"}, run, pipeline="lexical")
    kept = rerank(store(TABLE), {"q": "harbour"}, run, pipeline="lexical", missing="keep")
    assert kept.notes["documents not in the store, ranked last"] == 1
    assert [row.doc_id for row in kept["q"]] == ["1", "99"]
    with pytest.raises(InputError, match="the store has none of the run's documents"):
        rerank(store(TABLE), {"q": "harbour"}, {"q": {"99": 1.0}}, pipeline="lexical")


def test_the_command_prints_offsets_and_counts_empty_texts(store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT id, coalesce(body, '') AS text, year FROM pages WHERE %(query)s <> '' ORDER BY id"
    command = ["search", store(f'sql = "{sql}"'), "tide", "--pipeline", "lexical", "--json", "--show", "year,author"]
    assert main(command) == 0
    printed = capsys.readouterr()
    best = json.loads(printed.out.splitlines()[0])
    assert (best["doc_id"], best["metadata"], best["passages"][0]["start"]) == ("2", {"year": 1930}, 0)
    assert "documents with an empty text: 1" in printed.err
    assert "no candidate has the field 'author'" in printed.err


def test_a_query_that_finds_nothing_has_no_results(store: Any) -> None:
    assert list(search(store(TABLE), "zebra", pipeline="lexical")) == []
    assert list(retrieve(store(TABLE), {"q": "the of"})) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TABLE.replace("pages", "lost"), 'relation "lost" does not exist; see `table`'),
        (TABLE.replace("body", "lost"), "column t.lost does not exist; see `id`"),
        (TABLE + 'language = "klingon"', "does not exist; see `language`"),
        (TABLE + 'tsvector = "year"', "PostgreSQL refuses: function ts_rank"),
        ("sql = \"SELECT id FROM pages WHERE title LIKE 'a%' OR title = %(query)s\"", "write %% for a percent sign"),
        ('sql = "SELECT id, body AS text FROM pages WHERE title = %(qeury)s OR %(query)s = title"', "placeholders are"),
        ('sql = "SELECT body AS text FROM pages WHERE title <> %(query)s"', "no column of ids"),
        ('sql = "SELECT id FROM pages WHERE title <> %(query)s"', "no text"),
        ('sql = "DELETE FROM pages WHERE title = %(query)s RETURNING id"', "read-only transaction"),
        ("sql = \"SELECT 1 AS id, 'a' AS text, 'NaN'::float8 AS score, %(query)s AS q\"", "not a finite number"),
        ("sql = \"SELECT 1 AS id, pg_sleep(9) WHERE '' <> %(query)s\"\ntimeout = 0.1", "raise `timeout`"),
        ('sql = "SELECT 1"', r"`sql` must contain %\(query\)s"),
        ('sql = "SELECT %(vector)s"', "need each other"),
        (TABLE + 'sql = "SELECT %(query)s"', "either `table` or `sql`"),
        (TABLE + 'encoder = "minilm"', "belong to `sql`"),
        ('tabel = "pages"', "unknown key .*'tabel'.*did you mean 'table'"),
        (TABLE + "timeout = 0", "timeout"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_one_line(store: Any, settings: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        search(store(settings), "harbour", pipeline="lexical")
    assert str(caught.value).isprintable()
    assert caught.value.exit_code == 2


def test_a_server_out_of_reach_and_a_wrong_password_are_one_line(
    store: Any, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wr0ng")
    assert main(["search", store(TABLE), "harbour", "--pipeline", "lexical"]) == 2
    assert main(["search", store(TABLE, "postgresql://me:s3cret@127.0.0.1:1/db"), "harbour"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "password authentication failed" in lines[0]
    assert "cannot connect to PostgreSQL" in lines[1]
    assert "PGPASSWORD" in lines[1]
    assert "s3cret" not in lines[1]


def test_what_a_store_cannot_do_is_refused(store: Any, tmp_path: Path) -> None:
    source = store(TABLE)
    with pytest.raises(InputError, match="a store ranks by itself"):
        retrieve(source, {"q": "harbour"}, k1=1.2)
    with pytest.raises(InputError, match="a filter needs a LongRank index"):
        retrieve(source, {"q": "harbour"}, filter={"year": 1})
    with pytest.raises(InputError, match="a filter needs a LongRank index"):
        search(source, "harbour", filter={"year": 1}, pipeline="lexical")
    with pytest.raises(InputError, match="named by its file of settings"):
        search("postgres:library", "harbour", pipeline="lexical")
    with pytest.raises(InputError, match="no such file"):
        search(f"postgres:{tmp_path}/lost.toml", "harbour", pipeline="lexical")
    with pytest.raises(InputError, match="not the address of a PostgreSQL database"):
        search(store(TABLE, "sqlite:///x.db"), "harbour", pipeline="lexical")
    with pytest.raises(InputError, match="set documents ="):
        rerank(store('sql = "SELECT %(query)s"'), {"q": "x"}, {"q": {"1": 1.0}}, pipeline="lexical")
