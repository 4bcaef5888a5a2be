"""Grades on the page beside those of the file and of other people: nothing is lost, overwritten or removed unsaid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from page.held import Held
from page.test_page_judging import Judged, labelling, progress, rows
from page.test_page_judging import judged as judged

Show = Callable[..., Any]
ELSEWHERE = "Graded elsewhere. the grade in the file is"


def results(show: Show, url: str, query: str = "fox", **options: Any) -> Any:
    page = show(f"{url}#search?q={query}&p=lexical", **options)
    page.wait_for_selector(".grades")
    return page


def press(page: Any, doc_id: str, key: str) -> None:
    """Press a key on a document: a result, or the document of the pool, which is shown first."""
    if page.locator("#view-search").is_visible():
        page.locator(f".card[data-doc='{doc_id}'] h3 a").first.focus()
    page.keyboard.press(key)


def pressed(page: Any, doc_id: str) -> Any:
    """Return the pressed button of a document."""
    label = page.locator("#view-label").is_visible()
    return page.locator(f"{'.label-document' if label else f'.card[data-doc={doc_id}]'} [aria-pressed=true]").first


def reads(qrels: Path, page: Any, expected: list[str]) -> None:
    """Wait until the file has these rows, and until the page knows: it takes no grade before it has the last answer."""
    for _ in range(200):
        if rows(qrels) == expected:
            break
        page.wait_for_timeout(20)
    assert rows(qrels) == expected
    page.wait_for_function("async () => !(await import('./static/grading.js')).isSending()")


def first_of_pool(page: Any, url: str) -> str:
    return str(page.request.get(f"{url}pool?query_id=t1").json()["documents"][0]["doc_id"])


def failing_once(page: Any) -> None:
    """Let the next POST fail as if the connection were lost."""
    posts: list[Any] = []

    def fail(route: Any) -> None:
        if route.request.method == "POST" and not posts:
            posts.append(route)
            return route.abort()
        return route.continue_()

    page.unroute_all()
    page.route("**/judgments*", fail)


@pytest.mark.parametrize("view", [results, labelling])
@pytest.mark.parametrize("grade", [4, -2])
@pytest.mark.slow
def test_a_grade_of_another_scale_is_shown_and_an_undo_brings_its_row_back(
    view: Callable[..., Any], grade: int, show: Show, judged: Judged
) -> None:
    url, qrels = judged
    doc_id = first_of_pool(show(url), url)
    qrels.write_text(f"t1 Q0 {doc_id} {grade}\n")
    page = view(show, url)
    if view is labelling and grade > 0:  # it is judged, so the page begins behind it
        progress(page, "1 of")
        page.keyboard.press("p")
    assert pressed(page, doc_id).inner_text() == f"{grade}, in the file"
    press(page, doc_id, "2")
    reads(qrels, page, [f"t1 Q0 {doc_id} 2"])
    page.wait_for_timeout(100)
    press(page, doc_id, "u")
    reads(qrels, page, [f"t1 Q0 {doc_id} {grade}"])
    pressed(page, doc_id).filter(has_text=f"{grade}, in the file").wait_for()
    pressed(page, doc_id).click()
    reads(qrels, page, [])


def test_the_results_show_the_grades_of_the_judge_view_and_an_undo_leaves_them(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = results(show, url, failing=True)
    doc_id = first_of_pool(page, url)
    press(page, doc_id, "1")
    reads(qrels, page, [f"t1 0 {doc_id} 1"])
    page.evaluate("location.hash = '#label?topic=t1'")
    progress(page, "1 of")
    page.keyboard.press("p")
    page.keyboard.press("3")
    reads(qrels, page, [f"t1 0 {doc_id} 3"])
    page.go_back()
    pressed(page, doc_id).filter(has_text="3").wait_for()
    press(page, doc_id, "u")
    page.get_by_text(f"{ELSEWHERE} 3 by now; it stays.").wait_for()
    press(page, doc_id, "u")
    page.wait_for_timeout(200)
    assert rows(qrels) == [f"t1 0 {doc_id} 3"]
    pressed(page, doc_id).click()
    reads(qrels, page, [])


@pytest.mark.parametrize("view", [results, labelling])
@pytest.mark.slow
def test_a_grade_of_another_person_is_shown_and_neither_replaced_nor_undone(
    view: Callable[..., Any], show: Show, judged: Judged
) -> None:
    url, qrels = judged
    first, second = view(show, url, failing=True), view(show, url, failing=True)
    doc_id = first_of_pool(first, url)
    press(first, doc_id, "3")
    reads(qrels, first, [f"t1 0 {doc_id} 3"])
    press(second, doc_id, "1")
    second.get_by_text(f"{ELSEWHERE} 3 by now; it stays.").wait_for()
    assert pressed(second, doc_id).inner_text() == "3 answers it fully"
    press(second, doc_id, "u")
    second.wait_for_timeout(200)
    assert rows(qrels) == [f"t1 0 {doc_id} 3"]
    press(second, doc_id, "1")
    reads(qrels, second, [f"t1 0 {doc_id} 1"])
    assert second.locator(".refused:visible").count() == 0
    press(first, doc_id, "u")
    first.wait_for_timeout(200)
    assert rows(qrels) == [f"t1 0 {doc_id} 1"]


@pytest.mark.slow
def test_an_answer_brings_the_grades_of_other_people(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = results(show, url)
    one, other = page.locator(".card").evaluate_all("all => all.map((one) => one.dataset.doc)")[:2]
    qrels.write_text(f"t1 0 {other} 2\n")
    press(page, one, "1")
    pressed(page, other).filter(has_text="2 relevant").wait_for()


@pytest.mark.slow
def test_late_grades_of_a_second_column_replace_no_newer_grade(show: Show, judged: Judged) -> None:
    url, qrels = judged
    asked: list[Any] = []

    def hold_second(route: Any) -> None:
        asked.append(route)
        if len(asked) == 2:
            asked.append(route.fetch())
        else:
            route.continue_()

    page = show(f"{url}#label", prepare=lambda page: page.route("**/judgments?*", hold_second))
    page.evaluate("location.hash = '#search?q=fox&p=lexical&p=bm25'")
    page.wait_for_selector("[data-pipeline=bm25] .card")
    doc_id = str(page.locator(".card").first.get_attribute("data-doc"))
    while len(asked) < 3:
        page.wait_for_timeout(20)
    press(page, doc_id, "3")
    reads(qrels, page, [f"t1 0 {doc_id} 3"])
    page.wait_for_timeout(100)
    asked[1].fulfill(response=asked[2])
    shown = page.locator(f".card[data-doc='{doc_id}'] [data-grade='3'][aria-pressed=true]")
    page.wait_for_function("() => document.querySelectorAll('.column[aria-busy]').length === 0")
    assert shown.count() == 2


@pytest.mark.slow
def test_after_a_failed_grade_the_focus_stays_and_its_notice_goes_with_the_next_grade(
    show: Show, judged: Judged
) -> None:
    url, qrels = judged
    page = results(show, url, failing=True)
    card = page.locator(".card").first
    doc_id = card.get_attribute("data-doc")
    failing_once(page)
    press(page, doc_id, "3")
    card.get_by_role("button", name="Try again").wait_for()
    assert card.locator("h3 a:focus").count() == 1
    card.locator("[data-grade='1']").click()
    reads(qrels, page, [f"t1 0 {doc_id} 1"])
    assert page.locator(".refused").count() == 0
    failing_once(page)
    press(page, doc_id, "u")
    card.get_by_role("button", name="Try again").click()
    reads(qrels, page, [])
    page.keyboard.press("2")  # the focus is on the result
    reads(qrels, page, [f"t1 0 {doc_id} 2"])


@pytest.mark.slow
def test_a_failed_grade_and_a_failed_undo_of_a_pool_are_tried_again(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url, failing=True)
    doc_id = first_of_pool(page, url)
    for key, expected, done in (("2", [f"t1 0 {doc_id} 2"], "1 of"), ("u", [], "0 of")):
        failing_once(page)
        page.locator(".label-document h2").press(key)  # the focus may still be on its way
        page.get_by_role("button", name="Try again").click()
        reads(qrels, page, expected)
        progress(page, done)
        assert page.locator(".refused").count() == 0


@pytest.mark.slow
def test_a_notice_that_asks_for_the_key_takes_its_letters(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = results(show, url, failing=True)
    doc_id = str(page.locator(".card").first.get_attribute("data-doc"))
    press(page, doc_id, "3")
    reads(qrels, page, [f"t1 0 {doc_id} 3"])
    page.route("**/judgments", lambda route: route.fulfill(status=401, json={"code": "key", "message": "no key"}))
    press(page, doc_id, "1")
    field = page.locator(".refused input")
    field.press_sequentially("un1p")
    assert field.input_value() == "un1p"
    assert field.evaluate("(field) => field === document.activeElement")


@pytest.mark.slow
def test_a_grade_whose_answer_comes_on_another_view_moves_nothing_there(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url)
    held = Held(page, "**/judgments")
    page.keyboard.press("2")
    request = held.nth(0)
    page.evaluate("location.hash = '#rerank'")
    page.locator("#rerank-query").fill("query")
    request.continue_()
    page.wait_for_timeout(300)
    assert len(rows(qrels)) == 1
    assert page.locator("#rerank-query:focus").count() == 1
    assert "1 judged" not in page.locator("#status").inner_text()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.slow
def test_a_key_replaces_no_grade_that_a_result_does_not_show(fails: bool, show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = show(f"{url}#search?q=fox&p=lexical&k=1", failing=fails)
    page.wait_for_selector(".grades")
    first = str(page.locator(".card").get_attribute("data-doc"))
    found = page.request.post(f"{url}search", data={"query": "fox", "pipeline": "lexical", "k": 5}).json()["results"]
    other = next(result["doc_id"] for result in found if result["doc_id"] != first)
    qrels.write_text(f"t1 0 {other} 3\n")
    press(page, first, "2")  # the answer has the grade of the other document
    reads(qrels, page, expected := [f"t1 0 {other} 3", f"t1 0 {first} 2"])
    pressed(page, first).filter(has_text="2 relevant").wait_for()
    held = Held(page, "**/judgments?*")
    page.evaluate("location.hash = '#search?q=fox&p=lexical&k=5'")
    request = held.nth(0)
    if fails:
        request.fulfill(status=503, json={"code": "stopping", "message": "the server is stopping"})
        page.wait_for_selector(".refused")
    press(page, other, "0")
    page.wait_for_timeout(300)
    assert rows(qrels) == expected
    if fails:
        page.unroute("**/judgments?*")
        page.get_by_role("button", name="Try again").click()
    else:
        request.continue_()
    pressed(page, other).filter(has_text="3 answers it fully").wait_for()
    press(page, other, "0")
    reads(qrels, page, [f"t1 0 {other} 0", f"t1 0 {first} 2"])
