// Grades of a query's documents, given and taken back. A grade names the one it replaces: the server refuses it if the
// file has another by now.

import { announce, byId, h } from "./dom.js";
import { ask } from "./api.js";
import { problem } from "./problem.js";

let sending = false; // until the server has the last grade, no other is taken: it would be for a document not yet shown
let answered = 0; // grades that the server has answered

/** Tell whether a grade is being sent: neither a grade nor an undo is taken then. */
export const isSending = () => sending;

/** Return the number of grades that the server has answered; what it was asked for before may be older. */
export const nAnswered = () => answered;

/** Grades of a query: {query} or {query_id}. */
export class Grading {
  #given = []; // [{doc, before, after}] of this page, the last one last
  #grades = new Map(); // those of the server
  #unsure = new Map(); // doc -> the grade that was sent last, without an answer that tells whether it is kept

  constructor(query) {
    this.query = query;
  }

  /** Take the server's newest grades, doc_id -> grade. */
  take(grades) {
    this.#grades = new Map(Object.entries(grades));
  }

  /** Return the grade of a document; null: it has none. */
  of(doc) {
    return this.#grades.get(doc) ?? null;
  }

  /** Tell whether a document is to be graded; negative grades mean "not judged". */
  isOpen(doc) {
    const grade = this.of(doc);
    return grade === null || grade < 0;
  }

  /** Return the last grade that was given, {doc, before, after}; undefined: there is none to take back. */
  get last() {
    return this.#given.at(-1);
  }

  /** Grade a document that has the grade `was`; null: none. Returns null if the grade is kept, otherwise the error. */
  async give(doc, grade, was) {
    const error = await this.#send(doc, grade, was);
    if (!error) this.#given.push({ doc, before: was, after: grade });
    return error;
  }

  /** Take a grade back. Returns null if that is done, otherwise the error. */
  async undo(given) {
    const error = await this.#send(given.doc, given.before, given.after);
    if (!error) this.#given = this.#given.filter((item) => item !== given);
    return error;
  }

  async #send(doc, grade, was) {
    sending = true;
    try {
      this.#answer(doc, (await ask("judgments", { ...this.query, doc_id: doc, grade, was })).grades);
      return null;
    } catch (error) {
      if (!error.grades) {
        if (isUnsure(error)) this.#unsure.set(doc, grade);
        return error;
      }
      const isMine = this.#unsure.has(doc) && this.#unsure.get(doc) === grade; // sent before, and kept
      this.#answer(doc, error.grades);
      if (isMine && this.of(doc) === grade) return null;
      this.#given = this.#given.filter((item) => item.doc !== doc); // somebody else's: nothing is there to be taken back
      return error;
    } finally {
      sending = false;
    }
  }

  #answer(doc, grades) {
    this.take(grades);
    this.#unsure.delete(doc);
    answered += 1;
  }
}

/** Tell whether a grade may be kept after an error: no answer came, or not one of LongRank's refusals. */
const isUnsure = ({ status }) => status < 400 || status >= 500;

/** Put the notice of an error at the end of a place, and return it; retry() repeats the request. */
export function refuse(place, error, retry) {
  const notice = h("div", { class: "refused" }, problem(error, () => sending || retry()));
  place.append(notice);
  return notice;
}

/** Tell on any view that a grade is not kept, since its document is no longer shown; null: it is not removed. */
export function tellLost(doc, query, grade, error) {
  const not = isUnsure(error) ? "may not have been" : "was not";
  const [value, done] = grade === null ? ["", "removed"] : [` ${grade}`, "kept"];
  const what = `The grade${value} of ${doc} for “${query}” ${not} ${done}`;
  const notice = h("div", { class: "notice problem" }, h("p", { dir: "auto" }, h("strong", {}, `${what}.`), ` ${error.message}`),
    h("button", { type: "button", click: () => notice.remove() }, "Close"));
  byId("notice").append(notice);
  announce(`${what}.`);
}

/** Remove the notice of a place, since another request is sent; its focus goes to the place, where keys grade. */
export function clear(place) {
  const notice = place.querySelector(":scope > .refused");
  if (notice?.contains(document.activeElement)) place.querySelector("h2, h3 a")?.focus({ preventScroll: true });
  notice?.remove();
}
