"""The page on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from page.test_page_sentences import with_sentences

pytestmark = pytest.mark.slow

Show = Callable[..., Any]
PHONES = [(360, 640), (390, 844), (414, 896)]
QUERY = "q=fox&p=lexical&p=bm25&k=10"
VIEWS = [f"#search?{QUERY}", f"#document?{QUERY}&id=two&in=lexical", "#rerank"]


def opened(show: Show, url: str, size: tuple[int, int], prepare: Callable[[Any], None] | None = None) -> Any:
    viewport = {"width": size[0], "height": size[1]}
    page = show(url, viewport=viewport, is_mobile=True, has_touch=True, prepare=prepare)
    page.wait_for_selector(".text .heat, .place, #rerank-query:visible")
    return page


@pytest.mark.parametrize("size", PHONES)
@pytest.mark.parametrize("doc_id", ["story", "two", "hounds"])
def test_a_document_opens_at_its_best_sentence(show: Show, server: str, size: tuple[int, int], doc_id: str) -> None:
    page = opened(show, f"{server}#document?{QUERY}&id={doc_id}&in=lexical", size, with_sentences)
    bar = page.locator(".walk").bounding_box()
    sentence = page.locator(".text .answer.here").first.bounding_box()
    assert bar["height"] < size[1] / 5
    assert bar["y"] + bar["height"] <= sentence["y"] < size[1]
    assert sentence["y"] + min(sentence["height"], 100) <= size[1]


@pytest.mark.parametrize("size", PHONES)
def test_a_document_without_sentences_opens_at_its_best_passage(show: Show, server: str, size: tuple[int, int]) -> None:
    page = opened(show, f"{server}#document?{QUERY}&id=two&in=lexical", size)
    bar, begin = page.locator(".walk").bounding_box(), page.locator(".text .begins").bounding_box()
    assert bar["y"] + bar["height"] <= begin["y"] < size[1] - 40


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_scrolls_sideways(show: Show, server: str, view: str) -> None:
    page = opened(show, server + view, PHONES[0], with_sentences)
    for width, height in PHONES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("visualViewport.width") == width


@pytest.mark.parametrize("view", VIEWS)
def test_a_finger_can_hit_every_control(show: Show, server: str, view: str) -> None:
    page = opened(show, server + view, PHONES[0])
    controls = page.locator(
        "button:visible, select:visible, .choice:visible, summary:visible, svg.strip:visible, nav a:visible"
    )
    heights = controls.evaluate_all("all => all.map((one) => [one.getBoundingClientRect().height, one.outerHTML])")
    assert len(heights) > 3
    assert [one for one in heights if one[0] < 44] == []
