"""Facets, filters and pages of documents on the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

import pytest

from longrank.types import Document
from page.payloads import PAYLOADS

Show = Callable[..., Any]
LANGUAGES = ["en", "en", "de", "en", "de", "fr"]
LARGE = 2**60  # of which JavaScript would round the last digits
SEARCH = "#search?q=fox&p=lexical&k=10&facet=lang&facet=year"


@pytest.fixture(scope="module")
def filtering(make_engine: Callable[..., Any], serving: Callable[..., Any]) -> Iterator[str]:
    """A server with six documents about foxes: languages, years, payloads; the last has pages."""
    more = [{"note": PAYLOADS[n], "number": LARGE + n if n else 1e17} for n in range(len(LANGUAGES))]
    documents = [
        Document(f"d{n}", f"Fox {n}", f"a fox {n}", metadata={"lang": lang, "year": 2000 + n % 2, **more[n]})
        for n, lang in enumerate(LANGUAGES)
    ]
    pages = {"source": "report.pdf", "page_starts": [0, 8], "lang": "fr", "<b>x</b>": PAYLOADS}
    documents.append(Document("pdf", "Report", "no news\na fox is here", metadata=pages))
    with serving(make_engine(documents)) as url:
        yield url


def value(page: Any, name: str) -> Any:
    return page.locator("#facets").get_by_role("button", name=name)


def ids(page: Any) -> set[str]:
    return set(page.locator(".card").evaluate_all("all => all.map((one) => one.dataset.doc)"))


@pytest.mark.slow
def test_a_chosen_field_shows_its_values_and_each_document_has_its_value(show: Show, filtering: str) -> None:
    page = show(f"{filtering}#search?q=fox&p=lexical&k=10")
    page.wait_for_selector(".card")
    assert page.locator(".facet, .metadata").count() == 0
    page.get_by_label("Filter by").select_option("lang")
    page.wait_for_selector(".facet")
    assert page.locator(".value").all_inner_texts() == ["en\n3", "de\n2", "fr\n2"]
    assert page.locator(".card[data-doc=d2] .metadata").inner_text().split() == ["lang", "de"]
    assert "facet=lang" in page.url
    page.get_by_role("button", name="Close the field lang").click()
    page.wait_for_function("() => !document.querySelector('.facet, .metadata')")


def test_values_filter_and_filters_are_in_the_address_and_removable(show: Show, filtering: str) -> None:
    page = show(filtering + SEARCH)
    value(page, "lang en, 3 documents").click()
    value(page, "year 2001, 2 documents").click()
    page.wait_for_function("() => document.querySelectorAll('.card').length === 2")
    assert ids(page) == {"d1", "d3"}
    address = json.loads(unquote(page.url.split("filter=")[1].split("&")[0].replace("+", " ")))
    assert address == {"$and": [{"lang": "en"}, {"year": 2001}]}
    assert "--filter" in page.locator(".command code").inner_text()
    page.get_by_role("button", name="Remove the filter lang: en").click()
    value(page, "year 2001, 3 documents").wait_for()
    assert ids(page) == {"d1", "d3", "d5"}
    page.go_back()
    page.wait_for_function("() => document.querySelectorAll('.chosen').length === 2")
    page.get_by_role("button", name="Remove all filters").click()
    page.wait_for_function("() => document.querySelectorAll('.card').length === 7")


@pytest.mark.slow
def test_a_number_of_many_digits_filters_by_all_of_them(show: Show, filtering: str) -> None:
    page = show(f"{filtering}#search?q=fox&p=lexical&k=10&facet=number")
    value(page, f"number {LARGE + 3}, 1 document").click()
    page.wait_for_function("() => document.querySelectorAll('.card').length === 1")
    assert ids(page) == {"d3"}
    assert f"%22number%22%3A{LARGE + 3}" in page.url
    assert page.locator(".value[aria-pressed=true]").count() == 1
    page = show(f"{filtering}#search?q=fox&p=lexical&k=10&facet=number")
    value(page, "number 100000000000000000, 1 document").click()  # a float; in the address it looks like an int
    page.wait_for_function("() => document.querySelectorAll('.card').length === 1")
    page.locator(".value[aria-pressed=true]").click()
    page.wait_for_function("() => document.querySelectorAll('.card').length > 1")
    assert "filter" not in page.url


@pytest.mark.slow
def test_a_pressed_value_keeps_the_focus_and_is_pressed_again_by_keyboard(show: Show, filtering: str) -> None:
    page = show(filtering + SEARCH)
    value(page, "lang de").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".value[aria-pressed=true]")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "lang de, 2 documents"
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelectorAll('.card').length === 7")


@pytest.mark.slow
def test_the_filter_of_an_address_holds_and_a_new_query_keeps_it(show: Show, filtering: str) -> None:
    page = show(f"{filtering}#search?q=fox&p=lexical&filter={quote(json.dumps({'year': {'$gte': 2001}}))}")
    page.wait_for_selector(".card")
    assert ids(page) == {"d1", "d3", "d5"}
    page.fill("#query", "4")
    page.press("#query", "Enter")
    page.wait_for_selector(".column .notice")
    assert "that matches the filter" in page.locator(".column .notice").inner_text()
    page.get_by_role("button", name="Remove the filter").click()
    page.wait_for_selector(".card[data-doc=d4]")


@pytest.mark.parametrize("wrong", ["{", "7", '{"yaer": 1}', '{"$and": 3}', '{"year": {"$near": 1}}'])
@pytest.mark.slow
def test_a_wrong_filter_is_refused_with_its_place_and_can_be_removed(show: Show, filtering: str, wrong: str) -> None:
    page = show(f"{filtering}#search?q=fox&p=lexical&filter={quote(wrong)}", failing=True)
    page.wait_for_selector(".column .problem")
    assert "filter" in page.locator(".column .problem").inner_text()
    page.locator(".chosen").click()
    page.wait_for_selector(".card")


@pytest.mark.slow
def test_the_document_view_leads_back_to_the_filtered_search(show: Show, filtering: str) -> None:
    page = show(f"{filtering}{SEARCH}&filter={quote(json.dumps({'lang': 'de'}))}")
    page.locator("h3 a").first.click()
    page.wait_for_selector(".text .heat")
    page.locator(".back a").click()
    page.wait_for_selector(".value[aria-pressed=true]")
    assert ids(page) == {"d2", "d4"}


@pytest.mark.slow
def test_a_passage_names_its_page(show: Show, filtering: str) -> None:
    page = show(f"{filtering}#search?q=fox&p=lexical&filter={quote(json.dumps({'source': 'report.pdf'}))}")
    page.wait_for_selector(".card")
    assert page.locator(".where").first.inner_text().split(" · ")[0].endswith("report.pdf, pp. 1-2")


def test_fields_and_values_are_text(show: Show, filtering: str) -> None:
    page = show(f"{filtering}#search?q=fox&p=lexical&facet=note&facet={quote('<b>x</b>')}")
    page.wait_for_selector(".facet .value")
    values = page.locator(".facet .value span:first-child").evaluate_all("all => all.map((one) => one.textContent)")
    assert set(PAYLOADS[:6]) <= set(values)
    page.locator(".value").first.click()
    page.wait_for_selector(".chosen")
    inside = page.evaluate("[...document.querySelectorAll('main *')].map((one) => one.localName)")
    assert not set(inside) & {"script", "img", "iframe", "object", "style", "link"}
    assert page.locator(".facet h2").last.inner_text() == "<b>x</b>"


@pytest.mark.slow
def test_filters_fit_a_phone_and_touch(show: Show, filtering: str) -> None:
    options = {"viewport": {"width": 320, "height": 700}, "has_touch": True, "is_mobile": True}
    page = show(f"{filtering}{SEARCH}&facet=note&filter={quote(json.dumps({'lang': 'en'}))}", **options)
    page.wait_for_selector(".value")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    heights = page.locator(".narrow button, .narrow select").evaluate_all(
        "all => all.filter((one) => one.checkVisibility()).map((one) => one.offsetHeight)"
    )
    assert min(heights) >= 44


@pytest.mark.slow
def test_a_value_is_removed_from_a_filter_that_has_other_conditions_too(show: Show, filtering: str) -> None:
    other = {"year": {"$gte": 2000}}
    page = show(f"{filtering}#search?q=fox&p=lexical&k=10&facet=lang&filter={quote(json.dumps(other))}")
    page.wait_for_selector(".facet")
    value(page, "lang de, 2 documents").click()
    page.wait_for_function("() => document.querySelectorAll('.card').length === 2")
    assert json.loads(unquote(page.url).split("filter=")[1].split("&")[0]) == {"$and": [other, {"lang": "de"}]}
    pressed = page.locator("#facets [aria-pressed=true]")
    pressed.click()
    page.wait_for_function("() => document.querySelectorAll('.card').length === 6")
    assert json.loads(unquote(page.url).split("filter=")[1].split("&")[0]) == other
