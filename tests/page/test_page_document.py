"""The document view: unchanged text, heat and marks at the server's offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Show = Callable[..., Any]
STORY = "#document?q=fox&p=lexical&p=bm25&k=10&id=story&in=lexical"


def whole(page: Any) -> str:
    return page.locator(".text .chunk").evaluate_all("all => all.map((one) => one.textContent).join('')")


def answer(page: Any, server: str, doc_id: str = "story") -> dict[str, Any]:
    body = {"query": "fox", "pipeline": "lexical", "k": 10, "passages": 20}
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


def test_heat_is_the_best_passage_of_each_stretch_on_the_scale_of_the_document(
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
    low, high = (bound(score for _, _, score in strip) for bound in (min, max))
    expected: list[int | None] = []
    for position in range(len(texts["story"])):
        best = max((score for start, end, score in strip if start <= position < end), default=None)
        expected.append(None if best is None else min(8, int((best - low) / (high - low) * 9)))
    assert levels == expected
    assert len(set(levels)) > 2


def test_the_next_best_passages_come_by_keys_and_buttons(show: Show, server: str) -> None:
    page = show(server + STORY)
    page.wait_for_selector(".text .heat")
    strip = answer(page, server)["strip"]
    order = sorted(range(len(strip)), key=lambda n: (-strip[n][2], n))
    here = page.locator(".place-of")
    for n, rank in ((order[0], 1), (order[1], 2)):
        page.keyboard.press("n")
        assert here.inner_text() == f"{rank} of {len(strip)}"
        assert page.locator(".text .begins").get_attribute("data-name") == f"passage {n}"
        assert page.url.endswith(f"&at={strip[n][0]}")
        box = page.locator(".text .begins").bounding_box()
        assert 0 <= box["y"] < 900
    page.keyboard.press("p")
    assert here.inner_text() == f"1 of {len(strip)}"
    page.get_by_role("button", name="Next best passage").click()
    assert here.inner_text() == f"2 of {len(strip)}"
    assert "2 of" in page.locator("#status").inner_text()
    for _ in strip:
        page.keyboard.press("n")
    assert here.inner_text() == f"2 of {len(strip)}"


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
    page.locator(".best a").first.click(force=True)
    page.wait_for_selector(f".text .begins[data-name='passage {answer(page, server)['passages'][0]['index']}']")


def test_the_heat_can_be_turned_off(show: Show, server: str) -> None:
    page = show(server + STORY)
    colour = "getComputedStyle(document.querySelector('.text .h8, .text .h7, .text .h6')).backgroundColor"
    page.wait_for_selector(".text .heat")
    assert page.evaluate(colour) != "rgba(0, 0, 0, 0)"
    page.get_by_label("Heat").uncheck()
    assert page.evaluate(colour) == "rgba(0, 0, 0, 0)"


def test_the_other_pipeline_s_evidence_is_a_link_away(show: Show, server: str) -> None:
    page = show(server + STORY)
    page.get_by_role("navigation", name="Evidence of").get_by_role("link", name="bm25").click()
    page.wait_for_selector("text=ranked without passages")
    assert "ranked without passages" in page.locator(".read:visible").inner_text()
    assert page.locator(".text .heat").count() == 0


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
    page.keyboard.press("n")
    page.wait_for_selector(".text .begins", state="attached")
    mark = page.locator(".text mark")
    assert mark.inner_text() == "zeppelin"
    assert [int(mark.get_attribute(f"data-{end}")) for end in ("start", "end")] == [
        texts["long"].index("zeppelin"),
        texts["long"].index("zeppelin") + len("zeppelin"),
    ]
    assert page.locator(".walk .bar").count() <= 1001
    assert page.evaluate("longest") < 4000


@pytest.mark.parametrize("rest", ["&id=story", "&id=moon&in=lexical"])
def test_a_document_without_scores_is_shown_as_it_is(show: Show, server: str, texts: dict[str, str], rest: str) -> None:
    page = show(f"{server}#document?q=fox{rest}")
    page.wait_for_selector(".text .chunk")
    assert whole(page) == texts["story" if "story" in rest else "moon"]
    assert page.locator(".walk").count() == 0
