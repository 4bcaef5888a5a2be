// Grades of documents: buttons with keys, and the server's qrels file behind them.

import { announce, byId, h, isModified } from "./dom.js";
import { ask } from "./api.js";
import { problem } from "./problem.js";

let levels = []; // [{grade, meaning}]; empty: the server takes no judgments
const undone = []; // [{query, doc, before}] of this visit, the last one last

/** Take the grades of the server's /info; returns false if it takes no judgments. */
export function openJudging(info) {
  levels = info.judging?.grades ?? [];
  if (levels.length) byId("columns").addEventListener("keydown", onKey);
  return levels.length > 0;
}

let sending = false; // until the server has the last grade, no other is taken: it would be for a document not yet shown

/** Tell whether a grade is being sent: neither a grade nor an undo is taken then. */
export const isSending = () => sending;

/** Return the grade of a pressed key; null: the key is no grade, or belongs to a field, or a grade is being sent. */
export function gradeOf(event) {
  if (isModified(event) || event.target.matches("input, textarea, select")) return null;
  return sending ? null : levels.find(({ grade }) => String(grade) === event.key)?.grade ?? null;
}

/** Keep a grade of a document; null removes it. query: {query} or {query_id}. Returns the query's grades. */
export async function judge(query, doc, grade) {
  sending = true;
  try {
    return (await ask("judgments", { ...query, doc_id: doc, grade })).grades;
  } finally {
    sending = false;
  }
}

/** Make the buttons of a document's grades; choose(grade) is called with the grade, null if it is pressed again. */
export function gradeButtons(chosen, choose) {
  const button = ({ grade, meaning }) => h("button", {
    type: "button", "data-grade": grade, "aria-keyshortcuts": grade, "aria-pressed": String(grade === chosen),
    click: () => sending || choose(grade === chosen ? null : grade),
  }, h("kbd", {}, String(grade)), ` ${meaning}`);
  return h("div", { class: "grades", role: "group", "aria-label": "Grade" }, levels.map(button));
}

let wanted = ""; // the query of the results on the page
let shown = null; // {query, grades} of these results; null: they have no grades, or not yet

/** Put the grades of a query under the documents of a column. */
export async function showGrades(column, query) {
  if (!levels.length) return;
  if (shown?.query !== query) shown = null;
  wanted = query;
  try {
    const { allowed, grades } = await ask(`judgments?query=${encodeURIComponent(query)}`);
    if (wanted !== query) return; // another search has begun
    shown = allowed ? { query, grades } : null;
    if (allowed) cardsIn(column).forEach(drawGrades);
  } catch (error) {
    column.append(problem(error, () => showGrades(column, query)));
  }
}

const cardsIn = (place) => [...place.querySelectorAll(".card")];

function drawGrades(card) {
  const grade = shown.grades[card.dataset.doc] ?? null;
  card.querySelector(".grades")?.remove();
  card.append(gradeButtons(grade, (chosen) => keep(card, chosen)));
}

/** Keep a grade, and show it on every card of the document. */
async function keep(card, grade, undo = false) {
  const { query, grades } = shown;
  const doc = card.dataset.doc;
  try {
    const after = await judge({ query }, doc, grade);
    if (!undo) undone.push({ query, doc, before: grades[doc] ?? null });
    if (shown?.query === query) {
      shown.grades = after;
      const held = document.activeElement.closest(".grades")?.closest(".card");
      cardsIn(byId("columns")).filter((item) => item.dataset.doc === doc).forEach(drawGrades);
      held?.querySelector(`[data-grade="${grade ?? 0}"]`)?.focus();
    }
    announce(grade === null ? "The grade is removed." : `Graded ${grade}: ${levels.find((item) => item.grade === grade).meaning}.`);
  } catch (error) {
    card.append(problem(error, () => shown?.query === query && keep(card, grade)));
  }
}

async function onKey(event) {
  if (!shown || isModified(event)) return;
  const card = event.target.closest(".card");
  const grade = gradeOf(event);
  const cards = cardsIn(byId("columns")).filter((item) => item.closest(".column") === card?.closest(".column"));
  if (event.repeat && card && (grade !== null || event.key === "u")) return event.preventDefault(); // a held key is one press
  const go = (by) => cards[cards.indexOf(card) + by]?.querySelector("h3 a").focus();
  if (card && grade !== null) {
    event.preventDefault();
    await keep(card, grade);
    go(1);
  } else if (card && event.key === "n") go(1);
  else if (card && event.key === "p") go(-1);
  else if (event.key === "u" && !sending && undone.at(-1)?.query === shown.query) {
    const { doc, before } = undone.pop();
    const back = cards.find((item) => item.dataset.doc === doc) ?? cardsIn(byId("columns")).find((item) => item.dataset.doc === doc);
    if (!back) return;
    await keep(back, before, true);
    back.querySelector("h3 a").focus();
  }
}
