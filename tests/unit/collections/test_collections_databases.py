"""Documents from SQLite and PostgreSQL: columns are fields, and passwords are neither shown nor stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from longrank.cli.main import main
from longrank.collections import read_documents
from longrank.collections.databases import parse_address, shown_source
from longrank.errors import InputError, MissingExtra, without_passwords
from longrank.expansion.expand import open_documents
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.types import Document, Notes
from longrank.verbs import updates
from postgresql_server import PASSWORD, running

ROWS = [
    (1, "Harbour lights", "The lights of the harbour burn at night.", 1921, None),
    (2, "Tides", "The tide of the bay is high.", 1930, "ann"),
    (3, "", "Fog hides 100% of the coast & bay.", 1947, None),
]
QUERY = "SELECT id, title, body AS text, year, author FROM pages ORDER BY id"
CREATE = "CREATE TABLE pages (id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER, author TEXT)"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "library.db"
    execute(path, CREATE)
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", ROWS)
    connection.close()
    return path


def execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def source(path: Path, query: str = QUERY) -> str:
    return f"sqlite:///{path}?query={query}"


def expected() -> list[Document]:
    documents = []
    for number, title, text, year, author in ROWS:
        metadata: dict[str, Any] = {"year": year} if author is None else {"year": year, "author": author}
        documents.append(Document(str(number), title, text, (), metadata))
    return documents


def test_columns_of_sqlite_are_the_fields_of_documents(database: Path) -> None:
    assert list(read_documents(source(database))) == expected()


def test_the_query_is_the_rest_of_the_address_as_it_is(database: Path) -> None:
    like = source(database, "SELECT id, body AS text FROM pages WHERE body LIKE '%100% of%& bay_' AND year > 1?query=0")
    like = like.replace("1?query=0", "1")
    assert [document.doc_id for document in read_documents(like)] == ["3"]


def test_fields_choose_columns(database: Path) -> None:
    options = CorpusOptions(fields=("title", "text", "author"))
    documents = list(read_documents(source(database), options))
    assert documents[1].text == "The tide of the bay is high.\nann"


def test_a_path_with_three_slashes_is_relative(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(database.parent)
    relative = f"sqlite:///library.db?query={QUERY}"
    assert list(read_documents(relative)) == expected()
    assert shown_source(relative) == source(database)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT body AS text FROM pages", "library.db: no column of ids .*'text'"),
        ("SELECT id, id, body AS text FROM pages", "two columns have one name .*'id'"),
        ("SELECT id, author AS text FROM pages", "library.db:1: 'text' is null"),
        ("SELECT id, year AS text FROM pages", "library.db:1: 'text' is not a string"),
        ("SELECT id, title FROM pages", "library.db:1: no text"),
        ("SELECT lost FROM pages", "SQLite refuses: no such column: lost"),
        ("SELECT 1; SELECT 2", "SQLite refuses: You can only execute one statement"),
        ("DELETE FROM pages", "attempt to write a readonly database"),
        ("", "the address has no query"),
        ("SELECT id, body AS text FROM pages WHERE id > 9", "library.db: holds no document"),
    ],
)
def test_a_wrong_query_is_one_line(database: Path, query: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        list(read_documents(source(database, query)))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("sqlite://library.db?query=SELECT 1", "names no file"),
        ("sqlite:///missing.db?query=SELECT 1", "no such file"),
        ("mysql://me:secret@host/db?query=SELECT 1", "unknown kind of address .*'mysql'"),
        ("postgresql://me:se/cret@host/db?query=SELECT 1", "%2F"),
        ("postgresql://me:se?cret@host/db?query=SELECT 1", "%3F"),
        ("postgresql://me:secret@host/db", "the address has no query"),
    ],
)
def test_a_wrong_address_is_one_line_without_the_password(
    address: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        list(read_documents(address))
    assert "cret" not in str(caught.value)
    assert main(["index", address, "-o", str(tmp_path / "x.index")]) == 2
    printed = capsys.readouterr()
    assert "cret" not in printed.out + printed.err
    assert not (tmp_path / "x.index").exists()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database, " * 100)
    with pytest.raises(InputError, match=r"x\.db: SQLite refuses: file is not a database"):
        list(read_documents(source(tmp_path / "x.db")))


def test_passwords_leave_every_part_of_an_address() -> None:
    address = parse_address("postgresql://me:p%40ss@h1:5432,h2/db?sslpassword=key&sslmode=require&query=SELECT '@'")
    assert address.shown == "postgresql://me@h1:5432,h2/db?sslmode=require&query=SELECT '@'"
    assert address.secrets == {"password": "p@ss", "sslpassword": "key"}
    assert parse_address(address.shown) == address._replace(secrets={})


def test_messages_hide_the_password_of_an_address_in_a_wrong_place() -> None:
    error = InputError("no such file", path=Path("postgresql://me:secret@host/db?password=other&x=1"))
    assert str(error) == "postgresql:/me:***@host/db?password=***&x=1: no such file"
    assert without_passwords("irds:a/b, C:/x and http://host:80/p") == "irds:a/b, C:/x and http://host:80/p"


def test_an_index_follows_a_table(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "pages.index")
    assert main(["index", source(database), "-o", folder]) == 0
    assert main(["index", "--update", "--dry-run", folder]) == 0
    assert "changed" not in capsys.readouterr().out
    execute(database, "UPDATE pages SET body = 'The tide is low.' WHERE id = 2")
    execute(database, "DELETE FROM pages WHERE id = 1")
    execute(database, "INSERT INTO pages VALUES (4, 'New', 'A new lamp.', 1950, NULL)")
    assert main(["index", "--update", "--dry-run", folder]) == 0
    assert f"changed\t{source(database)}" in capsys.readouterr().out
    assert main(["index", "--update", folder]) == 0
    printed = capsys.readouterr().out
    assert "added\t2" in printed
    assert "deleted\t2" in printed
    changed = {document.doc_id: document.text for document in Index(folder)}
    assert changed == {"2": "The tide is low.", "3": ROWS[2][2], "4": "A new lamp."}
    assert main(["index", "--update", folder]) == 0
    assert "added\t0" in capsys.readouterr().out


def test_a_table_that_is_loaded_again_during_an_update_is_read_again(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The update runs the query twice, to compare and to read; between them, and after them, the rows change."""
    folder = str(tmp_path / "pages.index")
    assert main(["index", source(database), "-o", folder]) == 0
    added = "INSERT INTO pages VALUES (4, 'New', 'A new lamp.', 1950, NULL)"
    execute(database, added)
    compare = updates.states_now

    def then_deleted(*given: Any) -> Any:
        compared = compare(*given)
        execute(database, "DELETE FROM pages WHERE id <> 3")
        return compared

    with monkeypatch.context() as patched:
        patched.setattr(updates, "states_now", then_deleted)
        assert main(["index", "--update", folder]) == 0
    assert [document.doc_id for document in Index(folder)] == ["3"]
    with sqlite3.connect(database) as connection:
        connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", ROWS[:2])
    connection.close()
    execute(database, added)
    assert main(["index", "--update", folder]) == 0
    assert sorted(document.doc_id for document in Index(folder)) == ["1", "2", "3", "4"]


def test_a_long_query_of_several_lines_is_read_recorded_and_shown_on_one_line(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = f"SELECT id, body AS text FROM pages\nWHERE id IN ({', '.join(map(str, range(2000)))})\nORDER BY id"
    folder = str(tmp_path / "pages.index")
    assert main(["index", source(database, long), "-o", folder, "--report", str(tmp_path / "report")]) == 0
    execute(database, "DELETE FROM pages WHERE id = 1")
    capsys.readouterr()
    assert main(["index", "--update", "--dry-run", folder]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("changed\tsqlite:///")
    with open_documents(source(database, long), None, Notes()) as documents:
        assert documents.n_documents == 2


def test_rows_are_added_to_an_index(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages.index"
    Index.build([("d", "Dogs bark.")], folder)
    assert main(["index", "--add", source(database), str(folder)]) == 0
    assert [document.doc_id for document in Index(folder)] == ["d", "1", "2", "3"]


def test_an_iterable_of_mappings_is_read_as_a_stream() -> None:
    def stream() -> Iterator[dict[str, object]]:
        for number, title, text, year, author in ROWS:
            yield {"id": number, "title": title, "text": text, "year": year, "author": author}

    assert list(read_documents(stream())) == expected()
    index = Index.build(stream())
    assert index.metadata("2") == {"year": 1930, "author": "ann"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg", reason="needs the extra postgres")
    with running() as address:
        with psycopg.connect(address, password=PASSWORD) as connection:
            connection.execute(CREATE)
            for row in ROWS:
                connection.execute("INSERT INTO pages VALUES (%s, %s, %s, %s, %s)", row)
        yield address


def with_password(address: str, password: str = PASSWORD) -> str:
    return address.replace("tester@", f"tester:{quote(password, safe='')}@")


def test_columns_of_postgresql_are_the_fields_of_documents(server: str) -> None:
    assert list(read_documents(f"{with_password(server)}&query={QUERY}")) == expected()


def test_types_of_postgresql_become_ids_and_json(server: str) -> None:
    query = (
        "SELECT '00000000-0000-0000-0000-000000000007'::uuid AS id, 'x' AS text, 1.5::numeric AS price,"
        " 2::numeric AS n, DATE '2020-01-02' AS day, ARRAY['a', 'b'] AS tags,"
        " '{\"k\": [1]}'::jsonb AS data, '\\x00'::bytea AS raw"
    )
    notes = Notes()
    (document,) = read_documents(f"{with_password(server)}&query={query}", notes=notes)
    assert document.doc_id == "00000000-0000-0000-0000-000000000007"
    expected_values = {"price": 1.5, "n": 2, "day": "2020-01-02", "tags": ["a", "b"], "data": {"k": [1]}}
    assert document.metadata == expected_values
    assert notes["metadata values that are not JSON values, left out"] == 1


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT lost FROM pages", 'PostgreSQL refuses: column "lost" does not exist'),
        ("DELETE FROM pages RETURNING id, body AS text", "PostgreSQL refuses"),
        ("SELECT body AS text FROM pages", "no column of ids"),
        ("SELECT id, author AS text FROM pages ORDER BY id", ":1: 'text' is null"),
    ],
)
def test_a_query_that_postgresql_refuses_is_one_line(server: str, query: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        list(read_documents(f"{with_password(server)}&query={query}"))
    assert PASSWORD not in str(caught.value)


def test_a_wrong_password_is_refused_and_not_shown(server: str) -> None:
    with pytest.raises(InputError, match="cannot connect to PostgreSQL") as caught:
        list(read_documents(f"{with_password(server, 'w/r@ng')}&query={QUERY}"))
    assert "w/r@ng" not in str(caught.value)


def test_an_index_of_postgresql_is_updated_and_its_files_hold_no_password(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pages.index"
    address = f"{with_password(server)}&query={QUERY}"
    assert main(["index", address, "-o", str(folder)]) == 0
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(b"postgresql://tester@/postgres" in path.read_bytes() for path in files)
    for secret in (PASSWORD.encode(), quote(PASSWORD).encode()):
        assert not any(secret in path.read_bytes() for path in files)
    assert main(["index", "--update", str(folder)]) == 2
    assert "PGPASSWORD" in capsys.readouterr().err
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert main(["index", "--update", str(folder)]) == 0
    assert "added\t0" in capsys.readouterr().out


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="'postgres'"):
        list(read_documents("postgresql://host/db?query=SELECT 1 AS id"))
