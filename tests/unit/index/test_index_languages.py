"""Indexes of several languages: each document has the terms of its own, and queries those of one or all."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.errors import InputError, MissingExtra
from longrank.index import Index
from longrank.index.languages import in_language
from longrank.ranking.pipeline import open_pipeline
from longrank.text.analysis import ANALYZERS
from longrank.text.language_tags import analyzer_of
from longrank.types import Notes, Query
from longrank.verbs.rerank import rerank
from longrank.verbs.retrieve import retrieve
from longrank.verbs.search import search

pytest.importorskip("Stemmer", reason="needs the extra languages")

DOCS = [
    {"doc_id": "en", "text": "The houses were running out of books.", "lang": "en"},
    {"doc_id": "de", "title": "Häuser", "text": "Die alten Häuser mit Büchern; running gag.", "lang": "de-AT"},
    {"doc_id": "fr", "text": "Les maisons et l'avion, die alte Maison", "lang": "french"},
    {"doc_id": "ja", "text": "東京都の家", "lang": "ja"},
    {"doc_id": "none", "text": "Houses without a language"},
]


def terms(index: Index, doc_id: str) -> Counter[str]:
    numbers, counts = index.vector(index.number(doc_id))
    return Counter(dict(zip(index.terms_at(numbers), counts.tolist(), strict=True)))


def test_each_document_has_the_terms_of_its_language() -> None:
    index = Index.build(DOCS, analyzer_field="lang")
    for row, name in zip(DOCS, ("porter", "german", "french", "cjk", "porter"), strict=True):
        text = f"{row.get('title', '')}\n{row['text']}"
        assert terms(index, row["doc_id"]) == Counter(ANALYZERS[name](text))
        assert index.document_analyzer(row["doc_id"]) is ANALYZERS[name]
    assert index.document_analyzer("passage 3 de") is ANALYZERS["german"]
    assert index.document_analyzer("passage 3 ") is ANALYZERS["porter"]


def test_english_documents_alone_give_the_index_of_english() -> None:
    english = [{**row, "lang": "en"} for row in DOCS]
    mixed, plain = Index.build(english, analyzer_field="lang"), Index.build(english)
    assert list(mixed.terms()) == list(plain.terms())
    for query in ("houses running", "die alten Häuser"):
        assert retrieve(mixed, [query]).get("1") == retrieve(plain, [query]).get("1") != ()


def test_a_query_has_the_terms_of_its_language_or_of_all() -> None:
    index = Index.build(DOCS, analyzer_field="lang")
    query = Query("q", "running running Häuser")
    assert index.query_terms(query) == {"run": 2, "running": 2, "häuser": 1, "haus": 1, "häus": 1}
    (german,) = in_language([query], "de", index.options, Notes())
    assert index.query_terms(german) == {"running": 2, "haus": 1}
    assert index.query_terms(Query("q", "the houses", {"lang": "en"})) == {"hous": 1}
    left = index.delete(["de", "fr", "ja"])  # the languages of living documents
    assert left.query_terms(query) == Counter(ANALYZERS["porter"](query.text))


def found(index: Index, query: str, **options: str) -> list[str]:
    return [row.doc_id for row in retrieve(index, [Query("q", query)], **options).get("q")]  # type: ignore[arg-type]


def test_searches_and_their_marks_follow_the_languages() -> None:
    index = Index.build(DOCS, analyzer_field="lang")
    assert found(index, "Haus") == found(index, "Haus", lang="de") == ["de"]
    assert found(index, "die") == ["fr"]  # a stop word in German
    assert found(index, "house") == ["none", "en"]
    assert found(index, "Büchern", lang="en") == []
    lexical = open_pipeline(index, "lexical")
    (result,) = search(index, "Buch", pipeline=lexical, k=1)
    assert [result.passages[0].text[a:b] for a, b in result.passages[0].words] == ["Büchern"]
    assert result.passages[0].score > 0 and result.passages[0].sentence
    assert list(search(index, "Büchern", pipeline=lexical, lang="en")) == []


def test_the_command_line_keeps_the_field_and_takes_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs, queries, folder, run = (tmp_path / name for name in ("docs.jsonl", "queries.jsonl", "index", "run"))
    docs.write_text("".join(json.dumps(row) + "\n" for row in DOCS))
    command = ["index", str(docs), "-o", str(folder), "--analyzer-field", "lang", "--metadata", "none"]
    assert main(command) == 0
    index = Index(folder)
    assert index.options.analyzer_field == "lang" and index.metadata("de") == {"lang": "de-AT"}
    docs.write_text(json.dumps({"doc_id": "de2", "text": "Haus", "lang": "de"}) + "\n")
    assert main(["index", "--add", str(docs), str(folder), "--metadata", "none"]) == 0
    queries.write_text('{"query_id": "1", "text": "Häusern", "lang": "de"}\n{"query_id": "2", "text": "Häusern"}\n')
    assert main(["retrieve", str(folder), str(queries), "-o", str(run)]) == 0
    assert [line.split()[0:3:2] for line in run.read_text().splitlines()] == [
        *(["1", "de"], ["1", "de2"], ["2", "de"], ["2", "de2"]),
    ]
    assert main(["retrieve", str(folder), str(queries), "-o", str(run), "--lang", "en"]) == 0
    assert run.read_text() == ""
    reranked = ["rerank", str(folder), str(queries), str(run), "-o", str(tmp_path / "2.run"), "--pipeline", "lexical"]
    assert main(["retrieve", str(folder), str(queries), "-o", str(run)]) == 0
    assert main([*reranked, "--lang", "de"]) == 0
    capsys.readouterr()
    assert main([*reranked, "--lang", "en"]) == 2  # the evidence file is of other queries
    assert "evidence" in capsys.readouterr().err
    assert main(["search", str(folder), "Häusern", "--pipeline", "lexical", "--json", "--lang", "de"]) == 0
    assert [json.loads(line)["doc_id"] for line in capsys.readouterr().out.splitlines()] == ["de2", "de"]


def test_files_of_a_folder_are_analysed_by_the_languages_that_they_name(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse", reason="needs the extra html")
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.html").write_text('<html lang="de"><body><p>Die alten Häuser am Fluss.')
    (folder / "b.md").write_text("---\nlang: fr\n---\nDes maisons continuelles.")
    (folder / "c.txt").write_text("Old houses.")
    assert main(["index", str(folder), "-o", str(tmp_path / "index"), "--analyzer-field", "lang"]) == 0
    index = Index(tmp_path / "index")
    assert {"haus", "continuel", "hous"} <= set(index.terms())
    (folder / "c.txt").unlink()
    (folder / "b.md").write_text("---\nlang: de\n---\nAlte Bücher.")
    assert main(["index", "--update", str(tmp_path / "index")]) == 0
    assert list(Index(tmp_path / "index").terms()) == ["alt", "buch", "fluss", "haus"]


@pytest.mark.parametrize(
    ("docs", "options", "message"),
    [
        (
            [{"doc_id": "a", "text": "x", "lang": "x!"}],
            {},
            r"documents:1: unknown language in 'lang' \(got 'x!'\); give",
        ),
        ([{"doc_id": "a", "text": "x", "lang": 7}], {}, r"documents:1: 'lang' is not a text \(got 7\)"),
        ([{"doc_id": "a", "text": "x"}], {}, r"no document has the language field \(got 'lang'\)"),
        ([{"doc_id": "a", "text": "x", "lang": None}], {}, r"no document has the language field \(got 'lang'\)"),
    ],
)
def test_a_wrong_language_is_one_line(
    docs: list[dict[str, object]], options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        Index.build(docs, tmp_path / "index", analyzer_field="lang", **options)
    assert not (tmp_path / "index" / "manifest.json").exists()


def test_wrong_languages_of_queries_are_refused() -> None:
    mixed, plain = Index.build(DOCS, analyzer_field="lang"), Index.build(DOCS)
    with pytest.raises(InputError, match=r"unknown language \(got 'klingon'\); give a code such as en"):
        retrieve(mixed, ["x"], lang="klingon")
    with pytest.raises(InputError, match=r"query '7': unknown language in 'lang' \(got 'klingon'\); give a code"):
        retrieve(mixed, {"7": {"text": "x", "lang": "klingon"}})
    with pytest.raises(InputError, match=r"a language is a text \(got 5\); give a code such as en or de"):
        retrieve(mixed, ["x"], lang=5)
    with pytest.raises(InputError, match=r"share the analyzer porter \(got 'de'\); leave out the language"):
        retrieve(plain, ["x"], lang="de")


def test_a_language_without_an_analyzer_has_plain_words_and_is_counted() -> None:
    notes = Notes()
    index = Index.build([{"doc_id": "a", "text": "Psy i koty", "lang": "pl"}], analyzer_field="lang", notes=notes)
    assert list(index.terms()) == ["i", "koty", "psy"]
    assert notes["documents in 'pl', which has no analyzer, indexed as plain words"] == 1


def test_queries_in_a_language_without_an_analyzer_are_told_apart() -> None:
    index, said = Index.build(DOCS, analyzer_field="lang"), "'pl' has no analyzer: queries are read as plain words"
    run = retrieve(index, ["houses", "running"], lang="pl")
    assert run.notes.lines()[0] == said and run.get("1") == ()
    assert search(index, "running", pipeline="lexical", lang="pl").notes.lines() == [said]
    own = {"1": {"text": "running", "lang": "pl"}, "2": {"text": "running"}, "3": {"text": "running", "lang": "none"}}
    first = retrieve(index, own)
    assert first.notes["queries in 'pl', which has no analyzer, read as plain words"] == 1
    reranked = rerank(index, own, first, pipeline="lexical")
    assert reranked.notes["queries in 'pl', which has no analyzer, read as plain words"] == 1
    assert not any("plain words" in line for line in retrieve(index, ["running"], lang="none").notes.lines())


def test_a_language_is_refused_where_nothing_is_analysed(tmp_path: Path) -> None:
    index, what = Index.build(DOCS, analyzer_field="lang"), "searches for no words, so a language changes nothing"
    with pytest.raises(InputError, match=f"preset 'dense' {what}"):
        retrieve(index, ["x"], preset="dense", lang="de")
    with pytest.raises(InputError, match=r"a language needs a LongRank index \(got 'lucene:nowhere'\); leave out"):
        retrieve("lucene:nowhere", ["x"], lang="de")


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        *(("de", "german"), ("DE-at", "german"), ("pt_BR", "portuguese"), ("deu", "german"), ("German", "german")),
        *(("en", "porter"), ("english", "porter"), ("porter", "porter"), ("none", "none"), ("zh-Hant-TW", "cjk")),
        *(("ko", "cjk"), ("th", "icu"), ("pl", "none"), ("und", None), ("", None), ("mul", None)),
    ],
)
def test_tags(tag: str, name: str | None) -> None:
    assert analyzer_of(tag) == name


@pytest.mark.parametrize("tag", ["deutsch", "e", "en us", "de-", "12"])
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(InputError, match="unknown language"):
        analyzer_of(tag)


def test_every_language_of_a_stemmer_has_a_code() -> None:
    from longrank.text.language_tags import _CODES
    from longrank.text.languages import SNOWBALL

    assert set(SNOWBALL) == set(_CODES) - {"porter", "cjk", "icu"}


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from longrank.text import languages

    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    languages._word_breaker.cache_clear()
    with pytest.raises(MissingExtra, match="the analyzer 'icu' needs the extra 'icu'"):
        Index.build([{"doc_id": "a", "text": "ข้าว", "lang": "th"}], analyzer_field="lang")
