"""The rerank view."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from page.held import Held

Show = Callable[..., Any]
TEXTS = ["Bread and salt.", "😀 漢字 the fox\n\nand a second fox", "the moon met --- no fox: 'quoted' $HOME \\n `ls`"]


def ranked(page: Any, texts: list[str], query: str = "fox") -> Any:
    page.fill("#rerank-query", query)
    page.fill("#texts", "\n---\n".join(texts))
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#ranking .card")
    return page.request.post(
        f"{page.url.split('#')[0]}v2/rerank", data={"query": query, "documents": texts, "evidence": True}
    ).json()


def test_pasted_texts_are_ranked_with_their_evidence(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    answer = ranked(page, TEXTS)
    cards = page.locator("#ranking .card")
    assert [cards.nth(n).get_attribute("data-doc") for n in range(3)] == [
        f"text {one['index'] + 1}" for one in answer["results"]
    ]
    for n, one in enumerate(answer["results"]):
        figures = [float(text) for text in cards.nth(n).locator(".scores dd").all_inner_texts()]
        assert [round(value, 2) for value in figures] == [round(one["relevance_score"], 2), round(one["aggregate"], 2)]
        marks = (
            cards.nth(n)
            .locator("mark")
            .evaluate_all("all => all.map((one) => [+one.dataset.start, +one.dataset.end, one.textContent])")
        )
        text = TEXTS[one["index"]]
        assert [text[start:end] for start, end, _ in marks] == [word for _, _, word in marks]
        assert len(marks) == len({tuple(word) for passage in one["passages"] for word in passage["words"]})
    assert (
        "all" in cards.first.locator(".read").inner_text()
        or "1 passage scored" in cards.first.locator(".read").inner_text()
    )


@pytest.mark.slow
def test_a_ranked_text_opens_whole(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    ranked(page, TEXTS)
    page.locator(".card[data-doc='text 2'] h3 a").click()
    page.wait_for_selector(".text .heat")
    assert page.locator(".text .chunk").evaluate_all("all => all.map((one) => one.textContent).join('')") == TEXTS[1]
    page.go_back()
    page.wait_for_selector("#view-rerank:not([hidden]) .card")
    assert page.evaluate("document.activeElement.closest('.card').dataset.doc") == "text 2"


@pytest.mark.slow
def test_chosen_and_dropped_files_are_documents(show: Show, server: str, tmp_path: Path) -> None:
    (tmp_path / "fox.txt").write_text("A fox.\n---\nStill the same document.", encoding="utf-8")
    page = show(f"{server}#rerank")
    page.wait_for_selector("#view-rerank")  # a hidden input takes files, too, which nobody reads yet
    page.set_input_files("#pick", tmp_path / "fox.txt")
    page.wait_for_selector("#files li")
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["No animal."], "dropped <b>.md", { type: "text/markdown" }));
          const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
          document.getElementById("texts").dispatchEvent(drop);
        }"""
    )
    page.wait_for_function("() => document.querySelectorAll('#files li').length === 2")
    ranked(page, ["the moon"])
    assert page.locator("#ranking .card h3").all_inner_texts() == ["fox.txt", "the moon", "dropped <b>.md"]
    page.get_by_role("button", name="Remove fox.txt").click()
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_function("() => document.querySelectorAll('#ranking .card').length === 2")


def test_the_curl_command_gives_the_same_ranking(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer = ranked(page, TEXTS, "fox's “tail”")
    page.get_by_role("button", name="Copy command").click()
    page.get_by_role("button", name="Copied").wait_for()
    command = page.evaluate("navigator.clipboard.readText()")
    sent = json.loads(command.split("<<'JSON'\n")[1].removesuffix("\nJSON"))
    assert (sent["query"], sent["documents"], sent["evidence"]) == ("fox's “tail”", TEXTS, True)
    if shutil.which("curl") and shutil.which("bash"):
        done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=200)
        results = json.loads(done.stdout)["results"]
        assert [(one["index"], one["relevance_score"]) for one in results] == [
            (one["index"], one["relevance_score"]) for one in answer["results"]
        ]


@pytest.mark.slow
def test_no_texts_are_no_request(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    page.fill("#rerank-query", "fox")
    page.fill("#texts", " \n---\n\n")
    page.get_by_role("button", name="Rank", exact=True).click()
    assert "No documents." in page.locator("#ranking").inner_text()


@pytest.mark.slow
def test_a_ranking_that_its_deadline_cuts_short_is_shown(show: Show, server: str) -> None:
    def cut(route: Any) -> None:
        answer = route.fetch().json()
        answer["results"][-1] |= {"aggregate": None, "relevance_score": 0.0, "passages": [], "strip": []}
        route.fulfill(json=answer)

    page = show(f"{server}#rerank", prepare=lambda page: page.route("**/v2/rerank", cut))
    ranked(page, TEXTS)
    cards = page.locator("#ranking .card")
    assert [cards.nth(n).locator(".scores dd").count() for n in range(3)] == [2, 2, 1]


@pytest.mark.slow
def test_a_form_that_changes_while_its_texts_are_ranked_makes_the_ranking_old(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    held = Held(page, "**/v2/rerank")
    page.fill("#rerank-query", "fox")
    page.fill("#texts", "\n---\n".join(TEXTS))
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#ranking .waiting")
    page.fill("#rerank-query", "moon")
    held.nth(0).continue_()
    page.wait_for_selector("#ranking.stale .old")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#ranking:not(.stale) .waiting")
    held.nth(1).continue_()
    page.wait_for_selector("#ranking .card")
    assert page.locator("#ranking .old").count() == 0
