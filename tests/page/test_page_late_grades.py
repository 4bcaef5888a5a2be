"""Grades whose answer comes late, on another view, or never."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from page.held import Held
from page.test_page_grading import first_of_pool, press, reads, results
from page.test_page_judging import Judged, labelling, progress, rows, title
from page.test_page_judging import judged as judged

pytestmark = pytest.mark.slow

Show = Callable[..., Any]


@pytest.mark.parametrize("place", ["#search?q=hound&p=lexical", "#search?q=fox&p=lexical&k=1", "#rerank"])
@pytest.mark.parametrize("view", [results, labelling])
def test_a_grade_that_is_not_kept_is_told_on_the_next_view(
    view: Callable[..., Any], place: str, show: Show, judged: Judged
) -> None:
    url, qrels = judged
    page = view(show, url, failing=True)
    doc_id = first_of_pool(page, url)
    held = Held(page, "**/judgments")
    press(page, doc_id, "2")
    request = held.nth(0)
    page.evaluate(f"location.hash = '{place}'")
    if "search" in place:
        page.wait_for_selector(".column:not([aria-busy]) .grades")
    else:
        page.wait_for_selector("#rerank-query:visible")
    if place == "#rerank":
        request.abort()
    else:
        request.fulfill(status=429, json={"code": "overloaded", "message": "too many requests"})
    was_not = "may not have been" if place == "#rerank" else "was not"
    told = f"The grade 2 of {doc_id} for “fox” {was_not} kept."
    notice = page.locator("#notice .problem", has_text=told)
    notice.wait_for()
    assert page.locator("#status").inner_text() == told
    assert rows(qrels) == []
    notice.get_by_role("button", name="Close").click()
    assert page.locator(".problem").count() == 0


@pytest.mark.parametrize("view", [results, labelling])
def test_a_grade_whose_answer_is_lost_can_be_sent_again_and_undone(
    view: Callable[..., Any], show: Show, judged: Judged
) -> None:
    url, qrels = judged
    page = view(show, url, failing=True)
    doc_id = first_of_pool(page, url)
    for key, expected in (("2", [f"t1 0 {doc_id} 2"]), ("u", [])):
        held = Held(page, "**/judgments")
        press(page, doc_id, key)
        held.nth(0).fetch()
        held.nth(0).abort()
        reads(qrels, page, expected)
        page.unroute("**/judgments")
        page.get_by_role("button", name="Try again").click()
        page.wait_for_function("() => !document.querySelector('.refused')")
        page.wait_for_timeout(200)
        assert page.locator(".problem").count() == 0
        assert rows(qrels) == expected


def test_a_step_while_a_grade_is_sent_is_not_taken_back_by_the_answer(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url)
    held = Held(page, "**/judgments")
    page.locator(".label-document h2").press("2")
    request = held.nth(0)
    page.keyboard.press("p")
    shown = title(page)
    request.continue_()
    progress(page, "1 of")
    assert title(page) == shown
    assert len(rows(qrels)) == 1
