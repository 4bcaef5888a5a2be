// The document view: the whole text, opened at its best place, with steps between its places.

import { byId, h, isModified } from "./dom.js";
import { ask, search } from "./api.js";
import { figures } from "./card.js";
import { copyButton } from "./command.js";
import { lengthOf, unitsOf } from "./codepoints.js";
import { scaleOf } from "./heat.js";
import { heatText } from "./heattext.js";
import { legend } from "./legend.js";
import * as numbers from "./numbers.js";
import { excerpt } from "./passage.js";
import { placesOf, sentencesOf } from "./places.js";
import { problem, waiting } from "./problem.js";
import { documentHash, searchHash } from "./route.js";
import { forgetOlder, scoresOf } from "./search.js";
import { namesOf } from "./strip.js";
import { walkBar } from "./walk.js";

const EXCERPT = 220; // characters per best passage, about
let bar = null; // bar of the shown document, if it has scores

/**
 * Show the document of `load()`, see fromSearch; at: start of the passage to show, in code points; null: the best.
 * isOld() tells whether another view, or another document, is shown by now.
 */
export async function showDocument(load, at, isOld) {
  const view = byId("view-document");
  bar = null;
  view.replaceChildren(waiting("Opening …"));
  try {
    const shown = await load();
    if (!isOld()) draw(view, shown, at);
  } catch (error) {
    if (!isOld()) view.replaceChildren(problem(error, () => showDocument(load, at, isOld)));
  }
}

/** Show another passage of the shown document; returns false if there is none. */
export function showPassage(at) {
  if (bar === null) return false;
  bar.goTo(at);
  return true;
}

/** Handle the keys n and p while the document has the focus. */
export function openDocuments() {
  byId("view-document").addEventListener("keydown", (event) => {
    if (isModified(event) || event.target.matches("textarea, select")) return;
    const by = { n: 1, p: -1 }[event.key];
    if (by) bar?.step(by);
  });
}

/**
 * Load a document of the index with the evidence of a search.
 * Returns {title, id, text, back, link(), others, result, scores, unit, warnings, href(at)}; result: null if the search did not return it.
 */
export async function fromSearch(state) {
  const [{ doc_id: id, title, text, digest }, answer] = await sameState(state);
  const found = answer?.results.find((item) => item.doc_id === state.id);
  const fits = answer?.digest === digest && (digest !== null || !found || isOf(found, text));
  const result = (fits && found) || null;
  const warnings = [...(answer?.warnings ?? []), ...(answer && !fits ? [CHANGING] : [])];
  return {
    id, title: title || id, text, result, unit: answer?.unit, warnings,
    back: answer && [searchHash(state), `Results for “${state.query}”`],
    link: () => location.href, // walking keeps the place in the address
    others: state.pipelines.map((name) => [name, documentHash(state, id, name), name === state.pipeline]),
    scores: result ? scoresOf(result, answer.unit) : [],
    href: (at) => documentHash(state, id, state.pipeline, at),
  };
}

/** Tell whether a result is of this text, of a store, which has no digest. */
function isOf({ n_characters: length, passages }, text) {
  const at = unitsOf(text);
  return length === lengthOf(text) && passages.every((item) => item.text === text.slice(at(item.start), at(item.end)));
}

const TRIES = 2;
const CHANGING = "The index is changing, so no passages are marked. Open the document again.";

/** Return the document and the answer to the search, null without a query, of one state of the index, unless it goes on changing. */
async function sameState(state) {
  const searched = state.query.trim() && state.pipeline;
  for (let n = 1; ; n++) {
    const whole = await ask(`document?id=${encodeURIComponent(state.id)}`);
    const answer = searched ? await search(state, undefined, whole.digest) : null;
    forgetOlder(whole.digest);
    if (n === TRIES || !answer || answer.digest === whole.digest) return [whole, answer];
  }
}

function draw(view, shown, at) {
  const { result } = shown;
  const strip = result?.strip ?? [];
  const scale = scaleOf([strip], shown.unit); // of this document; the results of a search share a scale
  const names = result ? namesOf(result) : [];
  const places = result ? placesOf(result, scale) : [];
  const heading = h("h1", { tabindex: -1, dir: "auto" }, shown.title);
  const text = h("div", { class: "text", dir: "auto" });
  const words = result?.passages.flatMap((item) => item.words) ?? [];
  const body = heatText(text, { text: shown.text, strip, scale, words, sentences: sentencesOf(places) });
  if (strip.length) bar = walkBar(shown, { places, names, scale, show: body.show });
  document.title = `${shown.title} – LongRank`;
  const tools = bar ? [aside(shown, places, scale, text), bar.element] : [];
  view.replaceChildren(...headOf(shown, heading), ...tools, text);
  heading.focus({ preventScroll: true });
  if (!showPassage(at)) scrollTo(0, 0);
}

function headOf(shown, heading) {
  const { title, id, back, link, others, scores } = shown;
  return [
    back && h("p", { class: "back" }, h("a", { href: back[0], dir: "auto" }, `← ${back[1]}`)),
    h("header", { class: "document-head" }, heading, id !== title && h("p", { class: "quiet id", dir: "auto" }, id)),
    others.length > 1 && h("nav", { class: "tabs", "aria-label": "Evidence of" },
      others.map(([name, href, here]) => h("a", { href, "aria-current": here && "page" }, name))),
    figures(scores, readOf(shown)),
    link && h("div", { class: "share document-link" }, copyButton("Copy link", link, "The link to this place is in the clipboard.")),
    ...shown.warnings.map((item) => h("p", { class: "warning" }, item)),
  ].filter(Boolean);
}

function readOf({ result, text, back }) {
  if (result) return numbers.read(result);
  const length = numbers.plural(lengthOf(text), "character");
  return back ? `not among the results: no passage scores · ${length}` : length;
}

/** Make the list of places and the legend, which stand beside the text if there is room. */
function aside({ href }, places, scale, text) {
  const wide = matchMedia("(min-width: 72rem)").matches;
  const list = places.map((item, n) => excerpt(item, n + 1, scale, href(item.start), EXCERPT));
  return h("div", { class: "aside" },
    h("div", { class: "heat-key" }, legend(scale, "this document"), heatSwitch(text)),
    h("details", { open: wide }, h("summary", {}, "Best passages"), h("ol", { class: "excerpts" }, list)));
}

function heatSwitch(text) {
  const box = h("input", {
    type: "checkbox", id: "heat", checked: true, change: () => text.classList.toggle("plain", !box.checked),
  });
  return h("label", { class: "toggle", for: "heat" }, box, "Heat in the text");
}
