// The label view: the pooled documents of a topic one after another, blind, graded by key.

import { announce, byId, h, isModified, showAt } from "./dom.js";
import { ask } from "./api.js";
import { Grading, clear, isSending, refuse, tellLost } from "./grading.js";
import { drawnGrade, gradeButtons, gradeOf } from "./judging.js";
import { plural } from "./numbers.js";
import { quoteOf } from "./passage.js";
import { nothing, problem, waiting } from "./problem.js";
import { labelHash } from "./route.js";

const EXCERPT = 600; // characters of each passage, about
let topics = [];
let pool = null; // {query_id, query, documents: [{doc_id, title, passages}], grading, isOld()}; null: none is shown
let at = 0; // number of the document that is shown

/** Handle the keys of the view. */
export function openLabel() {
  byId("view-label").addEventListener("keydown", onKey);
}

/**
 * Show a topic, without an id the last one with grades, at its first document without a grade.
 * isOld() tells whether another view is shown by now.
 */
export async function showLabel({ topic }, isOld) {
  const view = byId("view-label");
  pool = null; // keys are not for the pool before
  document.title = "Judge – LongRank";
  view.replaceChildren(waiting("Loading the topics …"));
  try {
    const answer = await ask("topics");
    if (isOld()) return;
    ({ topics } = answer);
    const chosen = topics.find((item) => item.query_id === topic) ?? topics.findLast((item) => item.n_judged > 0) ?? topics[0];
    if (!chosen) return view.replaceChildren(nothing("No topics.", "Give --topics QUERIES, or grade the results of a search."));
    view.replaceChildren(headOf(chosen), waiting("Collecting the documents of all pipelines …"));
    const collected = await ask(`pool?query_id=${encodeURIComponent(chosen.query_id)}`);
    if (isOld()) return;
    pool = { ...collected, grading: gradingOf(collected), isOld };
    draw(Math.max(0, pool.documents.findIndex(isOpen)));
  } catch (error) {
    if (!isOld()) view.replaceChildren(problem(error, () => showLabel({ topic }, isOld)));
  }
}

function gradingOf({ query_id, documents }) {
  const graded = documents.filter(({ grade }) => grade !== null);
  const grading = new Grading({ query_id });
  grading.take(Object.fromEntries(graded.map(({ doc_id, grade }) => [doc_id, grade])));
  return grading;
}

const isOpen = ({ doc_id: id }) => pool.grading.isOpen(id);

/** Return the number of the next document without a grade, round from `from`; `from` if all have one. */
function nextOpen(from) {
  const { documents } = pool;
  const order = documents.map((_, n) => (from + 1 + n) % documents.length);
  return order.find((n) => isOpen(documents[n])) ?? from;
}

function draw(number) {
  at = number;
  const view = byId("view-label");
  const topic = topics.find((item) => item.query_id === pool.query_id);
  const { documents } = pool;
  const heading = h("h2", { tabindex: -1, dir: "auto" }, documents[at]?.title || documents[at]?.doc_id || "");
  const done = documents.filter((item) => !isOpen(item)).length;
  view.replaceChildren(headOf(topic), progress(done, documents.length),
    ...(documents.length ? [done === documents.length && finished(topic), documentOf(documents[at], heading), toolsOf()]
      : [nothing("Nothing to judge.", "No pipeline finds a document for this topic.")]).filter(Boolean));
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
  announce(`Document ${at + 1} of ${documents.length}, ${done} judged.`);
}

function headOf(topic) {
  const option = (item) => h("option", { value: item.query_id, selected: item === topic }, `${item.query_id}: ${item.query}`);
  const select = h("select", { id: "topic", change: () => (location.hash = labelHash(select.value)) }, topics.map(option));
  return h("header", { class: "label-head" },
    h("p", { class: "shown" }, h("label", { for: "topic" }, "Topic"), select,
      h("span", { class: "quiet" }, `${topics.indexOf(topic) + 1} of ${topics.length}`)),
    h("h1", { class: "lead", dir: "auto" }, topic.query));
}

function progress(done, all) {
  return h("p", { class: "progress" },
    h("progress", { max: Math.max(1, all), value: done, "aria-label": "Judged documents" }),
    h("span", { class: "quiet" }, `${done} of ${plural(all, "document")} judged`));
}

function finished(topic) {
  const next = topics[topics.indexOf(topic) + 1];
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "All documents of this topic are judged.")),
    next && h("p", {}, h("a", { href: labelHash(next.query_id), id: "next-topic" }, `Next topic: ${next.query}`)));
}

function documentOf(item, heading) {
  const quote = (passage) => h("li", {}, passage.place && h("p", { class: "quiet", dir: "auto" }, passage.place),
    h("blockquote", { dir: "auto" }, quoteOf(passage, 2, EXCERPT)));
  const whole = h("details", { toggle: () => whole.open && readWhole(whole, item.doc_id) }, h("summary", {}, "Whole document"));
  return h("article", { class: "card label-document", "aria-label": `Document ${at + 1}` },
    heading, item.title && h("p", { class: "quiet id", dir: "auto" }, item.doc_id),
    h("ol", { class: "label-passages" }, item.passages.map(quote)), whole,
    gradeButtons(pool.grading.of(item.doc_id), (chosen) => give(chosen)));
}

/** Put the whole text under the excerpts, once. */
async function readWhole(place, id) {
  if (place.querySelector(".text")) return;
  try {
    const { text } = await ask(`document?id=${encodeURIComponent(id)}`);
    place.append(h("div", { class: "text", dir: "auto" }, text));
  } catch (error) {
    place.append(problem(error, () => readWhole(place, id)));
  }
}

function toolsOf() {
  const tool = (name, key, go, disabled = false) => h("button", { type: "button", "aria-keyshortcuts": key, click: go, disabled },
    `${name} `, h("kbd", {}, key));
  return h("div", { class: "label-tools", role: "group", "aria-label": "Steps" },
    tool("Previous", "p", () => step(-1)), tool("Next", "n", () => step(1)), tool("Undo", "u", () => undo(), !pool.grading.last));
}

function step(by) {
  const { length } = pool.documents;
  if (length) draw((at + by + length) % length);
}

/** Grade a document that shows the grade `was`, and go to the next one without a grade. */
function give(grade, number = at, was = drawnGrade(byId("view-label"))) {
  const answer = pool.grading.give(pool.documents[number].doc_id, grade, was);
  return settle(number, grade, answer, () => (grade === null ? number : nextOpen(number)), () => give(grade, number, was));
}

/** Take a grade back, and show its document. */
function undo(given = pool.grading.last) {
  if (!given || isSending()) return;
  const number = pool.documents.findIndex((item) => item.doc_id === given.doc);
  settle(number, given.before, pool.grading.undo(given), () => number, () => undo(given));
}

/** Show document `next()` if the grade of a document is kept, otherwise the error with a button that calls retry(). */
async function settle(number, grade, answer, next, retry) {
  const [mine, from] = [pool, at];
  const card = () => byId("view-label").querySelector(".label-document");
  clear(card());
  const error = await answer;
  if (mine.isOld()) return error && tellLost(mine.documents[number].doc_id, mine.query, grade, error);
  if (!error) return draw(at === from ? next() : at); // a person who has gone on stays there
  if (error.grades || at !== number) draw(number);
  showAt(refuse(card(), error, retry), "nearest");
}

function onKey(event) {
  const grade = gradeOf(event);
  if (!pool || isModified(event) || event.target.matches("input, textarea, select")) return;
  if (event.repeat && (grade !== null || event.key === "u")) return event.preventDefault(); // a held key is one press
  if (grade !== null && pool.documents.length) give(grade);
  else if (event.key === "n") step(1);
  else if (event.key === "p") step(-1);
  else if (event.key === "u") undo();
  else if (event.key === "Enter" && event.target.matches("h2")) byId("next-topic")?.click();
  else return;
  event.preventDefault();
}
