"""Work under way and old results: elapsed time, cancelling, examples, explanations, refused files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Show = Callable[..., Any]
FRONT = "---\ntitle: 'Of foxes'\ntags:\n  - fox\n---\nA fox in Markdown."


def hold(page: Any, path: str) -> list[Any]:
    """Keep requests of a path unanswered; return them."""
    held: list[Any] = []

    def keep(route: Any) -> None:
        held.append(route)

    page.route(path, keep)
    return held


def rank(page: Any, texts: str) -> None:
    page.fill("#rerank-query", "fox")
    page.fill("#texts", texts)
    page.get_by_role("button", name="Rank", exact=True).click()


def test_a_search_shows_its_time_and_is_cancelled(show: Show, server: str) -> None:
    held: list[Any] = []
    page = show(
        f"{server}#search?q=fox&p=lexical&p=bm25",
        prepare=lambda page: held.append(hold(page, "**/search")),
        failing=True,
    )
    page.wait_for_function("() => /^[1-9]/.test(document.querySelector('.elapsed').textContent)")
    page.get_by_role("button", name="Cancel").first.click()
    page.wait_for_function("() => document.querySelectorAll('.column:not([aria-busy]) .notice').length === 2")
    assert page.locator("#status").inner_text() == "Cancelled."
    page.unroute("**/search")
    page.get_by_role("button", name="Try again").first.click()
    page.wait_for_selector("[data-pipeline=bm25] .card")


@pytest.mark.slow
def test_a_search_that_another_replaces_does_not_fail_it(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical", prepare=lambda page: hold(page, "**/search"), failing=True)
    page.wait_for_selector(".waiting")
    page.evaluate("location.hash = '#search?q=fox&p=lexical&p=bm25'")
    page.wait_for_selector("[data-pipeline=bm25]")
    page.unroute("**/search")
    page.evaluate("location.hash = '#search?q=fox&p=lexical&p=rm3'")
    page.wait_for_selector("[data-pipeline=rm3] .card")
    assert page.locator(".problem").count() == 0


@pytest.mark.slow
def test_a_ranking_is_cancelled(show: Show, server: str) -> None:
    page = show(f"{server}#rerank", prepare=lambda page: hold(page, "**/rerank"), failing=True)
    rank(page, "a fox")
    page.get_by_role("button", name="Cancel").click()
    page.unroute("**/rerank")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("#ranking .card")


@pytest.mark.slow
def test_a_changed_form_marks_the_ranking_as_old(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    rank(page, "a fox")
    page.wait_for_selector("#ranking .card")
    assert page.locator(".old").count() == 0
    page.set_input_files("#pick", [{"name": "new.txt", "mimeType": "text/plain", "buffer": b"another fox"}])
    page.wait_for_selector(".stale .old")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_function("() => document.querySelectorAll('#ranking .card').length === 2")
    assert page.locator(".stale, .old").count() == 0


@pytest.mark.parametrize("content", [b"PK\x03\x04\x14\x00\x06\x00", b"%PDF-1.7\n", b"caf\xe9", b"a\x00b"])
@pytest.mark.slow
def test_files_that_are_not_text_are_refused_by_name(show: Show, server: str, content: bytes) -> None:
    page = show(f"{server}#rerank")
    files = [("<b>bad</b>.docx", content), ("good.txt", "süß".encode())]
    page.wait_for_selector("#view-rerank")  # a hidden input takes files, too, which nobody reads yet
    page.set_input_files("#pick", [{"name": name, "mimeType": "", "buffer": data} for name, data in files])
    page.wait_for_selector("#refused p")
    assert page.locator("#refused").inner_text().startswith("<b>bad</b>.docx was not added: it is not UTF-8 text.")
    assert page.locator("#files li").count() == 1
    assert "bad" in page.locator("#status").inner_text()


@pytest.mark.slow
def test_front_matter_stays_with_its_text(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    for texts, names in {
        FRONT: ["Of foxes"],
        f"{FRONT}\n---\n{FRONT.replace('Of', 'More')}": ["Of foxes", "More foxes"],
        "fox one\n---\ntitle: fox two\n---\nfox three": ["fox one", "title: fox two", "fox three"],
        "---\n---\nfox one\n---\n": ["fox one"],
    }.items():
        rank(page, texts)
        page.wait_for_function(
            "names => document.querySelectorAll('#ranking .card').length === names.length"
            " && names.every((name) => document.querySelector('#ranking').textContent.includes(name))",
            arg=names,
        )
        assert sorted(page.locator("#ranking .card h3").all_inner_texts()) == sorted(names)


@pytest.mark.slow
def test_an_example_asks_for_a_title_of_the_index(show: Show, server: str) -> None:
    page = show(server)
    example = page.locator("#example a")
    assert example.inner_text() == "A story 😀 of foxes"
    example.click()
    page.wait_for_selector(".card[data-doc=story]")
    assert not page.locator("#example").is_visible()


def test_the_scores_are_explained(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical&p=bm25")
    page.wait_for_selector("[data-pipeline=bm25] .card")
    for name, terms in {
        "lexical": ["score", "first stage", "passages", "strip"],
        "bm25": ["score", "first stage"],
    }.items():
        column = page.locator(f"[data-pipeline={name}]")
        column.get_by_text("About these scores").click()
        assert column.locator(".explain dt").all_inner_texts() == terms
