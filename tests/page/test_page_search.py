"""The search view, and comparing pipelines."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable
from typing import Any

import pytest

from longrank.ranking.settings import overview

Show = Callable[..., Any]


def test_a_search_shows_what_the_server_answers(show: Show, server: str) -> None:
    page = show(server)
    page.fill("#query", "fox")
    page.press("#query", "Enter")
    page.wait_for_selector(".card")
    answer = page.request.post(
        f"{server}search", data={"query": "fox", "pipeline": "lexical", "k": 10, "passages": 5}
    ).json()
    cards = page.locator(".card")
    assert cards.count() == len(answer["results"]) > 3
    for n, result in enumerate(answer["results"]):
        card = cards.nth(n)
        assert card.get_attribute("data-doc") == result["doc_id"]
        assert card.locator("h3").inner_text() == (result["title"] or result["doc_id"])
        parts = card.locator(".scores dd").all_inner_texts()
        assert [round(float(part), 2) for part in parts] == [
            round(result[name], 2) for name in ("score", "first_stage", "aggregate")
        ]
        read = card.locator(".read").inner_text().replace(",", "")
        assert str(result["n_scored"]) in read or result["n_scored"] == 1
        assert f"{result['n_characters']} characters" in read
        marks = card.locator("mark").evaluate_all("all => all.map((one) => [+one.dataset.start, +one.dataset.end])")
        assert {tuple(mark) for mark in marks} <= {tuple(word) for one in result["passages"] for word in one["words"]}
    assert page.evaluate("document.activeElement.id") == "query"
    assert "Results for “fox”" in page.locator("#status").inner_text()


@pytest.mark.slow
def test_marks_are_the_words_of_the_text_behind_emoji_and_ideographs(
    show: Show, server: str, texts: dict[str, str]
) -> None:
    page = show(f"{server}#search?q=fox&p=lexical")
    page.wait_for_selector(".card[data-doc=story] mark")
    found = page.locator(".card[data-doc=story] mark").evaluate_all(
        "all => all.map((one) => [+one.dataset.start, +one.dataset.end, one.textContent])"
    )
    assert {text for _, _, text in found} == {"fox", "foxes"}
    assert all(texts["story"][start:end] == text for start, end, text in found)


@pytest.mark.slow
def test_a_strip_has_a_bar_for_every_stretch_with_heat_and_tells_each_passage(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical")
    page.wait_for_selector(".card[data-doc=story] svg.strip")
    result = next(
        one
        for one in page.request.post(f"{server}search", data={"query": "fox"}).json()["results"]
        if one["doc_id"] == "story"
    )
    cuts = sorted({offset for start, end, _ in result["strip"] for offset in (start, end)})
    bars = page.locator(".card[data-doc=story] .bar").evaluate_all(
        "all => all.map((one) => [parseFloat(one.getAttribute('x')), +one.dataset.score])"
    )
    best = [(cut, max(s for a, z, s in result["strip"] if a <= cut < z)) for cut in cuts[:-1]]
    assert min(score for _, score in best) == 0
    warm = [(cut, score) for cut, score in best if score > 0]
    assert [score for _, score in bars] == [score for _, score in warm]
    assert [x for x, _ in bars] == [round(100 * cut / result["n_characters"], 2) for cut, _ in warm]
    strip = page.locator(".card[data-doc=story] svg.strip")
    strip.focus()
    page.keyboard.press("Home")
    for n, (start, end, score) in enumerate(result["strip"]):
        told = strip.get_attribute("aria-valuetext")
        assert told.startswith(f"passage {n}, characters {start} to {end}, score ")
        assert abs(float(told.rsplit(" ", 1)[1]) - score) < 0.001
        assert f"passage {n} ·" in page.locator(".card[data-doc=story] .reading").inner_text()
        page.keyboard.press("ArrowRight")


def test_two_pipelines_stand_side_by_side_with_each_document_s_places(show: Show, server: str) -> None:
    page = show(server)
    page.get_by_label("bm25", exact=True).check()
    page.fill("#query", "fox")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("[data-pipeline=bm25] .card .place")
    lefts = [page.locator(f"[data-pipeline={name}]").bounding_box()["x"] for name in ("lexical", "bm25")]
    assert lefts[0] < lefts[1]
    ranks = {}
    for name in ("lexical", "bm25"):
        ids = page.locator(f"[data-pipeline={name}] .card").evaluate_all("all => all.map((one) => one.dataset.doc)")
        ranks[name] = {doc_id: n for n, doc_id in enumerate(ids, 1)}
    assert ranks["lexical"] != ranks["bm25"]
    for doc_id, rank in ranks["lexical"].items():
        place = page.locator(f"[data-pipeline=lexical] .card[data-doc={doc_id}] .place")
        by = ranks["bm25"][doc_id] - rank
        said = "the same rank" if by == 0 else f"{abs(by)} {'higher' if by > 0 else 'lower'} here"
        assert place.get_attribute("aria-label") == f"bm25: rank {ranks['bm25'][doc_id]}, {said}"
    page.locator("[data-pipeline=lexical] .card[data-doc=story]").hover()
    lit = page.locator(".card.lit").evaluate_all("all => all.map((one) => one.dataset.doc)")
    assert lit == ["story", "story"]
    page.locator("[data-pipeline=lexical] .card[data-doc=hounds] .place").click()
    assert page.evaluate("document.activeElement.closest('.column').dataset.pipeline") == "bm25"
    assert page.evaluate("document.activeElement.dataset.doc") == "hounds"


@pytest.mark.slow
def test_pipelines_are_asked_one_after_the_other_and_no_longer_than_wanted(show: Show, server: str) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    def asked(n: int) -> list[tuple[str, str]]:
        """Return the requests once there are `n`, and whatever follows within 300 ms."""
        until = time.monotonic() + 60
        while len(held) < n and time.monotonic() < until:
            page.wait_for_timeout(20)
        page.wait_for_timeout(300)
        sent = [route.request.post_data_json for route in held]
        return [(one["query"], one["pipeline"]) for one in sent]

    page = show(f"{server}#search?q=fox&p=lexical&p=bm25", prepare=lambda page: page.route("**/search", hold))
    page.wait_for_selector("[data-pipeline=bm25]")
    assert asked(1) == [("fox", "lexical")]
    assert page.locator(".column[aria-busy=true]").count() == 2
    held[0].continue_()
    page.wait_for_selector("[data-pipeline=lexical] .card")
    assert asked(2) == [("fox", "lexical"), ("fox", "bm25")]
    page.evaluate("location.hash = '#search?q=moon&p=lexical'")
    assert asked(3)[2:] == [("moon", "lexical")]
    assert held[1].request.failure == "net::ERR_ABORTED"
    held[2].continue_()
    page.wait_for_selector(".card[data-doc=moon]")


@pytest.mark.slow
def test_each_shipped_pipeline_is_described_on_a_line_of_its_own(show: Show, server: str) -> None:
    page = show(server)
    about = {settings.name: settings.about for settings in overview()}
    for name in ("lexical", "bm25"):
        box = page.get_by_label(name, exact=True)
        assert about[name]
        assert page.locator(f"#{box.get_attribute('aria-describedby')}").inner_text() == about[name]
    page.goto(f"{server}#rerank")
    assert page.locator("#rerank-about").inner_text() == about["lexical"]


@pytest.mark.slow
def test_three_pipelines_are_the_most_and_one_the_least(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical&p=bm25&p=rm3", viewport={"width": 1600, "height": 900})
    page.wait_for_selector("[data-pipeline=rm3] .card")
    assert page.locator(".column").count() == 3
    boxes = page.locator("#pipelines input")
    for name in ("lexical", "bm25"):
        page.get_by_label(name, exact=True).uncheck()
    assert boxes.evaluate_all("all => all.map((one) => one.disabled)") == [False, False, True]


def test_the_address_keeps_the_search_and_back_works(show: Show, server: str) -> None:
    page = show(server)
    page.fill("#query", "fox & <hound>")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector(".card")
    page.fill("#query", "moon")
    page.get_by_role("button", name="Search").click()
    page.wait_for_function("() => document.title.startsWith('moon')")
    page.go_back()
    page.wait_for_function("() => document.title.startsWith('fox')")
    assert page.input_value("#query") == "fox & <hound>"
    link = page.url
    other = show(link)
    other.wait_for_selector(".card")
    assert other.input_value("#query") == "fox & <hound>"
    assert other.locator(".card").count() == page.locator(".card").count()


@pytest.mark.slow
def test_back_from_a_document_leads_to_its_title(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=moon&p=lexical&p=bm25")
    page.locator("[data-pipeline=bm25] .card[data-doc=moon] h3 a").click()
    page.wait_for_selector("#view-document h1")
    page.go_back()
    page.wait_for_selector("#view-search:not([hidden]) .card")
    focused = "document.activeElement.closest('.card').dataset.doc"
    assert page.evaluate(focused) == "moon"
    assert page.evaluate("document.activeElement.closest('.column').dataset.pipeline") == "bm25"


def test_nothing_found_is_said(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=zebra&p=lexical")
    page.wait_for_selector(".notice")
    assert "Nothing found." in page.locator("#columns .notice").inner_text()


@pytest.mark.slow
def test_the_button_copies_the_command_that_the_server_names(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=a%20fox%27s%20%E2%80%9Ctail%E2%80%9D&p=lexical&k=5")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy command").click()
    page.get_by_role("button", name="Copied").wait_for()
    command = page.evaluate("navigator.clipboard.readText()")
    words = shlex.split(command)
    assert words[:2] == ["longrank", "search"]
    assert words[3:6] == ["a fox's “tail”", "--pipeline", "lexical"]
    assert words[words.index("-k") :][:3] == ["-k", "5", "--passages"]


@pytest.mark.slow
def test_the_command_is_copied_where_the_browser_has_no_clipboard(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical&k=5")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(
        "window.read = () => Clipboard.prototype.readText.call(own); window.own = navigator.clipboard;"
        "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
    )
    page.get_by_role("button", name="Copy command").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert re.search(r"^longrank search \S+ fox ", page.evaluate("read()"))
