// Compare columns: show a document's ranks in the other columns, and highlight all its cards together.

import { h, showAt } from "./dom.js";

/** Write each document's ranks in the other columns {name, answer, element} on its cards. */
export function comparePlaces(columns) {
  const ready = columns.filter((item) => item.answer);
  if (ready.length < 2) return;
  const ranks = ready.map(({ answer }) => new Map(answer.results.map((item) => [item.doc_id, item.rank])));
  ready.forEach((column, own) => {
    for (const article of column.element.querySelectorAll(".card")) {
      const id = article.dataset.doc;
      const others = ready.map((other, n) => n !== own && place(other, ranks[n].get(id), ranks[own].get(id), id));
      article.querySelector(".places").replaceChildren(...others.filter(Boolean));
      link(article, ready);
    }
  });
}

/** Make a button with the document's rank in another column, and the difference to its rank here. */
function place(other, there, here, id) {
  if (there === undefined) return h("span", { class: "place" }, `not in ${other.name}`);
  const by = there - here;
  const moved = by === 0 ? "=" : `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`;
  const said = by === 0 ? "the same rank" : `${Math.abs(by)} ${by > 0 ? "higher" : "lower"} here`;
  const go = () => {
    const target = cardsOf(other, id)[0];
    target.focus({ preventScroll: true });
    showAt(target, "center");
  };
  return h("button", { type: "button", class: `place ${by > 0 ? "up" : by < 0 ? "down" : "same"}`, click: go,
    "aria-label": `${other.name}: rank ${there}, ${said}` }, `${other.name} ${there}`, h("b", {}, moved));
}

function link(article, columns) {
  if (article.dataset.linked) return;
  article.dataset.linked = "yes";
  const light = (on) => () => {
    for (const column of columns) {
      for (const item of cardsOf(column, article.dataset.doc)) item.classList.toggle("lit", on);
    }
  };
  for (const event of ["pointerenter", "focusin"]) article.addEventListener(event, light(true));
  for (const event of ["pointerleave", "focusout"]) article.addEventListener(event, light(false));
}

const cardsOf = (column, id) => [...column.element.querySelectorAll(".card")].filter((item) => item.dataset.doc === id);
