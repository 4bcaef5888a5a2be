"""Heat and its scale: zero is empty, the best is full, and the legend names both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Show = Callable[..., Any]
LEVELS = """async ([unit, scores]) => {
  const { scaleOf } = await import("/static/heat.js");
  const scale = scaleOf([scores.map((score, n) => [n, n + 1, score])], unit);
  return scores.map((score) => [scale.part(score), scale.level(score)]);
}"""


def rescored(unit: str, score: Callable[[float], float]) -> Callable[[Any], None]:
    """Answer searches in another unit, with other scores."""

    def prepare(page: Any) -> None:
        def change(route: Any) -> None:
            answer = route.fetch().json()
            answer["unit"] = unit
            for result in answer["results"]:
                result["strip"] = [[start, end, score(value)] for start, end, value in result["strip"]]
                for passage in result["passages"]:
                    passage["score"] = score(passage["score"])
            route.fulfill(json=answer)

        page.route("**/search", change)

    return prepare


def test_zero_and_less_are_empty_and_units_without_a_zero_begin_at_the_lowest(show: Show, server: str) -> None:
    page = show(server)
    for unit, scores, expected in (
        ("bm25", [0, 1, 5, 10], [[0, 0], [0.1, 1], [0.5, 3], [1, 5]]),
        ("cosine", [-0.5, 0.0, 0.25, 0.5], [[0, 0], [0, 0], [0.5, 3], [1, 5]]),
        ("mixed", [0.2, 0.8], [[0.25, 2], [1, 5]]),
        ("prob", [0.0, 0.0], [[0, 0], [0, 0]]),
        ("bm25", [0.0], [[0, 0]]),
        ("cosine", [-0.5, -0.25], [[0, 0], [0, 0]]),
        ("logit", [-8.0, -4.0, 0.0], [[0, 0], [0.5, 3], [1, 5]]),
        ("logprob", [-3.0, -1.0], [[0, 0], [1, 5]]),
        ("logit", [-2.0], [[1, 5]]),
    ):
        assert page.evaluate(LEVELS, [unit, scores]) == expected, unit


def test_a_score_of_zero_draws_no_bar_and_colours_no_text(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical", prepare=rescored("bm25", lambda _: 0.0))
    page.wait_for_selector(".card[data-doc=story] svg.strip")
    assert page.locator(".track").count() == page.locator(".card").count()
    assert page.locator("rect.bar").count() == 0
    assert "No passage of this ranking scores above 0." in page.locator(".legend").inner_text()
    page.locator(".card[data-doc=story] h3 a").click()
    page.wait_for_selector(".text .heat")
    coloured = "all => all.filter((one) => getComputedStyle(one).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    assert page.locator(".text .heat").evaluate_all(coloured) == 0
    assert page.locator(".place-of").inner_text() == "1 of 1"


def test_the_best_passage_of_a_ranking_has_the_only_full_bar(show: Show, server: str) -> None:
    page = show(f"{server}#search?q=fox&p=lexical")
    page.wait_for_selector(".card svg.strip")
    scores = page.locator("rect.bar.s5").evaluate_all(
        "all => all.map((one) => [+one.dataset.score, +one.getAttribute('y')])"
    )
    full = max(score for score, _ in scores)
    assert {y for score, y in scores if score == full} == {14}
    assert all(y > 14 for score, y in scores if score < full)
    assert f"{full:.3f}" in page.locator(".legend b").last.inner_text()


@pytest.mark.parametrize(
    ("unit", "shift", "empty"),
    [("bm25", 0.0, "Empty: 0 and below."), ("logit", -20.0, "Empty: the lowest score, because logit has no zero.")],
)
def test_the_legend_names_unit_ends_and_the_results_that_share_them(
    show: Show, server: str, unit: str, shift: float, empty: str
) -> None:
    page = show(f"{server}#search?q=fox&p=lexical", prepare=rescored(unit, lambda score: score + shift))
    page.wait_for_selector(".legend")
    for whole in ("this ranking", "this document"):
        legend = page.locator(".legend:visible").inner_text()
        assert legend.startswith(f"Heat, {unit}")
        assert f"Full: the best passage of {whole}. {empty}" in legend
        if whole == "this ranking":
            page.locator(".card[data-doc=story] h3 a").click()
            page.wait_for_selector(".text .heat")


def test_rerankings_have_a_legend(show: Show, server: str) -> None:
    page = show(f"{server}#rerank")
    page.fill("#rerank-query", "fox")
    page.fill("#texts", "a fox\n---\nno")
    page.get_by_role("button", name="Rank", exact=True).click()
    assert "the best passage of this ranking" in page.locator("#ranking .legend").inner_text()
