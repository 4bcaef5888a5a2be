"""Documents, queries, files and server messages are only text on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from longrank.types import Document
from page.payloads import PAYLOADS

Show = Callable[..., Any]
TAGS = """a article b blockquote button code dd details div dl dt fieldset form h1 h2 h3 header input kbd label legend
li main mark nav noscript ol option p rect section select span strong summary svg text textarea ul"""
INSIDE = """() => {
  const all = [...document.body.querySelectorAll("*")];
  return {
    tags: [...new Set(all.map((one) => one.localName))],
    attributes: all.flatMap((one) => one.getAttributeNames()).filter((name) => /^(on|style|src)/.test(name)),
    links: all.filter((one) => one.href && typeof one.href === "string").map((one) => one.getAttribute("href")),
  };
}"""

DONE = """query => document.getElementById("query").value === query
  && document.querySelector(".column .command") && !document.querySelector(".column[aria-busy]")"""


def assert_nothing_came_in(page: Any) -> None:
    found = page.evaluate(INSIDE)
    assert set(found["tags"]) <= set(TAGS.split())
    assert found["attributes"] == []
    assert all(link.startswith("#") or link == "docs" for link in found["links"])


@pytest.fixture(scope="module")
def hostile(make_engine: Callable[..., Any], serving: Callable[..., Any]) -> Iterator[str]:
    """A server whose documents are payloads: ids, titles and texts."""
    documents = [
        Document(f"{n} {payload}", payload, f"a fox {payload} and a fox\n{payload}")
        for n, payload in enumerate(PAYLOADS)
    ]
    with serving(make_engine(documents)) as url:
        yield url


def test_there_are_forty() -> None:
    assert len(set(PAYLOADS)) == 40


def test_ids_titles_and_texts_are_text_in_results(show: Show, hostile: str) -> None:
    page = show(f"{hostile}#search?q=fox&p=lexical&p=bm25&k=50")
    page.wait_for_selector("[data-pipeline=lexical] .card .place")
    titles = page.locator("[data-pipeline=bm25] h3").evaluate_all("all => all.map((one) => one.textContent)")
    assert sorted(titles) == sorted(PAYLOADS)
    assert_nothing_came_in(page)


def test_ids_titles_and_texts_are_text_in_documents(show: Show, hostile: str) -> None:
    page = show(f"{hostile}#search?q=fox&p=lexical&k=50")
    page.wait_for_selector(".card")
    for n, payload in enumerate(PAYLOADS):
        page.evaluate(
            "to => { location.hash = to; }", f"document?q=fox&p=lexical&k=50&in=lexical&id={quote(f'{n} {payload}')}"
        )
        page.wait_for_function(
            "title => document.querySelector('#view-document h1')?.textContent === title", arg=payload
        )
        text = page.locator(".text").evaluate("one => one.textContent")
        assert text == f"a fox {payload} and a fox\n{payload}"
        assert_nothing_came_in(page)


def test_queries_are_text(show: Show, hostile: str) -> None:
    page = show(hostile)
    for payload in PAYLOADS:
        query = f"fox {payload}".replace("\x00", "")
        page.evaluate("to => { location.hash = to; }", f"search?p=lexical&k=1&q={quote(query)}")
        page.wait_for_function(DONE, arg=query)
        assert_nothing_came_in(page)


def test_names_of_pipelines_and_of_the_view_are_text(show: Show, hostile: str) -> None:
    page = show(hostile, failing=True)
    page.wait_for_selector("#view-search:not([hidden])")
    for payload in PAYLOADS[::4]:
        page.evaluate(
            "to => { location.hash = to; }",
            f"{quote(payload)}?p={quote(payload)}&q=fox&k={quote(payload)}&at={quote(payload)}",
        )
        page.wait_for_selector(".column .problem")
        assert page.locator(".column h2").evaluate("one => one.textContent") == payload
        assert_nothing_came_in(page)


def test_pasted_texts_and_names_of_files_are_text(show: Show, hostile: str) -> None:
    page = show(f"{hostile}#rerank")
    page.fill("#rerank-query", "<img src=x onerror=alert(1)> fox")
    page.fill("#texts", "\n---\n".join(payload.replace("\x00", "") for payload in PAYLOADS))
    page.set_input_files(
        "#pick",
        [{"name": "<img src=x onerror=alert(1)>.txt", "mimeType": "text/plain", "buffer": PAYLOADS[0].encode()}],
    )
    page.wait_for_selector("#files li")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#ranking .card")
    assert page.locator("#ranking .card").count() == 41
    assert_nothing_came_in(page)
    page.locator("#ranking h3 a").first.click()
    page.wait_for_selector(".text .chunk")
    assert_nothing_came_in(page)


def test_what_a_server_says_of_an_error_and_of_itself_is_text(show: Show, hostile: str) -> None:
    nasty = " ".join(PAYLOADS)

    def prepare(page: Any) -> None:
        page.route(
            "**/search",
            lambda route: route.fulfill(status=500, json={"code": nasty, "message": nasty, "request_id": nasty}),
        )

        def renamed(route: Any) -> None:
            info = route.fetch().json()
            info["index"]["name"] = nasty
            info["pipelines"][0] |= {"name": nasty, "scorer": nasty, "unit": nasty}
            route.fulfill(json=info)

        page.route("**/info", renamed)

    page = show(f"{hostile}#search?q=fox", failing=True, prepare=prepare)
    page.wait_for_selector(".column .problem")
    assert nasty in page.locator(".problem p").first.evaluate("one => one.textContent")
    assert_nothing_came_in(page)


def test_the_page_loads_nothing_from_elsewhere_and_runs_nothing_inline(show: Show, server: str) -> None:
    asked: list[str] = []
    page = show(
        f"{server}#search?q=fox", prepare=lambda page: page.on("request", lambda request: asked.append(request.url))
    )
    page.wait_for_selector(".card")
    assert len(asked) > 15
    assert all(url.startswith(server) for url in asked)
    policy = page.request.get(server).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    source = page.request.get(server).text()
    assert not any(inline in source for inline in ("<style", " style=", "onclick", "javascript:"))
