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
      this.take((await ask("judgments", { ...this.query, doc_id: doc, grade, was })).grades);
      answered += 1;
      return null;
    } catch (error) {
      if (error.grades) { // of somebody else: what was given here is no longer there to be taken back
        this.take(error.grades);
        answered += 1;
        this.#given = this.#given.filter((item) => item.doc !== doc);
      }
      return error;
    } finally {
      sending = false;
    }
  }
}

/** Put the notice of an error at the end of a place, and return it; retry() repeats the request. */
export function refuse(place, error, retry) {
  const notice = h("div", { class: "refused" }, problem(error, () => sending || retry()));
  place.append(notice);
  return notice;
}

/** Tell on any view that a grade is not kept, since its document is no longer shown; null: it is not removed. */
export function tellLost(doc, query, grade, error) {
  const what = grade === null ? `The grade of ${doc} for “${query}” was not removed` : `The grade ${grade} of ${doc} for “${query}” was not kept`;
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
