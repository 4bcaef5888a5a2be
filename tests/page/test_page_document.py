"""The document view: unchanged text, heat and marks at the server's offsets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

Show = Callable[..., Any]
STORY = "#document?q=fox&p=lexical&p=bm25&k=10&id=story&in=lexical"


def whole(page: Any) -> str:
    return page.locator(".text .chunk").evaluate_all("all => all.map((one) => one.textContent).join('')")


def answer(page: Any, server: str, doc_id: str = "story") -> dict[str, Any]:
    body = {"query": "fox", "pipeline": "lexical", "k": 10, "passages": 5}
    results = page.request.post(f"{server}search", data=body).json()["results"]
    return next(one for one in results if one["doc_id"] == doc_id)


def test_the_text_is_whole_and_its_marks_are_exactly_the_query_s_words(
    show: Show, server: str, texts: dict[str, str]
) -> None:
    page = show(f"{server}#search?q=fox&p=lexical")
    page.locator(".card[data-doc=story] h3 a").click()
    page.wait_for_selector(".text mark")
    assert whole(page) == texts["story"]
    marks = page.locator(".text mark").evaluate_all(
        "all => all.map((one) => [+one.dataset.start, +one.dataset.end, one.textContent])"
    )
    words = {tuple(word) for one in answer(page, server)["passages"] for word in one["words"]}
    assert [(start, end) for start, end, _ in marks] == sorted(words)
    assert [text for _, _, text in marks] == [texts["story"][start:end] for start, end in sorted(words)]
    assert page.evaluate("document.activeElement.tagName") == "H1"


@pytest.mark.slow
def test_heat_is_the_highest_score_of_overlapping_passages_and_never_their_sum(
    show: Show, server: str, texts: dict[str, str]
) -> None:
    page = show(server + STORY)
    page.wait_for_selector(".text .heat")
    pieces = page.evaluate(
        """() => {
          const found = [];
          const walk = document.createTreeWalker(document.querySelector(".text"), NodeFilter.SHOW_TEXT);
          for (let node; (node = walk.nextNode()); ) {
            const heat = node.parentElement.closest(".heat");
            found.push([[...node.data].length, heat ? Number(/h(\\d)/.exec(heat.className)[1]) : null]);
          }
          return found;
        }"""
    )
    levels = [level for length, level in pieces for _ in range(length)]
    strip = answer(page, server)["strip"]
    high = max(score for _, _, score in strip)
    expected: list[int | None] = []
    for position in range(len(texts["story"])):
        best = max((score for start, end, score in strip if start <= position < end), default=None)
        expected.append(None if best is None else math.ceil(best / high * 5))
    assert levels == expected
    assert {0, 5} < set(levels)
    colour = "getComputedStyle(document.querySelector('.text .h0')).backgroundColor"
    assert page.evaluate(colour) == "rgba(0, 0, 0, 0)"


def test_a_document_opens_at_its_best_place_and_keys_and_buttons_go_on(show: Show, server: str) -> None:
    page = show(server + STORY)
    page.wait_for_selector(".text .heat")
    places = [one for one in answer(page, server)["passages"] if one["score"] > 0]
    assert len(places) > 1
    here = page.locator(".place-of")

    def is_at(n: int) -> bool:
        box = page.locator(".text .begins").bounding_box()
        return (
            here.inner_text() == f"{n + 1} of {len(places)}"
            and page.locator(".text .begins").get_attribute("data-name") == f"passage {places[n]['index']}"
            and page.url.endswith(f"&at={places[n]['start']}")
            and page.locator(".walk").bounding_box()["height"] <= box["y"] < 900
        )

    assert is_at(0)
    page.keyboard.press("n")
    assert is_at(1)
    page.keyboard.press("p")
    assert is_at(0)
    page.get_by_role("button", name="Next best passage").click()
    assert is_at(1)
    assert f"place 2 of {len(places)}" in page.locator("#status").inner_text()
    for _ in places:
        page.keyboard.press("n")
    assert is_at(1)


@pytest.mark.slow
def test_a_passage_s_link_and_the_strip_lead_to_its_text(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical")
    page.wait_for_selector(".card[data-doc=story] svg.strip")
    strip = answer(page, server)["strip"]
    page.locator(".card[data-doc=story] svg.strip").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".text .begins[data-name='passage 1']")
    assert f"at={strip[1][0]}" in page.url
    page.go_back()
    box = page.locator(".card[data-doc=story] svg.strip").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 5)
    page.wait_for_selector(f".text .begins[data-name='passage {len(strip) - 1}']")
    page.locator(".aside .excerpts a").first.click(force=True)
    page.wait_for_selector(f".text .begins[data-name='passage {answer(page, server)['passages'][0]['index']}']")


@pytest.mark.slow
def test_the_heat_can_be_turned_off(show: Show, server: str) -> None:
    page = show(server + STORY)
    colour = "getComputedStyle(document.querySelector('.text .h5')).backgroundColor"
    page.wait_for_selector(".text .heat")
    assert page.evaluate(colour) != "rgba(0, 0, 0, 0)"
    page.get_by_label("Heat in the text").uncheck()
    assert page.evaluate(colour) == "rgba(0, 0, 0, 0)"


@pytest.mark.slow
def test_the_other_pipeline_s_evidence_is_a_link_away(show: Show, server: str) -> None:
    page = show(server + STORY)
    page.get_by_role("navigation", name="Evidence of").get_by_role("link", name="bm25").click()
    page.wait_for_selector("text=ranked without passages")
    assert "ranked without passages" in page.locator(".read:visible").inner_text()
    assert page.locator(".text .heat").count() == 0


@pytest.mark.slow
def test_a_megabyte_opens_without_freezing(show: Show, server: str, texts: dict[str, str]) -> None:
    page = show(f"{server}#search?q=zeppelin&p=lexical")
    page.wait_for_selector(".card[data-doc=long]")
    page.evaluate(
        """() => { window.longest = 0;
          const note = (one) => { longest = Math.max(longest, one.duration); };
          new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: "longtask" }); }"""
    )
    page.locator(".card h3 a").click()
    page.wait_for_selector(".text .chunk:last-child mark", state="attached")
    assert whole(page) == texts["long"]
    mark = page.locator(".text mark")
    page.wait_for_function("top => document.querySelector('.text mark').getBoundingClientRect().top < top", arg=900)
    assert mark.bounding_box()["y"] > page.locator(".walk").bounding_box()["height"]
    assert mark.inner_text() == "zeppelin"
    assert [int(mark.get_attribute(f"data-{end}")) for end in ("start", "end")] == [
        texts["long"].index("zeppelin"),
        texts["long"].index("zeppelin") + len("zeppelin"),
    ]
    assert page.locator(".walk .bar").count() <= 1001
    assert page.evaluate("longest") < 4000


@pytest.mark.parametrize("rest", ["&id=story", "&id=moon&in=lexical"])
@pytest.mark.slow
def test_a_document_without_scores_is_shown_as_it_is(show: Show, server: str, texts: dict[str, str], rest: str) -> None:
    page = show(f"{server}#document?q=fox{rest}")
    page.wait_for_selector(".text .chunk")
    assert whole(page) == texts["story" if "story" in rest else "moon"]
    assert page.locator(".walk").count() == 0


def test_the_link_of_a_document_opens_the_same_place(show: Show, server: str) -> None:
    page = show(f"{server}{STORY}")
    page.wait_for_selector(".text .begins")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("n")
    place = page.locator(".text .begins").get_attribute("data-name")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.locator("#status").inner_text() == "The link to this place is in the clipboard."
    other = show(page.evaluate("navigator.clipboard.readText()"))
    other.wait_for_selector(".text .begins")
    assert other.locator(".text .begins").get_attribute("data-name") == place


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    "then",
    [STORY.replace("id=story", "id=short"), STORY.replace("in=lexical", "in=bm25"), "#search?q=fox&p=lexical&k=10"],
)
@pytest.mark.slow
def test_the_late_answer_of_a_document_changes_nothing_on_what_is_shown_by_then(
    then: str, fails: bool, show: Show, server: str
) -> None:
    held: list[Any] = []
    page = show(f"{server}#rerank", failing=fails)
    page.route("**/document?id=story", lambda route: route.continue_() if held else held.append(route))
    page.evaluate(f"location.hash = '{STORY}'")
    while not held:
        page.wait_for_timeout(20)
    page.evaluate(f"location.hash = '{then}'")
    page.wait_for_selector(".card" if "search" in then else "#view-document .text")
    page.wait_for_timeout(200)
    state = "[location.hash, document.title, document.querySelector('#main').innerText]"
    before = page.evaluate(state)
    if fails:
        held[0].fulfill(status=503, json={"code": "stopping", "message": "the server is stopping"})
    else:
        held[0].continue_()
    page.wait_for_timeout(500)
    assert page.evaluate(state) == before
