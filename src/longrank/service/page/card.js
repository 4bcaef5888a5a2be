// The card of a ranked document: rank, title, best passage, strip, scores, and more passages.

import { h } from "./dom.js";
import { valueText } from "./filters.js";
import { drawStrip, namesOf } from "./strip.js";
import { excerpt } from "./passage.js";
import { placesOf } from "./places.js";
import * as numbers from "./numbers.js";

const SHOWN = 3; // passages; more are folded
const EXCERPT = 360; // characters per passage, about

/**
 * Make the card of a result.
 * scores: [[name, value]], the final score first; href(at): address of the document at the passage that starts at `at`.
 */
export function card(result, { scores, scale, href, shown = SHOWN }) {
  const title = result.title || result.doc_id;
  const places = placesOf(result, scale);
  const list = (from, to) => {
    const some = places.slice(from, to).map((item, n) => excerpt(item, from + n + 1, scale, href(item.start), EXCERPT));
    return some.length > 0 && h("ol", { class: "excerpts", start: from + 1 }, some);
  };
  const parts = [
    h("header", {},
      h("span", { class: "rank", "aria-hidden": "true" }, String(result.rank)),
      h("div", { class: "names" },
        h("h3", {}, h("a", { href: href(null), dir: "auto" }, title)),
        result.title && h("p", { class: "quiet id", dir: "auto" }, result.doc_id),
        result.file && h("p", { class: "quiet" }, h("a", { href: result.file, target: "_blank", rel: "noopener" }, "Open the file")),
        metadata(result.metadata ?? {}),
        h("p", { class: "places" }))),
    list(0, 1),
    result.strip.length > 0 && drawStrip({
      passages: result.strip, places: places.slice(0, shown), names: namesOf(result), scale,
      length: result.n_characters, label: `Passage scores along ${title}`,
      go: (n) => { location.hash = href(result.strip[n][0]); },
    }).element,
    figures(scores, numbers.read(result)),
    list(1, shown),
    places.length > shown && h("details", {},
      h("summary", {}, numbers.plural(places.length - shown, "more passage")), list(shown)),
  ];
  const label = `${result.rank}. ${title}`;
  const attributes = { class: "card", "aria-label": label, "data-doc": result.doc_id, tabindex: -1 };
  return h("li", {}, h("article", attributes, parts));
}

/** Make the list of the document's shown fields. */
function metadata(fields) {
  const items = Object.entries(fields).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, valueText(value))));
  return items.length > 0 && h("dl", { class: "metadata" }, items);
}

/** Make the list of scores [[name, value]], with the amount of text read. */
export function figures(scores, read) {
  const parts = scores.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, numbers.score(value))));
  const list = parts.length > 0 && h("dl", { class: "scores" }, parts);
  return h("div", { class: "figures" }, list, h("p", { class: "read" }, read));
}
