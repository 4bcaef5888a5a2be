"""Sharing a search by its link, and saving rankings as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from longrank.types import Document
from page.payloads import PAYLOADS
from page.test_page_phone import PHONES
from slow_values import slow

Show = Callable[..., Any]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"]
FEW = [*FORMULAS[::4], *slow(*FORMULAS[1:4])]
MARKUP = [
    "# fox", "- fox", "1. fox", "1) fox", "> fox", "fox\n===", "fox\n---", "***", "```\nfox\n```", "~~~\nfox",
    "    fox", "*fox*", "_fox_", "~~fox~~", "`fox`", "[fox](https://evil.example)", "![fox](https://evil.example/x.png)",
    "[fox]: https://evil.example", "<https://evil.example>", "https://evil.example", "www.evil.example", "fox\\",
    "a | b\n--|--\nc | d", "&copy;", "$x$", "mailto:fox@evil.example",
]  # fmt: skip
SEARCH = "#search?q=fox&p=lexical&k=50&facet=note&facet=constructor"
MAPPED = str.maketrans({one: "\ufffd" for one in [*map(chr, range(32)), *"\u202e\u2066"] if not one.isspace()})


@pytest.fixture(scope="module")
def exporting(make_engine: Callable[..., Any], serving: Callable[..., Any]) -> Iterator[str]:
    """A server whose documents are payloads, formulas and Markdown; the last has pages."""
    documents = [
        Document(
            f"{n} {nasty}", nasty, f"a fox {nasty}\n{nasty}\na fox", metadata={"note": nasty, "constructor": number}
        )
        for n, nasty in enumerate([*PAYLOADS, *FORMULAS])
        for number in [n if n < 9 else 2**60 + n]  # of which JavaScript would round the last digits
    ]
    pages = {"source": "report.pdf", "page_starts": [0, 300]}
    text = "news " * 60 + "moon " * 60 + "\na fox, a fox, a fox"
    documents.append(Document("pdf", "Report", text, metadata=pages))
    with serving(make_engine(documents)) as url:
        yield url


def saved(page: Any, folder: Path, name: str, within: str = "") -> tuple[str, str]:
    """Return the name and the text of the file that a button saves."""
    with page.expect_download() as download:
        page.locator(f"{within} .save").get_by_role("button", name=name).click()
    path = folder / "saved"
    download.value.save_as(path)
    return download.value.suggested_filename, path.read_bytes().decode("utf-8")


def opened(show: Show, url: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return a page with its results, and the answer that it got."""
    answers: list[Any] = []

    def keep(route: Any) -> None:
        response = route.fetch()
        answers.append(response.json())
        route.fulfill(response=response)

    page = show(url, prepare=lambda page: page.route("**/search", keep), **options)
    page.wait_for_selector("#columns:not(:has([aria-busy])) .card")  # all columns: a late answer is announced, too
    return page, answers[0]


def rows_of(text: str) -> list[dict[str, str]]:
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:], newline="")))


def with_query(query: str) -> Callable[[Any], None]:
    """Return a preparation of a page: its answers name another query."""

    def prepare(page: Any) -> None:
        page.route("**/search", lambda route: route.fulfill(json=route.fetch().json() | {"query": query}))

    return prepare


@pytest.mark.slow
def test_the_button_copies_the_link_of_the_search_with_its_filter_and_fields(show: Show, exporting: str) -> None:
    page, _ = opened(show, f"{exporting}{SEARCH}&p=bm25&filter=%7B%22constructor%22%3A%7B%22%24lt%22%3A9%7D%7D")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.locator("#status").inner_text() == "The link is in the clipboard."
    link = page.evaluate("navigator.clipboard.readText()")
    cards = "all => all.map((one) => one.dataset.doc)"
    other = show(link)
    other.wait_for_selector("[data-pipeline=bm25] .card")
    assert other.locator(".facet").count() == 2
    assert other.locator("#filters li").count() > 0
    shown = page.locator(".card").evaluate_all(cards)
    assert len(shown) == 18
    assert other.locator(".card").evaluate_all(cards) == shown


def test_json_is_the_answer_on_the_page(show: Show, exporting: str, tmp_path: Path) -> None:
    page, answer = opened(show, exporting + SEARCH)
    name, text = saved(page, tmp_path, "JSON")
    assert name == "longrank-fox-lexical.json"
    kept = {key: value for key, value in answer.items() if key not in ("request_id", "took_ms", "facets")}
    ranking = json.loads(text)
    assert ranking.pop("link") == page.url
    assert ranking == kept
    assert {one["title"] for one in ranking["results"]} >= set(PAYLOADS)
    assert saved(page, tmp_path, "JSON")[1] == text


def test_csv_has_a_row_for_each_shown_passage_and_no_formula(show: Show, exporting: str, tmp_path: Path) -> None:
    page, answer = opened(show, exporting + SEARCH)
    rows = rows_of(saved(page, tmp_path, "CSV")[1])
    assert len(rows) == page.locator(".excerpt").count()
    assert not [cell for row in rows for cell in row.values() if re.match(r"[=+@\t\r]|-(?!\d+(\.\d+)?$)", cell)]
    by_id = {row["doc_id"]: row for row in reversed(rows)}
    for result in answer["results"]:
        row, passage = by_id[result["doc_id"]], result["passages"][0]
        assert float(row["score"]) == result["score"]
        guarded = "'" if result["title"] in FORMULAS else ""
        assert row["title"] == guarded + result["title"]
        note, number = (result["metadata"].get(name, "") for name in ("note", "constructor"))
        assert (row["metadata.note"], row["metadata.constructor"]) == (guarded + note, str(number))
        assert (row["text"], float(row["passage_score"])) == (passage["text"], passage["score"])
        assert (row["start"], row["end"]) == (str(passage["start"]), str(passage["end"]))
    assert (by_id["pdf"]["place"], by_id["pdf"]["page"]) == ("report.pdf, p. 2", "2")


@pytest.mark.parametrize("formula", FEW)
@pytest.mark.slow
def test_a_query_is_no_formula_and_no_name_of_a_folder(
    show: Show, exporting: str, tmp_path: Path, formula: str
) -> None:
    page = show(f"{exporting}#search?q=fox&p=lexical", prepare=with_query(f"{formula}/../Füchse"))
    page.wait_for_selector(".card")
    name, text = saved(page, tmp_path, "CSV")
    assert re.fullmatch(r"longrank-[\w-]*füchse-lexical\.csv", name)
    assert {row["query"] for row in rows_of(text)} == {f"'{formula}/../Füchse"}


@pytest.mark.slow
def test_documents_without_passages_have_a_row(show: Show, exporting: str, tmp_path: Path) -> None:
    page, answer = opened(show, f"{exporting}#search?q=fox&p=bm25")
    for result in answer["results"]:
        assert result["passages"] == []
    rows = rows_of(saved(page, tmp_path, "CSV")[1])
    assert [row["rank"] for row in rows] == [str(result["rank"]) for result in answer["results"]]
    assert {row["text"] for row in rows} == {""}


def quotes_and_headings(text: str) -> tuple[list[str], list[str]]:
    """Return the texts of quotes and headings of Markdown; it has nothing but these, paragraphs and one link."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    quotes: list[str] = []
    headings: list[str] = []
    links, inside = 0, ""
    for token in parser.parse(text):
        assert re.fullmatch("(blockquote|heading|paragraph)_(open|close)|inline", token.type), token
        inside = token.type if token.type in ("blockquote_open", "heading_open", "blockquote_close") else inside
        if token.type != "inline":
            quotes += [""] if token.type == "blockquote_open" else []
            continue
        kinds = [child.type for child in token.children]
        links += kinds.count("link_open")
        assert set(kinds) <= {"text", "softbreak", "text_special", "link_open", "link_close"}, token.content
        plain = "".join("\n" if child.type == "softbreak" else child.content for child in token.children)
        if inside == "blockquote_open":
            quotes[-1] += plain + "\n"
        elif inside == "heading_open":
            headings.append(plain)
            inside = ""
    assert links == 1
    return quotes, headings


def words(text: str) -> list[str]:
    return text.translate(MAPPED).split()


def test_markdown_quotes_passages_and_names_pages(show: Show, exporting: str, tmp_path: Path) -> None:
    page, answer = opened(show, exporting + SEARCH)
    name, text = saved(page, tmp_path, "Markdown")
    assert name == "longrank-fox-lexical.md"
    quotes, headings = quotes_and_headings(text)
    assert [words(one) for one in headings] == [
        ["fox"],
        *([f"{one['rank']}.", *words(one["title"])] for one in answer["results"]),
    ]
    passages = [passage for one in answer["results"] for passage in one["passages"] if passage["score"] > 0]
    assert [words(one) for one in quotes] == [words(one["text"]) for one in passages]
    assert re.search(r"^> a fox, a fox, a fox\n\n— report\.pdf, p\. 2, characters \d+–\d+, score ", text, re.MULTILINE)


@pytest.mark.slow
def test_markdown_in_texts_titles_and_queries_stays_text(show: Show, server: str, tmp_path: Path) -> None:
    def nasty(route: Any) -> None:
        answer = route.fetch().json()
        result = answer["results"][0]
        made = [
            result | {"title": one, "passages": [result["passages"][0] | {"text": one, "words": [], "place": one}]}
            for one in MARKUP
        ]
        route.fulfill(json=answer | {"results": made, "query": MARKUP[0], "warnings": MARKUP})

    page = show(f"{server}#search?q=fox&p=lexical", prepare=lambda page: page.route("**/search", nasty))
    page.wait_for_selector(".card")
    text = saved(page, tmp_path, "Markdown")[1]
    quotes, headings = quotes_and_headings(text)
    assert [words(one) for one in quotes] == [words(one) for one in MARKUP]
    assert [words(one)[1:] for one in headings[1:]] == [words(one) for one in MARKUP]
    _, after = text.split(f"<{page.url}&k=10>")
    assert re.findall(r".*(?:\w://|www\.|mailto:).*", after) == []  # GitHub makes links of these


@pytest.mark.slow
def test_a_ranking_of_own_texts_is_saved_without_a_link(show: Show, server: str, tmp_path: Path) -> None:
    page = show(f"{server}#rerank")
    page.fill("#rerank-query", "fox")
    page.fill("#texts", 'the moon\n---\na *fox*\nand "more", =1')
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#ranking .card")
    page.fill("#rerank-query", "changed")
    assert page.get_by_role("button", name="Copy link").count() == 0
    name, text = saved(page, tmp_path, "CSV", "#ranking")
    assert name == "longrank-fox-lexical.csv"
    first = rows_of(text)[0]
    assert (first["query"], first["doc_id"], first["title"]) == ("fox", "text 2", "a *fox*")
    assert first["text"] == 'a *fox*\nand "more", =1'
    assert json.loads(saved(page, tmp_path, "JSON", "#ranking")[1])["query"] == "fox"
    markdown = saved(page, tmp_path, "Markdown", "#ranking")[1]
    assert '> a \\*fox\\*\n> and "more", =1\n\n— a \\*fox\\*, characters 0–' in markdown


@pytest.mark.slow
def test_files_are_saved_by_keyboard_and_said(show: Show, server: str) -> None:
    page, _ = opened(show, f"{server}#search?q=fox&p=lexical")
    page.get_by_role("button", name="Copy link").focus()
    for suffix in ("json", "csv", "md"):
        page.keyboard.press("Tab")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == f"longrank-fox-lexical.{suffix}"
        assert page.locator("#status").inner_text() == f"Saving longrank-fox-lexical.{suffix}."


@pytest.mark.parametrize("size", PHONES)
@pytest.mark.slow
def test_a_finger_hits_each_button(show: Show, server: str, size: tuple[int, int]) -> None:
    viewport = {"width": size[0], "height": size[1]}
    page, _ = opened(show, f"{server}#search?q=fox&p=lexical", viewport=viewport, is_mobile=True, has_touch=True)
    boxes = [button.bounding_box() for button in page.locator(".share button").all()]
    assert len(boxes) == 4
    assert min(min(box["width"], box["height"]) for box in boxes) >= 44
    assert all(box["x"] + box["width"] <= size[0] for box in boxes)
