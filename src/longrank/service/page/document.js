// One document: its whole text with its passage scores, and the way from one good passage to the next.

import { announce, byId, h } from "./dom.js";
import { ask, search } from "./api.js";
import { figures } from "./card.js";
import { lengthOf } from "./codepoints.js";
import { heatText } from "./heattext.js";
import { LEVELS, scaleOf } from "./heat.js";
import * as numbers from "./numbers.js";
import { excerpt } from "./passage.js";
import { problem, waiting } from "./problem.js";
import { documentHash, searchHash } from "./route.js";
import { scoresOf } from "./search.js";
import { drawStrip, namesOf } from "./strip.js";

let keys = () => {};

/** Show what `load()` promises: see fromSearch. */
export async function showDocument(load, at) {
  const view = byId("view-document");
  keys = () => {};
  view.replaceChildren(waiting("Opening …"));
  try {
    draw(view, await load(), at);
  } catch (error) {
    view.replaceChildren(problem(error, () => showDocument(load, at)));
  }
}

/** Listen to the keys n and p while the document has the focus. */
export function openDocuments() {
  byId("view-document").addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
    keys(event.key);
  });
}

/**
 * A document of the index as a search found it.
 * Returns {title, id, text, back, others, result, scale, scores, warnings, href(at)}; result: null if it was not found.
 */
export async function fromSearch(asked) {
  const whole = ask(`document?id=${encodeURIComponent(asked.id)}`);
  const answer = asked.query.trim() && asked.pipeline ? await search({ ...asked, pipeline: asked.pipeline }) : null;
  const { doc_id: id, title, text } = await whole;
  const result = answer?.results.find((one) => one.doc_id === asked.id) ?? null;
  return {
    id, title: title || id, text, result,
    back: answer && [searchHash(asked), `Results for ${asked.query}`],
    others: asked.pipelines.map((name) => [name, documentHash(asked, id, name), name === asked.pipeline]),
    scale: scaleOf(answer?.results.map((one) => one.strip) ?? []),
    scores: result ? scoresOf(result, answer.unit) : [], unit: answer?.unit, warnings: answer?.warnings ?? [],
    href: (at) => documentHash(asked, id, asked.pipeline, at),
  };
}

function draw(view, shown, at) {
  const { title, id, result, scores, back, others } = shown;
  const heading = h("h1", { tabindex: -1, dir: "auto" }, title);
  const text = h("div", { class: "text", dir: "auto" });
  const strip = result?.strip ?? [];
  const names = result ? namesOf(result) : [];
  const head = [
    back && h("p", { class: "back" }, h("a", { href: back[0], dir: "auto" }, `← ${back[1]}`)),
    h("header", { class: "document-head" }, heading, id !== title && h("p", { class: "quiet id", dir: "auto" }, id)),
    others.length > 1 && h("nav", { class: "tabs", "aria-label": "Evidence of" },
      others.map(([name, href, here]) => h("a", { href, "aria-current": here && "page" }, name))),
    figures(scores, readOf(shown)),
    ...shown.warnings.map((one) => h("p", { class: "warning" }, one)),
  ];
  const body = heatText(text, { text: shown.text, strip, names, scale: shown.scale, words: result?.passages.flatMap((one) => one.words) ?? [] });
  document.title = `${title} – LongRank`;
  if (!strip.length) view.replaceChildren(...head.filter(Boolean), text);
  else view.replaceChildren(...head.filter(Boolean), walk(shown, { body, text, names, at }), bestOf(shown), text);
  heading.focus({ preventScroll: true });
  if (at === null) scrollTo(0, 0);
}

function readOf({ result, text, back }) {
  const all = numbers.plural(lengthOf(text), "character");
  if (!result) return back ? `not among the results shown, so without passage scores · ${all}` : all;
  return numbers.read(result);
}

/** The bar that stays in sight: the strip, the way to the next best passage, the legend. */
function walk(shown, { body, text, names, at }) {
  const { strip } = shown.result;
  const order = strip.map((_, n) => n).sort((a, b) => strip[b][2] - strip[a][2] || a - b);
  let rank = -1;
  const go = (n) => {
    rank = order.indexOf(n);
    body.show(n);
    picture.select(n);
    where.textContent = `${rank + 1} of ${strip.length}`;
    announce(`${names[n]}, ${rank + 1} of ${strip.length} by score, ${numbers.score(strip[n][2])}`);
    history.replaceState(null, "", shown.href(strip[n][0]));
  };
  const step = (by) => go(order[(rank + by + order.length + (rank < 0 && by < 0 ? 1 : 0)) % order.length]);
  const picture = drawStrip({ passages: strip, length: shown.result.n_characters, scale: shown.scale, names, label: "Passage scores along the document", go });
  const where = h("span", { class: "place-of" }, `– of ${strip.length}`);
  const heat = h("input", { type: "checkbox", id: "heat", checked: true, change: () => text.classList.toggle("plain", !heat.checked) });
  keys = (key) => (key === "n" ? step(1) : key === "p" ? step(-1) : null);
  if (at !== null) setTimeout(() => go(Math.max(0, strip.findIndex(([start]) => start === at))));
  return h("div", { class: "walk", role: "group", "aria-label": "Passages" }, picture.element,
    h("div", { class: "walk-tools" },
      h("div", { class: "steps" },
        h("button", { type: "button", click: () => step(-1), "aria-keyshortcuts": "p", "aria-label": "Previous best passage" }, "← Previous ", h("kbd", {}, "p")),
        where,
        h("button", { type: "button", click: () => step(1), "aria-keyshortcuts": "n", "aria-label": "Next best passage" }, "Next best → ", h("kbd", {}, "n"))),
      legend(shown.scale, shown.unit),
      h("label", { class: "toggle", for: "heat" }, heat, "Heat")));
}

function legend({ low, high }, unit) {
  const ramp = Array.from({ length: LEVELS }, (_, n) => h("span", { class: `swatch h${n}` }));
  return h("p", { class: "legend", role: "img", "aria-label": `Passage scores from ${numbers.score(low)}, pale, to ${numbers.score(high)}, dark; unit ${unit}` },
    h("span", {}, numbers.score(low)), h("span", { class: "ramp" }, ramp), h("span", {}, numbers.score(high)), h("span", { class: "quiet" }, unit));
}

function bestOf({ result, scale, href }) {
  const wide = matchMedia("(min-width: 72rem)").matches;
  return h("details", { class: "best", open: wide }, h("summary", {}, "Best passages"),
    h("ol", { class: "excerpts" }, result.passages.map((one) => excerpt(one, scale, href(one.start), 220))));
}
