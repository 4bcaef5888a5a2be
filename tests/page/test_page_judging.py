"""Judging on the page: results of a search by key, and pooled documents blind, resumable, with undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longrank.types import Notes
from page.held import Held
from page.test_page_access import CONTRASTS

Show = Callable[..., Any]
Judged = tuple[str, Path]


@pytest.fixture
def judged(engine: Any, serving: Callable[..., Any], tmp_path: Path) -> Iterator[Judged]:
    """A server that takes judgments for two topics, and its qrels file."""
    from longrank.service.judging import opened_judging

    topics, qrels = tmp_path / "topics.tsv", tmp_path / "qrels.txt"
    topics.write_text("t1\tfox\nt2\thound\n")
    with opened_judging(qrels, str(topics), notes=Notes()) as judging, serving(engine, judging=judging) as url:
        yield url, qrels


def rows(qrels: Path) -> list[str]:
    return qrels.read_text().splitlines() if qrels.exists() else []


def progress(page: Any, text: str) -> None:
    page.locator(".progress", has_text=text).wait_for()


def title(page: Any) -> str:
    return str(page.locator(".label-document h2").inner_text())


def labelling(show: Show, url: str, topic: str = "t1", **options: Any) -> Any:
    page = show(f"{url}#label?topic={topic}", **options)
    page.wait_for_selector(".label-document")
    return page


def test_results_are_graded_by_key_and_the_focus_goes_on(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = show(f"{url}#search?q=fox&p=lexical&p=bm25")
    page.wait_for_selector("[data-pipeline=bm25] .grades")
    docs = page.locator("[data-pipeline=lexical] .card").evaluate_all("all => all.map((one) => one.dataset.doc)")
    page.locator("[data-pipeline=lexical] .card h3 a").first.focus()
    page.keyboard.press("3")
    focused = [page.locator(f"[data-pipeline=lexical] [data-doc='{doc_id}'] h3 a:focus") for doc_id in docs]
    focused[1].wait_for()
    page.keyboard.press("0")
    focused[2].wait_for()
    assert rows(qrels) == [f"t1 0 {docs[0]} 3", f"t1 0 {docs[1]} 0"]
    assert page.locator(f"[data-doc='{docs[0]}'] [data-grade='3'][aria-pressed=true]").count() == 2  # in both columns
    assert page.locator("#status").inner_text() == "Graded 0: not relevant."
    page.keyboard.press("u")
    focused[1].wait_for()
    assert rows(qrels) == [f"t1 0 {docs[0]} 3"]
    page.keyboard.press("p")
    focused[0].wait_for()


@pytest.mark.slow
def test_a_grade_is_removed_by_its_button_and_is_there_after_a_reload(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = show(f"{url}#search?q=fox&p=lexical")
    card = page.locator(".card[data-doc=story]")
    card.get_by_role("button", name="2 relevant").click()
    card.locator("[data-grade='2'][aria-pressed=true]").wait_for()
    page.reload()
    card.locator("[data-grade='2'][aria-pressed=true]").click()
    card.locator("[data-grade='2'][aria-pressed=false]").wait_for()
    assert rows(qrels) == []


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.slow
def test_a_key_grades_no_result_before_the_grades_of_its_query_are_there(
    fails: bool, show: Show, judged: Judged
) -> None:
    url, qrels = judged
    page = show(f"{url}#search?q=fox&p=lexical", failing=fails)
    page.wait_for_selector(".grades")
    held = Held(page, "**/judgments?query=hound")
    page.evaluate("location.hash = '#search?q=hound&p=lexical'")
    page.wait_for_selector("[data-pipeline=lexical] .card[data-doc=hound]")
    request = held.nth(0)
    if fails:
        request.fulfill(status=503, json={"code": "stopping", "message": "the server is stopping"})
        page.wait_for_selector(".problem")
    page.locator(".card h3 a").first.focus()
    page.keyboard.press("3")
    page.wait_for_timeout(300)
    assert rows(qrels) == []
    if fails:
        page.unroute("**/judgments?query=hound")
        page.locator(".problem").get_by_role("button", name="Try again").click()
    else:
        request.continue_()
    page.wait_for_selector(".grades")
    page.locator(".card h3 a").first.focus()
    page.keyboard.press("3")
    page.wait_for_selector("[data-grade='3'][aria-pressed=true]")
    assert [row.split()[0] for row in rows(qrels)] == ["t2"]


@pytest.mark.slow
def test_a_key_grades_no_document_of_the_pool_before(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url)
    held = Held(page, "**/pool?query_id=t2")
    page.evaluate("location.hash = '#label?topic=t2'")
    request = held.nth(0)
    page.locator("#topic").evaluate("(select) => select.blur()")
    page.locator("#view-label").dispatch_event("keydown", {"key": "3"})
    page.wait_for_timeout(300)
    assert rows(qrels) == []
    request.continue_()
    page.wait_for_selector(".label-document")
    page.keyboard.press("3")
    progress(page, "1 of")
    assert [row.split()[0] for row in rows(qrels)] == ["t2"]


@pytest.mark.slow
def test_queries_that_are_no_topics_cannot_be_graded(show: Show, judged: Judged) -> None:
    page = show(f"{judged[0]}#search?q=moon&p=lexical")
    page.wait_for_selector(".column:not([aria-busy]) .card")
    assert page.locator(".grades").count() == 0


def test_without_judging_there_is_no_view_of_it(show: Show, server: str) -> None:
    page = show(f"{server}#label")
    page.wait_for_selector("#view-search:not([hidden])")
    assert page.locator("#to-label").is_hidden()


def test_a_pool_is_judged_by_keyboard_alone_with_undo(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url)
    pool = page.request.get(f"{url}pool?query_id=t1").json()["documents"]
    assert len(pool) > 3
    progress(page, f"0 of {len(pool)} documents judged")
    assert title(page) == (pool[0]["title"] or pool[0]["doc_id"])
    page.keyboard.press("3")
    progress(page, f"1 of {len(pool)}")
    page.keyboard.press("1")
    progress(page, f"2 of {len(pool)}")
    page.keyboard.press("u")
    progress(page, f"1 of {len(pool)}")
    assert title(page) == (pool[1]["title"] or pool[1]["doc_id"])
    assert rows(qrels) == [f"t1 0 {pool[0]['doc_id']} 3"]
    page.keyboard.press("n")
    assert title(page) == (pool[2]["title"] or pool[2]["doc_id"])
    page.keyboard.press("p")
    for done in range(2, len(pool) + 1):
        page.keyboard.press("0")
        progress(page, f"{done} of {len(pool)}")
    page.get_by_text("All documents of this topic are judged.").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="hound").wait_for()
    assert len(rows(qrels)) == len(pool)


@pytest.mark.slow
def test_a_later_visit_goes_on_at_the_first_document_without_a_grade(show: Show, judged: Judged) -> None:
    url, _ = judged
    page = labelling(show, url, "t2")
    page.keyboard.press("2")
    page.locator(".progress", has_text="1 of").wait_for()
    shown = title(page)
    again = show(f"{url}#label")
    again.locator(".progress", has_text="1 of").wait_for()
    assert again.get_by_role("heading", level=1).inner_text() == "hound"
    assert title(again) == shown
    again.keyboard.press("p")
    assert again.locator("[data-grade='2']").get_attribute("aria-pressed") == "true"


@pytest.mark.slow
def test_nothing_on_the_page_tells_pipelines_ranks_or_scores(show: Show, judged: Judged) -> None:
    page = labelling(show, judged[0])
    text = page.locator("#view-label").inner_text().lower()
    assert not [word for word in ("lexical", "bm25", "rm3", "score", "rank", "first stage") if word in text]
    assert page.locator("#view-label").locator(".strip, .rank, .scores, .chip").count() == 0


@pytest.mark.slow
def test_the_whole_document_can_be_read(show: Show, judged: Judged, texts: dict[str, str]) -> None:
    page = labelling(show, judged[0])
    page.get_by_text("Whole document").click()
    page.wait_for_selector(".label-document .text")
    assert page.locator(".label-document .text").text_content() in texts.values()


@pytest.mark.slow
def test_the_view_is_accessible_in_both_themes_and_at_all_widths(show: Show, judged: Judged) -> None:
    page = labelling(show, judged[0])
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert [one for one in page.evaluate(CONTRASTS) if one[0] < 4.5] == []
    for width in (320, 720, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "article", "progressbar", "link", "region"}
    controls = [node for node in tree if not node.get("ignored") and node.get("role", {}).get("value") in roles]
    assert len(controls) > 8
    assert [node for node in controls if not node.get("name", {}).get("value", "").strip()] == []
    assert page.locator("h1:visible").count() == 1


HELD = """(element, key) => {
  const press = (repeat) => element.dispatchEvent(new KeyboardEvent("keydown", { key, repeat, bubbles: true }));
  [false, true, true, true].forEach(press);
}"""

REPEATED = """(element, key) => {
  element.dispatchEvent(new KeyboardEvent("keydown", { key, repeat: true, bubbles: true }));
}"""


@pytest.mark.slow
def test_a_held_key_grades_one_document_and_undoes_one_grade(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url)
    page.locator(".label-document h2").evaluate(HELD, "2")
    progress(page, "1 of")
    page.wait_for_timeout(300)
    assert [row.split()[3] for row in rows(qrels)] == ["2"]
    page.locator(".label-document h2").evaluate(HELD, "1")
    progress(page, "2 of")
    page.locator(".label-document h2").evaluate(HELD, "u")
    progress(page, "1 of")
    page.wait_for_timeout(300)
    assert [row.split()[3] for row in rows(qrels)] == ["2"]


@pytest.mark.slow
def test_a_held_key_grades_one_result(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = show(f"{url}#search?q=fox&p=lexical")
    page.wait_for_selector(".grades")
    first, second = (page.locator(".card h3 a").nth(n) for n in (0, 1))
    first.evaluate(HELD, "3")
    page.wait_for_function("() => document.activeElement === document.querySelectorAll('.card h3 a')[1]")
    second.evaluate(REPEATED, "3")
    page.wait_for_timeout(300)
    assert len(rows(qrels)) == 1


TWO = """(element, keys) => keys.forEach((key) => {
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
})"""


@pytest.mark.slow
def test_an_undo_while_a_grade_is_sent_takes_no_earlier_grade_back(show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url)
    page.locator(".label-document h2").evaluate(TWO, ["2"])
    progress(page, "1 of")
    page.locator(".label-document h2").evaluate(TWO, ["1", "u"])
    progress(page, "2 of")
    page.wait_for_timeout(300)
    assert [row.split()[3] for row in rows(qrels)] == ["2", "1"]


@pytest.mark.parametrize("place", ["#search?q=fox&p=lexical", "label"])
@pytest.mark.slow
def test_a_second_grade_is_not_taken_while_the_first_is_sent(place: str, show: Show, judged: Judged) -> None:
    url, qrels = judged
    page = labelling(show, url) if place == "label" else show(url + place)
    page.wait_for_selector(".grades")
    page.locator(".label-document h2" if place == "label" else ".card h3 a").first.evaluate(TWO, ["2", "1"])
    page.wait_for_timeout(300)
    assert [row.split()[3] for row in rows(qrels)] == ["2"]
