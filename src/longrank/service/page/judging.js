// Grades of documents: buttons with keys, and the server's qrels file behind them.

import { announce, byId, h, isModified, showAt } from "./dom.js";
import { ask } from "./api.js";
import { Grading, clear, isSending, nAnswered, refuse, tellLost } from "./grading.js";

let levels = []; // [{grade, meaning}]; empty: the server takes no judgments
const drawn = new WeakMap(); // buttons -> the grade that they show

/** Take the grades of the server's /info; returns false if it takes no judgments. */
export function openJudging(info) {
  levels = info.judging?.grades ?? [];
  if (levels.length) byId("columns").addEventListener("keydown", onKey);
  return levels.length > 0;
}

const isField = (element) => element.matches("input, textarea, select");

/** Return the grade of a pressed key; null: the key is no grade, or belongs to a field, or a grade is being sent. */
export function gradeOf(event) {
  if (isModified(event) || isField(event.target)) return null;
  return isSending() ? null : levels.find(({ grade }) => String(grade) === event.key)?.grade ?? null;
}

/** Make the buttons of a document's grades; choose(grade) is called with the grade, null if it is pressed again. */
export function gradeButtons(chosen, choose) {
  const button = (grade, content, key = null) => h("button", {
    type: "button", "data-grade": grade, "aria-keyshortcuts": key, "aria-pressed": String(grade === chosen),
    click: () => isSending() || choose(grade === chosen ? null : grade),
  }, content);
  const known = levels.map(({ grade, meaning }) => button(grade, [h("kbd", {}, String(grade)), ` ${meaning}`], grade));
  const isOther = chosen !== null && !levels.some(({ grade }) => grade === chosen);
  const buttons = h("div", { class: "grades", role: "group", "aria-label": "Grade" },
    known, isOther && button(chosen, `${chosen}, in the file`));
  drawn.set(buttons, chosen);
  return buttons;
}

/** Return the grade that the buttons of a place show, null: none. A person has seen it, so it may be replaced. */
export const drawnGrade = (place) => drawn.get(place.querySelector(".grades")) ?? null;

const gradings = new Map(); // query of a search -> its Grading, which can take back the grades of this visit
let wanted = ""; // the query of the results on the page
let shown = null; // its Grading; null: the results have no grades, or not yet

/** Put the newest grades of a query under the documents on the page; a failure is shown in `column`. */
export async function showGrades(column, query) {
  if (!levels.length) return;
  if (wanted !== query) shown = null;
  wanted = query;
  [...byId("columns").children].forEach(clear);
  const before = nAnswered();
  try {
    const { allowed, grades } = await ask(`judgments?query=${encodeURIComponent(query)}`);
    if (wanted !== query) return; // another search has begun
    if (before !== nAnswered()) return await showGrades(column, query); // the answer may be older than a grade
    if (!allowed) return;
    shown = gradings.get(query) ?? new Grading({ query });
    gradings.set(query, shown);
    shown.take(grades);
    cards().forEach(drawGrades);
  } catch (error) {
    if (wanted === query) refuse(column, error, () => showGrades(column, query));
  }
}

const cards = () => [...byId("columns").querySelectorAll(".card")];
const cardsOf = (doc) => cards().filter((item) => item.dataset.doc === doc);

/** Show the grade of a card's document; the focus stays on its button. */
function drawGrades(card) {
  const grade = shown.of(card.dataset.doc);
  const old = card.querySelector(".grades");
  const focused = old?.contains(document.activeElement) ? document.activeElement.dataset.grade : null;
  const buttons = gradeButtons(grade, (chosen) => give(card, chosen));
  if (old) old.replaceWith(buttons);
  else card.append(buttons);
  if (focused !== null) (buttons.querySelector(`[data-grade="${focused}"]`) ?? buttons.firstChild).focus();
}

/** Grade the document of a card that shows the grade `was`. Returns true if the grade is kept. */
function give(card, grade, was = drawnGrade(card)) {
  return settle(card, grade, shown.give(card.dataset.doc, grade, was), () => give(card, grade, was));
}

/** Take a given grade back, on a card of its document. */
async function undo(card, given) {
  const isDone = await settle(card, given.before, shown.undo(given), () => undo(card, given));
  if (isDone) card.querySelector("h3 a").focus();
}

/**
 * Show the answer to a grade on all cards, or an error on the page if its card is gone; retry() sends the grade again.
 * Returns true if the grade is kept and its search is still shown.
 */
async function settle(card, grade, answer, retry) {
  const mine = shown;
  cardsOf(card.dataset.doc).forEach(clear);
  const error = await answer;
  const isGone = shown !== mine || !card.checkVisibility(); // another search or another view is shown
  if (error && isGone) tellLost(card.dataset.doc, mine.query.query, grade, error);
  if (shown !== mine) return false;
  cards().forEach(drawGrades);
  if (isGone) return !error;
  if (error) showAt(refuse(card, error, retry), "nearest");
  else announce(grade === null ? "The grade is removed." : `Graded ${grade}: ${meaningOf(grade)}.`);
  return !error;
}

const meaningOf = (grade) => levels.find((item) => item.grade === grade)?.meaning ?? "in the file";

async function onKey(event) {
  if (!shown || isModified(event) || isField(event.target)) return;
  const card = event.target.closest(".card");
  const grade = card?.querySelector(".grades") ? gradeOf(event) : null; // results of a new search have no grades at first
  const near = cards().filter((item) => item.closest(".column") === card?.closest(".column"));
  if (event.repeat && card && (grade !== null || event.key === "u")) return event.preventDefault(); // a held key is one press
  const go = (by) => near[near.indexOf(card) + by]?.querySelector("h3 a").focus();
  if (card && grade !== null) {
    event.preventDefault();
    if (await give(card, grade)) go(1);
  } else if (card && event.key === "n") go(1);
  else if (card && event.key === "p") go(-1);
  else if (event.key === "u" && !isSending()) {
    const { last } = shown;
    const back = [...near, ...cards()].find((item) => item.dataset.doc === last?.doc);
    if (back) await undo(back, last);
  }
}
