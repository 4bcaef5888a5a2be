"""Settings of PostgreSQL as a first stage, and the statements for a table."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from longrank.retrieval.stores.settings import StoreSettings
from longrank.text.analysis import ANALYZERS

Name = Annotated[str, Field(min_length=1)]


class PostgresSettings(StoreSettings):
    """Settings of a table, or a query.

    Attributes:
        url: ``postgresql://USER@HOST/NAME``; the password may stand in ``PGPASSWORD`` or ``~/.pgpass``.
        table: table or view, ``schema.table`` too; searched by full text.
        id: column of the ids.
        title: column of the titles; None: the table has none.
        metadata: other columns to keep.
        language: text search configuration.
        tsvector: column of type tsvector to search; None: title and text, analysed by each query.
        match: ``any``: documents with any word of the query; ``all``: as ``websearch_to_tsquery``, with all words.
        sql: a query of your own instead of `table`, with ``%(query)s``, ``%(k)s`` and, with `encoder`, ``%(vector)s``.
        documents: with `sql`: a query for documents by ``%(ids)s``, an array.
    """

    url: Name
    table: Name | None = None
    id: Name = "id"
    title: Name | None = None
    language: Name = "english"
    tsvector: Name | None = None
    match: Literal["any", "all"] = "any"
    sql: Name | None = None
    documents: Name | None = None

    @model_validator(mode="after")
    def _check_query(self) -> Self:
        if (self.table is None) == (self.sql is None):
            raise ValueError("give either `table` or `sql`")
        if self.sql is None:
            if self.documents or self.encoder:
                raise ValueError("`documents` and `encoder` belong to `sql`; remove them, or write `sql`")
            return self
        if "%(query)s" not in self.sql and "%(vector)s" not in self.sql:
            raise ValueError("`sql` must contain %(query)s or %(vector)s")
        if ("%(vector)s" in self.sql) != (self.encoder is not None):
            raise ValueError("%(vector)s in `sql` and `encoder` need each other")
        return self

    @property
    def default_analyzer(self) -> str:
        """The analyzer of the text search configuration, where there is one; English with `sql`."""
        language = self.language.removeprefix("pg_catalog.")
        if self.sql is not None:
            return "porter"
        return language if language in ANALYZERS else _ANALYZERS.get(language, "porter")


_ANALYZERS = {"simple": "none"}
"""Text search configurations whose analyzer has another name; English has ``porter``."""

_ANY = (
    "(SELECT string_agg('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery "
    "FROM unnest(to_tsvector({language}::regconfig, %(query)s)))"
)
"""The words of the query, joined by OR; NULL, which finds nothing, if there is none."""

_ALL = "websearch_to_tsquery({language}::regconfig, %(query)s)"

RANK = "longrank_score"
"""Column of `search_of_table` with the score: a table may have a column ``score`` of its own."""

_SEARCH = (
    "WITH longrank AS (SELECT {words} AS words) "
    "SELECT {columns}, ts_rank({vector}, longrank.words, 1) AS longrank_score FROM {table} AS t, longrank "
    "WHERE {vector} @@ longrank.words ORDER BY longrank_score DESC, t.{id} LIMIT %(k)s"
)
_BY_IDS = "SELECT {columns} FROM {table} AS t WHERE t.{id} = ANY(%(ids)s)"


def search_of_table(settings: PostgresSettings) -> Any:
    """Return the full-text query of a table: parameters ``query`` and ``k``, columns as of `by_ids`, and `RANK`."""
    return _composed(_SEARCH, settings)


def by_ids(settings: PostgresSettings) -> Any:
    """Return the query for documents by the parameter ``ids``: columns ``doc_id``, ``text``, title and metadata."""
    return _composed(_BY_IDS, settings)


def _composed(statement: str, settings: PostgresSettings) -> Any:
    """Fill in names as quoted identifiers, and the language as a quoted literal."""
    from psycopg import sql

    assert settings.table is not None

    def column(name: str, other: str | None = None, empty: bool = False) -> Any:
        form = "coalesce(t.{}, '') AS {}" if empty else "t.{} AS {}"
        return sql.SQL(form).format(sql.Identifier(name), sql.Identifier(other or name))

    columns = [column(settings.id, "doc_id"), column(settings.text, "text", empty=True)]
    columns += [column(settings.title, "title")] if settings.title else []
    columns += [column(name) for name in settings.metadata or ()]
    language = sql.Literal(settings.language)
    words = sql.SQL(_ANY if settings.match == "any" else _ALL).format(language=language)
    return sql.SQL(statement).format(
        columns=sql.SQL(", ").join(columns),
        id=sql.Identifier(settings.id),
        table=sql.Identifier(*settings.table.split(".")),
        vector=_vector(settings, language),
        words=words,
    )


def _vector(settings: PostgresSettings, language: Any) -> Any:
    from psycopg import sql

    if settings.tsvector is not None:
        return sql.SQL("t.{}").format(sql.Identifier(settings.tsvector))
    parts = [name for name in (settings.title, settings.text) if name]
    texts = [sql.SQL("coalesce(t.{}, '')").format(sql.Identifier(name)) for name in parts]
    return sql.SQL("to_tsvector({}::regconfig, {})").format(language, sql.SQL(" || ' ' || ").join(texts))
