// The card of a ranked document: rank, title, scores, strip and best passages.

import { h } from "./dom.js";
import { drawStrip, namesOf } from "./strip.js";
import { excerpt } from "./passage.js";
import * as numbers from "./numbers.js";

const SHOWN = 3; // passages; more are folded
const EXCERPT = 360; // characters per passage, about

/**
 * Make the card of a result.
 * scores: [[name, value]], the final score first; href(at): address of the document at the passage that starts at `at`.
 */
export function card(result, { scores, scale, href, shown = SHOWN }) {
  const title = result.title || result.doc_id;
  const parts = [
    h("header", {},
      h("span", { class: "rank", "aria-hidden": "true" }, String(result.rank)),
      h("div", { class: "names" },
        h("h3", {}, h("a", { href: href(null), dir: "auto" }, title)),
        result.title && h("p", { class: "quiet id", dir: "auto" }, result.doc_id),
        h("p", { class: "places" }))),
    figures(scores, numbers.read(result)),
    result.strip.length > 0 && drawStrip({
      passages: result.strip, length: result.n_characters, scale, names: namesOf(result),
      label: `Passage scores along ${title}`,
      go: (n) => { location.hash = href(result.strip[n][0]); },
    }).element,
    ...excerpts(result, scale, href, shown),
  ];
  const label = `${result.rank}. ${title}`;
  const attributes = { class: "card", "aria-label": label, "data-doc": result.doc_id, tabindex: -1 };
  return h("li", {}, h("article", attributes, parts));
}

/** Make the list of scores [[name, value]], with the amount of text read. */
export function figures(scores, read) {
  const parts = scores.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, numbers.score(value))));
  const list = parts.length > 0 && h("dl", { class: "scores" }, parts);
  return h("div", { class: "figures" }, list, h("p", { class: "read" }, read));
}

function excerpts({ passages }, scale, href, shown) {
  const shorten = (item) => excerpt(item, scale, href(item.start), EXCERPT);
  const list = (some) => h("ol", { class: "excerpts" }, some.map(shorten));
  const more = passages.slice(shown);
  return [
    passages.length > 0 && list(passages.slice(0, shown)),
    more.length > 0 && h("details", {}, h("summary", {}, numbers.plural(more.length, "more passage")), list(more)),
  ];
}
