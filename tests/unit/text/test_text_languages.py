"""Analyzers of other languages: stems checked by hand, bigrams, and indexes that keep their analyzer."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from unicodedata import normalize

import pytest

from longrank.cli.main import main
from longrank.errors import InputError
from longrank.index import Index
from longrank.scoring.passage_terms import PassageTerms
from longrank.text import languages
from longrank.text.analysis import ANALYZERS, check_analyzer
from longrank.text.stop_words import STOP_LISTS, stop_words

GERMAN = [
    {"doc_id": "d1", "title": "Häuser", "text": "Die alten Häuser am Fluss wurden verkauft."},
    {"doc_id": "d2", "title": "Bücher", "text": "Sie liest Bücher über Verträge."},
    {"doc_id": "d3", "title": "Wetter", "text": "Der Regen fiel auf die Straßen."},
]


def stemmed(language: str, text: str) -> list[str]:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    return ANALYZERS[language](text)


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("german", "HÄUSER, Häusern; Haus", ["haus", "haus", "haus"]),
        ("german", "Straße Strassen", ["strass", "strass"]),
        ("german", "Die Häuser und DER Wald", ["haus", "wald"]),  # without stop words
        ("french", "Qu'il lise l'avion jusqu'au soir", ["lis", "avion", "soir"]),
        ("italian", "dell'acqua, l'uomo", ["acqua", "uom"]),
        ("russian", "И в лесу", ["лес"]),
        ("german", "Ha\u0308user", ["haus"]),  # the umlaut as a mark of its own
        ("french", "L\u2019avion, autres avions: continuelles", ["avion", "autr", "continuel"]),
        ("spanish", "canciones canción", ["cancion", "cancion"]),
        ("russian", "Книги книга книгами", ["книг", "книг", "книг"]),
        ("greek", "ΛΌΓΟΣ λόγοι", ["λογ", "λογ"]),
        ("turkish", "KITAPLAR ışık IŞIK İşler", ["kıtap", "ışık", "ışık", "iş"]),
        ("catalan", "l'home homes", ["hom", "hom"]),
    ],
)
def test_stems(language: str, text: str, terms: list[str]) -> None:
    assert stemmed(language, text) == terms


@pytest.mark.parametrize(
    ("analyzer", "text", "terms"),
    [
        ("french", "Bonjour\u202f! \xab\u202fle chat\u202f\xbb", ["bonjour", "chat"]),
        ("german", "10\u202fkm", ["10", "km"]),
        ("cjk", "Bonjour\u202f! \u6771\u4eac\u202f\u90fd", ["bonjour", "\u6771\u4eac", "\u90fd"]),
        ("icu", "10\u202fkm", ["10", "km"]),
        ("porter", "10\u202fkm", ["10\u202fkm"]),  # as Lucene
    ],
)
def test_a_narrow_no_break_space_is_a_blank_but_for_the_analyzers_of_lucene(
    analyzer: str, text: str, terms: list[str]
) -> None:
    assert stemmed(analyzer, text) == terms
    assert [(term, text[start:end].lower()) for term, start, end in ANALYZERS[analyzer].spans(text)] == [
        (term, term) for term in terms
    ]


@pytest.mark.parametrize("language", languages.SNOWBALL)
def test_every_language_has_a_stemmer_and_gives_the_terms_of_its_spans(language: str) -> None:
    text = "Die Häuser, l'avion; книги, 2,5 und 東京"
    terms = stemmed(language, text)
    assert [term for term, _, _ in ANALYZERS[language].spans(text)] == terms
    assert pickle.loads(pickle.dumps(ANALYZERS[language]))(text) == terms


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("東京都に", [("東京", 0, 2), ("京都", 1, 3), ("都に", 2, 4)]),
        ("猫。犬", [("猫", 0, 1), ("犬", 2, 3)]),
        ("データ ABC１２", [("デー", 0, 2), ("ータ", 1, 3), ("abc12", 4, 9)]),
        ("ｺｰﾋｰ", [("コー", 0, 2), ("ーヒ", 1, 3), ("ヒー", 2, 4)]),
        ("ｶﾞｲﾄﾞ", [("ガイ", 0, 3), ("イド", 2, 5)]),  # half-width: a voiced sound mark belongs to its Katakana
        ("新iPhone電話", [("新", 0, 1), ("iphone", 1, 7), ("電話", 7, 9)]),
        ("서울의 봄", [("서울", 0, 2), ("울의", 1, 3), ("봄", 4, 5)]),
        ("Plain words", [("plain", 0, 5), ("words", 6, 11)]),
        ("", []),
    ],
)
def test_bigrams(text: str, spans: list[tuple[str, int, int]]) -> None:
    assert ANALYZERS["cjk"].spans(text) == spans
    assert ANALYZERS["cjk"](text) == [term for term, _, _ in spans]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("ข้าวหอมมะลิ Rice", [("ข้าว", 0, 4), ("หอม", 4, 7), ("มะลิ", 7, 11), ("rice", 12, 16)]),
        ("พูดภาษาไทย", [("พูด", 0, 3), ("ภาษา", 3, 7), ("ไทย", 7, 10)]),
        ("ພາສາລາວ", [("ພາສາ", 0, 4), ("ລາວ", 4, 7)]),
        ("", []),
    ],
)
def test_words_of_scripts_without_blanks(text: str, spans: list[tuple[str, int, int]]) -> None:
    pytest.importorskip("icu4py", reason="needs the extra icu")
    assert ANALYZERS["icu"].spans(text) == spans
    assert ANALYZERS["icu"](text) == [term for term, _, _ in spans]


def test_every_stop_list_belongs_to_a_stemmer() -> None:
    assert set(STOP_LISTS) <= set(languages.SNOWBALL) and len(STOP_LISTS) == 12
    assert {"und", "für"} <= stop_words("german") and not stop_words("greek")
    for language in STOP_LISTS:
        assert all(languages.lowered(language, word) == word for word in stop_words(language))


def test_bigrams_are_counted_in_passages() -> None:
    counts = PassageTerms(ANALYZERS["cjk"]).count(["東京", "京都"], [["東京都 東京", "京都 と 大阪"]])
    assert counts.lengths.tolist() == [3, 3]
    assert list(zip(counts.passages, counts.terms, counts.counts, strict=True)) == [(0, 0, 2), (0, 1, 1), (1, 1, 1)]


def write(path: Path, rows: list[dict[str, str]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_an_index_of_german_texts_finds_inflected_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    folder = str(tmp_path / "index")
    assert main(["index", write(tmp_path / "docs.jsonl", GERMAN), "-o", folder, "--analyzer", "german"]) == 0
    index = Index(folder)
    assert (index.options.analyzer, index.analyzer) == ("german", ANALYZERS["german"])
    assert [index.df(term) for term in ("haus", "buch", "strass")] == [1, 1, 1]
    capsys.readouterr()
    for query, doc_id in (("Haus", "d1"), ("Vertrag", "d2"), ("strasse", "d3")):
        assert main(["search", folder, query, "--pipeline", "lexical", "--json"]) == 0
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [row["doc_id"] for row in found] == [doc_id]
        assert all(row["passages"][0]["words"] for row in found)  # the marks in the passage


def test_an_index_of_japanese_texts_finds_bigrams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"doc_id": "d1", "text": "東京都の天気は晴れです。"}, {"doc_id": "d2", "text": "大阪の天気。"}]
    index, topics, run = (str(tmp_path / name) for name in ("index", "topics.tsv", "rm3.run"))
    assert main(["index", write(tmp_path / "docs.jsonl", rows), "-o", index, "--analyzer", "cjk"]) == 0
    Path(topics).write_text("q1\t京都\nq2\t天気\nq3\t大阪天気\n", encoding="utf-8")
    assert main(["retrieve", index, topics, "-o", run, "--feedback", "rm3"]) == 0
    found = [line.split()[0:3:2] for line in Path(run).read_text().splitlines()]
    assert ["q1", "d1"] in found and found[-2] == ["q3", "d2"]
    assert sorted(doc for query, doc in found if query == "q2") == ["d1", "d2"]


def test_a_missing_extra_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    languages._stemmer.cache_clear()
    folder = tmp_path / "index"
    assert main(["index", write(tmp_path / "docs.jsonl", GERMAN), "-o", str(folder), "--analyzer", "german"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the analyzer 'german' needs the extra 'languages'" in line and "pip install" in line
    assert not folder.exists()


def test_an_unknown_analyzer_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown analyzer \(got 'klingon'\); one of .*cjk.*german.*porter"):
        check_analyzer("klingon")


@pytest.mark.parametrize("text", ["한국 음식 검색 엔진", "가각힣", "がぎぐ 東京が", "ㄱㄴ 한ㄱ"])
def test_decomposed_hangul_and_kana_have_the_bigrams_of_composed_letters(text: str) -> None:
    """macOS writes file names in decomposed letters (NFD)."""
    letters = normalize("NFD", text)
    assert letters != text or "ㄱ" in text
    spans = ANALYZERS["cjk"].spans(letters)
    assert [term for term, _, _ in spans] == ANALYZERS["cjk"](text)
    assert [normalize("NFC", letters[a:b]) for _, a, b in spans] == [
        text[a:b] for _, a, b in ANALYZERS["cjk"].spans(text)
    ]


def test_letters_beyond_16_bits_move_no_word_of_an_unspaced_script() -> None:
    pytest.importorskip("icu4py", reason="needs the extra icu")
    text = "ไทย\U00011700\U00011701 dog cat"
    words = [text[a:b] for _, a, b in ANALYZERS["icu"].spans(text)]
    assert words[-2:] == ["dog", "cat"] and "".join(words[:-2]) == text.split()[0]
