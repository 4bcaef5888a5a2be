"""Accessibility of the page: keyboard, names, both themes, all widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Show = Callable[..., Any]
QUERY = "q=fox&p=lexical&p=bm25&k=10"
VIEWS = {"search": f"#search?{QUERY}", "document": f"#document?{QUERY}&id=story&in=lexical&at=0", "rerank": "#rerank"}

CONTRASTS = """() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = channels(getComputedStyle(node).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    const parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility() || parent.closest(".unseen, .skip, option")) continue;
    const [a, b] = [light(channels(getComputedStyle(parent).color)), light(behind(parent))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), `${parent.localName}.${parent.className}: ${node.data.slice(0, 40)}`]);
  }
  return found;
}"""


def fill_in(page: Any) -> None:
    if page.url.endswith("#rerank"):
        page.fill("#rerank-query", "fox")
        page.fill("#texts", "a fox\n---\nno")
        page.get_by_role("button", name="Rank", exact=True).click()
        page.wait_for_selector("#ranking .card")
    else:
        page.wait_for_selector(".text .heat, .place")


@pytest.mark.parametrize("view", VIEWS)
def test_all_text_stands_out_in_both_themes(show: Show, server: str, view: str) -> None:
    page = show(server + VIEWS[view])
    fill_in(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(CONTRASTS)
        assert len(found) > 20
        assert [one for one in found if one[0] < 4.5] == []
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper.strip("rgb()").split(","))) < 200) == (scheme == "dark")


@pytest.mark.slow
def test_every_level_of_heat_and_every_message_is_readable(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=nothing", failing=True)
    page.wait_for_selector(".problem")
    page.evaluate(
        """() => { for (const name of [..."12345"].map((n) => `heat h${n}`).concat("answer", "answer here")) {
          const one = document.createElement("p"); one.className = name; one.textContent = `level ${name}`;
          document.querySelector("main").append(one); } }"""
    )
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(CONTRASTS)
        assert sum("level" in what for _, what in found) == 7
        assert [one for one in found if one[0] < 4.5] == []


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_has_a_name_and_every_picture_a_text(show: Show, server: str, view: str) -> None:
    page = show(server + VIEWS[view])
    fill_in(page)
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = {
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "checkbox",
        "slider",
        "img",
        "navigation",
        "region",
        "article",
    }
    controls = [node for node in tree if not node.get("ignored") and node.get("role", {}).get("value") in roles]
    assert len(controls) > 10
    assert [node["role"]["value"] for node in controls if not node.get("name", {}).get("value", "").strip()] == []
    headings = page.locator("h1:visible")
    assert headings.count() == 1
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.slow
def test_nothing_is_wider_than_the_window(show: Show, server: str, view: str) -> None:
    page = show(server + VIEWS[view])
    fill_in(page)
    for width in (320, 360, 720, 960, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_search_is_read_by_keyboard_alone(show: Show, server: str) -> None:
    page = show(server)
    page.wait_for_selector("#view-search:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type("fox")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card")
    seen = walk(page, until="STRIP")
    controls = [
        "BUTTON Search",
        "INPUT bm25",
        "INPUT rm3",
        "SELECT 10",
        "BUTTON Copy command",
        "BUTTON Copy link",
        "BUTTON JSON",
        "BUTTON CSV",
        "BUTTON Markdown",
        "SUMMARY About these scores",
        "A Foxes at the end",
        "A passage 29",
        "STRIP",
    ]
    assert seen == controls
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_selector(".text .begins")
    opened = page.locator(".text .begins").get_attribute("data-name")
    page.keyboard.press("n")  # the document's only place: the best passage, beside the passage that is open
    assert page.locator(".place-of").inner_text() == "1 of 1"
    assert (opened, page.locator(".text .begins").get_attribute("data-name")) == ("passage 28", "passage 29")


def walk(page: Any, until: str) -> list[str]:
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        now = page.evaluate(
            """() => {
              const one = document.activeElement;
              const seen = one.matches(".choice input") ? one.nextElementSibling : one;
              if (getComputedStyle(seen).outlineStyle === "none") return "NO FOCUS TO SEE " + one.outerHTML;
              return one.matches("svg.strip") ? "STRIP" : `${one.tagName} ${one.value || one.textContent.trim()}`;
            }"""
        )
        assert not now.startswith("NO FOCUS"), now
        seen.append(now)
        if now == until:
            return seen
    raise AssertionError(seen)


@pytest.mark.slow
def test_the_tab_key_goes_round_and_is_caught_nowhere(show: Show, server: str) -> None:
    page = show(server + VIEWS["document"])
    page.wait_for_selector(".text .heat")
    page.focus("#skip")
    stops = []
    for _ in range(60):
        stops.append(page.evaluate("document.activeElement.outerHTML.slice(0, 300)"))
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body || document.activeElement.id === 'skip'"):
            break
    else:
        raise AssertionError("Tab does not come round")
    assert len(stops) == len(set(stops)) > 8
    assert any("svg" in stop for stop in stops)


@pytest.mark.slow
def test_the_skip_link_leads_to_the_content(show: Show, server: str) -> None:
    page = show(server + VIEWS["document"])
    page.wait_for_selector(".text .heat")
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.focus("#skip")
    assert page.locator("#skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert "#document" in page.url


@pytest.mark.slow
def test_who_wants_no_motion_gets_none(show: Show, server: str) -> None:
    def hold(page: Any) -> None:
        page.route("**/search", lambda route: None)

    page = show(f"{server}#search?q=fox", prepare=hold)
    page.wait_for_selector(".pulse")
    for motion, expected in (("reduce", "none"), ("no-preference", "pulse")):
        page.emulate_media(reduced_motion=motion)
        assert page.evaluate("getComputedStyle(document.querySelector('.pulse')).animationName") == expected
