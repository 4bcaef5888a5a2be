"""The best sentences of passages: marked in results and documents, beside quieter words of the query."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Show = Callable[..., Any]
SEARCH = "#search?q=fox&p=lexical"
ANSWERS = "all => all.map((one) => one.textContent)"


def with_sentences(page: Any) -> None:
    """Add a best sentence to each passage of an answer: the stretch from its first word of the query to its end."""

    def add(route: Any) -> None:
        answer = route.fetch().json()
        for result in answer["results"]:
            for passage in result["passages"]:
                passage["highlights"] = [[passage["words"][0][0], passage["end"]]] if passage["words"] else []
                passage["parts"] = {"bi-encoder": 0.51, "lexical": 11.2}
        route.fulfill(json=answer)

    page.route("**/search", add)
    page.route("**/v2/rerank", add)


def answers(page: Any) -> list[str]:
    return list(page.locator(".answer:visible").evaluate_all(ANSWERS))


def test_the_best_sentence_is_marked_at_its_offsets_in_results(show: Show, server: str, texts: dict[str, str]) -> None:
    page = show(server + SEARCH, prepare=with_sentences)
    page.wait_for_selector(".card[data-doc=story] .answer")
    body = {"query": "fox", "pipeline": "lexical", "k": 10, "passages": 5}
    results = {one["doc_id"]: one for one in page.request.post(f"{server}search", data=body).json()["results"]}
    best = results["story"]["passages"][0]
    sentence = texts["story"][best["words"][0][0] : best["end"]]
    first = page.locator(".card[data-doc=story] .excerpt").first
    assert first.locator(".answer").evaluate_all(ANSWERS) == [sentence]
    assert first.locator(".answer mark").count() == len(best["words"])


def test_the_best_sentence_is_not_marked_by_colour_alone(show: Show, server: str) -> None:
    page = show(server + SEARCH, prepare=with_sentences)
    page.wait_for_selector(".answer.here")
    style = "([name, property]) => getComputedStyle(document.querySelector(name))[property]"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(style, [".answer.here", "textDecorationLine"]) == "underline"
        assert page.evaluate(style, [".answer.here", "backgroundColor"]) != "rgba(0, 0, 0, 0)"
        assert page.evaluate(style, [".excerpt mark", "backgroundColor"]) == "rgba(0, 0, 0, 0)"
        assert int(page.evaluate(style, [".excerpt mark", "fontWeight"])) >= 600


def test_a_document_shows_the_sentence_of_the_place_it_is_at(show: Show, server: str, texts: dict[str, str]) -> None:
    page = show(server + SEARCH, prepare=with_sentences)
    page.locator(".card[data-doc=story] h3 a").click()
    page.wait_for_selector(".text .answer.here")
    assert page.locator(".text").evaluate("one => one.textContent") == texts["story"]
    marked = page.locator(".text .answer").count()
    places = int(page.locator(".place-of").inner_text().split()[-1])
    assert marked == places > 1
    seen = set()
    for _ in range(places):
        assert page.locator(".text .answer.here").count() == 1
        box = page.locator(".text .answer.here").bounding_box()
        assert page.locator(".walk").bounding_box()["height"] < box["y"] < 900
        seen.add(page.locator(".text .answer.here").inner_text())
        page.keyboard.press("n")
    assert len(seen) == places


def test_shown_passages_do_not_overlap(show: Show, server: str) -> None:
    page = show(server + SEARCH)
    page.wait_for_selector(".card")
    body = {"query": "fox", "pipeline": "lexical", "k": 10, "passages": 5}
    several = 0
    for result in page.request.post(f"{server}search", data=body).json()["results"]:
        card = page.locator(f".card[data-doc={result['doc_id']}]")
        starts = card.locator(".where a").evaluate_all("all => all.map((one) => +one.dataset.start)")
        ends = {one["start"]: one["end"] for one in result["passages"]}
        assert starts[0] == result["passages"][0]["start"]
        assert all(ends[a] <= b or ends[b] <= a for a, b in combinations(starts, 2))
        several += len(starts) > 1
    assert several


@pytest.mark.parametrize("view", ["search", "rerank"])
def test_scores_that_were_mixed_are_shown_small(show: Show, server: str, view: str) -> None:
    page = show(f"{server}{SEARCH if view == 'search' else '#rerank'}", prepare=with_sentences)
    if view == "rerank":
        page.fill("#rerank-query", "fox")
        page.fill("#texts", "a fox\n---\nno")
        page.get_by_role("button", name="Rank", exact=True).click()
    where = page.locator(".card .where").first.inner_text()
    assert where.endswith(" · bi-encoder 0.510 · lexical 11.20")
    assert len(answers(page)) > 0


def test_passages_without_sentences_show_the_words_of_the_query(show: Show, server: str) -> None:
    page = show(server + SEARCH)
    page.route("**/search", lambda route: route.continue_())
    page.wait_for_selector(".card mark")
    assert page.locator(".card[data-doc=two] .excerpt mark").count() > 0
