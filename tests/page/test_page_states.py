"""The page while it waits, and after errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from page.documents import DOCUMENTS

Show = Callable[..., Any]
SEARCH = "#search?q=fox&p=lexical"


def answering(path: str, status: int, body: dict[str, Any] | None, **headers: str) -> Callable[[Any], None]:
    def prepare(page: Any) -> None:
        text = "<html>a proxy's own page" if body is None else json.dumps(body)
        page.route(
            f"**/{path}",
            lambda route: route.fulfill(
                status=status, body=text, headers={"content-type": "application/json", **headers}
            ),
        )

    return prepare


REFUSALS = [
    (429, "overloaded", "as many rankings as it admits are in flight", True),
    (504, "deadline", "the deadline has passed", True),
    (422, "invalid", "/query: 20000 characters, 10000 at most", False),
    (413, "too_large", "a body of 3 MiB", False),
    (500, "internal", "an error inside the server <b>bold</b>", True),
]


@pytest.mark.slow
def test_a_refusal_is_shown_as_the_server_says_it(show: Show, server: str) -> None:
    page = show(server, failing=True)
    for status, code, message, again in REFUSALS:
        body = {"code": code, "message": message, "request_id": f"r-{status}"}
        answering("search", status, body, **{"retry-after": "7"})(page)
        page.evaluate("to => { location.hash = to; }", f"search?p=lexical&q=fox {status}")
        page.wait_for_selector(f"#columns .problem >> text={status} {code} · request r-{status}")
        told = page.locator("#columns .problem").inner_text()
        assert message in told
        assert message in page.locator("#status").inner_text()
        assert page.get_by_role("button", name="Try again").count() == int(again)
        assert ("Try again in 7 s." in told) or not again
        page.unroute("**/search")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".card")


@pytest.mark.slow
def test_an_answer_that_is_no_json_is_an_error(show: Show, server: str) -> None:
    page = show(server + SEARCH, failing=True, prepare=answering("search", 502, None))
    page.wait_for_selector("#columns .problem")
    assert "502 unknown" in page.locator("#columns .problem").inner_text()


def test_what_the_real_server_refuses_is_shown(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexcial", failing=True)
    page.wait_for_selector("#columns .problem")
    assert "/pipeline" in page.locator("#columns .problem").inner_text()
    page.evaluate("location.hash = '#document?id=no%20such&q=fox'")
    page.wait_for_selector("#view-document .problem")
    assert "no such document" in page.locator("#view-document .problem").inner_text()


@pytest.mark.slow
def test_a_search_under_way_is_shown(show: Show, server: str) -> None:
    waiting: list[Any] = []

    def hold(route: Any) -> None:  # a function of ours: the driver asks what arguments it takes
        waiting.append(route)

    page = show(server + SEARCH, prepare=lambda page: page.route("**/search", hold))
    page.wait_for_selector("#columns .waiting")
    assert page.locator(".column").get_attribute("aria-busy") == "true"
    waiting[0].continue_()
    page.wait_for_selector(".card")
    assert page.locator(".column").get_attribute("aria-busy") is None


@pytest.mark.slow
def test_models_that_load_are_waited_for(
    show: Show, make_engine: Callable[..., Any], serving: Callable[..., Any]
) -> None:
    engine = make_engine(DOCUMENTS[:2], load=False)
    with serving(engine) as url:
        page = show(url + SEARCH, failing=True)
        page.wait_for_selector("text=loading its models")
        assert page.locator("#view-search").is_hidden()
        engine.load()
        page.wait_for_selector(".card")
        assert page.locator("#notice").inner_text() == ""


@pytest.mark.slow
def test_a_server_out_of_reach_is_said_and_tried_again(show: Show, server: str) -> None:
    page = show(server + SEARCH, failing=True)
    page.wait_for_selector(".card")
    page.context.set_offline(True)
    page.fill("#query", "moon")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("#columns .problem")
    assert "cannot be reached" in page.locator("#columns .problem").inner_text()
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".card[data-doc=moon]")


def test_a_key_is_asked_for_and_kept_in_this_tab_only(show: Show, engine: Any, serving: Callable[..., Any]) -> None:
    with serving(engine, key="s3cret") as url:
        page = show(url + SEARCH, failing=True)
        page.get_by_label("API key").fill("wrong")
        page.get_by_role("button", name="Use key").click()
        page.wait_for_selector("text=This key was refused")
        page.get_by_label("API key").fill("s3cret")
        page.get_by_role("button", name="Use key").click()
        page.wait_for_selector(".card")
        kept = page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href]")
        assert kept == ["{}", "", page.url]
        assert "s3cret" not in page.url
        page.reload()
        page.wait_for_selector(".card")
        page.evaluate("location.hash = '#rerank'")
        page.fill("#rerank-query", "fox")
        page.fill("#texts", "a fox")
        page.get_by_role("button", name="Rank", exact=True).click()
        page.wait_for_selector("#ranking .card")
        assert "$LONGRANK_API_KEY" in page.locator("#ranking code").inner_text()
        assert "s3cret" not in page.content()


@pytest.mark.slow
def test_without_an_index_there_is_the_rerank_form_only(show: Show, server: str) -> None:
    def prepare(page: Any) -> None:
        def without(route: Any) -> None:
            route.fulfill(json={**route.fetch().json(), "index": None})

        page.route("**/info", without)

    page = show(server + SEARCH, prepare=prepare)
    page.wait_for_selector("#view-rerank:not([hidden])")
    assert page.locator("#view-search").is_hidden()
    assert page.locator("#to-search").is_hidden()
    page.fill("#rerank-query", "fox")
    page.fill("#texts", "a fox\n---\nno")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#ranking .card")
    assert page.locator("#ranking .card").count() == 2


def test_what_was_cut_or_left_out_is_always_shown(show: Show, server: str) -> None:
    def prepare(page: Any) -> None:
        def cut(route: Any) -> None:
            answer = route.fetch().json()
            answer["warnings"] = ["3 passages are longer than the model reads"]
            answer["results"][0] |= {"n_passages": 1234, "n_scored": 9, "n_truncated": 3}
            route.fulfill(json=answer)

        page.route("**/search", cut)

    page = show(server + SEARCH, prepare=prepare)
    page.wait_for_selector(".card")
    assert page.locator(".warning").inner_text() == "3 passages are longer than the model reads"
    assert "9 of 1,234 passages scored, 3 cut at the model’s length limit" in page.locator(".read").first.inner_text()
