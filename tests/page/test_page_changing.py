"""The page over an index that changes: no answer of an older state is shown as one of the new state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from longrank.types import Document

pytestmark = pytest.mark.slow

Show = Callable[..., Any]
OLD = Document("d", "A document", "One fox runs. " + "Nothing here. " * 9)
NEW = Document("d", "A document", "Nothing here. " * 9 + "One fox runs.")
OTHER = Document("other", "Another", "A hound and a fox and a fox.")


@pytest.fixture
def changing(make_engine: Callable[..., Any], serving: Callable[..., Any]) -> Iterator[tuple[Any, str]]:
    """An engine of its own, and its address."""
    engine = make_engine([OLD, OTHER])
    with serving(engine) as url:
        yield engine, url


def replace(engine: Any) -> None:
    """Replace a document and delete the other, as another process does, and let the server notice."""
    engine.index.add([NEW], replace=True)
    engine.reopen()
    engine.index.delete(["other"])
    engine.reopen()


def marked(page: Any) -> list[str]:
    page.wait_for_selector(".text mark")
    return page.locator(".text mark").all_inner_texts()  # type: ignore[no-any-return]


def test_marks_are_of_the_text_that_is_shown(show: Show, changing: tuple[Any, str]) -> None:
    engine, url = changing
    page = show(f"{url}#search?q=fox&p=lexical")
    page.wait_for_selector(".card[data-doc=d]")
    replace(engine)
    page.locator(".card[data-doc=d] h3 a").click()
    assert marked(page) == ["fox"]
    assert NEW.text in page.locator(".text").inner_text()
    page.go_back()  # the results are of an older state, which the document has shown
    page.locator(".card[data-doc=other]").wait_for(state="detached")
    page.wait_for_selector(".card[data-doc=d]")
    assert page.locator(".card").count() == 1


def test_search_searches_again_in_a_changed_index(show: Show, changing: tuple[Any, str]) -> None:
    engine, url = changing
    page = show(f"{url}#search?q=fox&p=lexical&k=10")
    page.wait_for_selector(".card[data-doc=other]")
    replace(engine)
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(".card[data-doc=other]").wait_for(state="detached")
    page.wait_for_selector(".card[data-doc=d]")
    assert page.locator(".card").count() == 1


def test_an_unchanged_index_is_not_searched_again(show: Show, changing: tuple[Any, str]) -> None:
    searches: list[str] = []
    page = show(f"{changing[1]}#search?q=fox&p=lexical&k=10")
    page.wait_for_selector(".card[data-doc=d]")
    page.on("request", lambda request: searches.append(request.url) if request.url.endswith("/search") else None)
    page.locator(".card[data-doc=d] h3 a").click()
    assert marked(page) == ["fox"]
    page.get_by_role("link", name="Results for").click()
    page.wait_for_selector(".card[data-doc=d]")
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector(".card[data-doc=d]")
    assert searches == []


def test_an_index_that_goes_on_changing_gets_no_marks(show: Show, changing: tuple[Any, str]) -> None:
    def prepare(page: Any) -> None:
        def behind(route: Any) -> None:  # a replica that has not yet noticed the change
            route.fulfill(json={**route.fetch().json(), "digest": "older"})

        page.route("**/search", behind)

    page = show(f"{changing[1]}#document?q=fox&p=lexical&k=10&id=d&in=lexical", prepare=prepare)
    page.wait_for_selector("text=The index is changing, so no passages are marked.")
    assert OLD.text.strip() in page.locator(".text").inner_text()
    assert page.locator(".text mark, .text .heat").count() == 0


def without_digest(page: Any) -> None:
    """Let the answers have no digest, as those of a store."""

    def answer(route: Any) -> None:
        response = route.fetch()
        values = response.json()
        (values["index"] if isinstance(values.get("index"), dict) else values)["digest"] = None
        route.fulfill(response=response, json=values)

    for address in ("**/info", "**/search", "**/document?*"):
        page.route(address, answer)


def test_a_store_which_has_no_digest_is_searched_again(show: Show, changing: tuple[Any, str]) -> None:
    engine, url = changing
    page = show(f"{url}#search?q=fox&p=lexical&k=10", prepare=without_digest)
    page.wait_for_selector(".card[data-doc=other]")
    replace(engine)
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(".card[data-doc=other]").wait_for(state="detached")
    page.wait_for_selector(".card[data-doc=d]")


def test_a_stores_document_is_marked_if_the_passages_are_of_its_text(show: Show, changing: tuple[Any, str]) -> None:
    engine, url = changing
    page = show(f"{url}#search?q=fox&p=lexical&k=10", prepare=without_digest)
    page.locator(".card[data-doc=d] h3 a").click()
    assert marked(page) == ["fox"]
    page.go_back()
    page.wait_for_selector(".card[data-doc=d]")
    replace(engine)
    page.locator(".card[data-doc=d] h3 a").click()
    page.get_by_text("no passages are marked").wait_for()
    assert page.locator(".text mark").count() == 0
