// The same document in several columns: where it stands in each, and all its cards lit at once.

import { h, showAt } from "./dom.js";

/** Write the places of each document in the other columns {name, answer, element} on its cards. */
export function comparePlaces(columns) {
  const ready = columns.filter((one) => one.answer);
  if (ready.length < 2) return;
  const ranks = ready.map(({ answer }) => new Map(answer.results.map((one) => [one.doc_id, one.rank])));
  ready.forEach((column, own) => {
    for (const found of column.element.querySelectorAll(".card")) {
      const id = found.dataset.doc;
      const others = ready.map((other, n) => n !== own && place(other, ranks[n].get(id), ranks[own].get(id), id));
      found.querySelector(".places").replaceChildren(...others.filter(Boolean));
      link(found, ready);
    }
  });
}

/** Where another column has the document, and how many places higher or lower it stands here. */
function place(other, there, here, id) {
  if (there === undefined) return h("span", { class: "place" }, `not in ${other.name}`);
  const by = there - here;
  const moved = by === 0 ? "=" : `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`;
  const said = by === 0 ? "the same place" : `${Math.abs(by)} ${by > 0 ? "higher" : "lower"} here`;
  const go = () => {
    const target = cardsOf(other, id)[0];
    target.focus({ preventScroll: true });
    showAt(target, "center");
  };
  return h("button", { type: "button", class: `place ${by > 0 ? "up" : by < 0 ? "down" : "same"}`, click: go,
    "aria-label": `${other.name}: place ${there}, ${said}` }, `${other.name} ${there}`, h("b", {}, moved));
}

function link(found, columns) {
  if (found.dataset.linked) return;
  found.dataset.linked = "yes";
  const light = (on) => () => {
    for (const column of columns) {
      for (const one of cardsOf(column, found.dataset.doc)) one.classList.toggle("lit", on);
    }
  };
  for (const event of ["pointerenter", "focusin"]) found.addEventListener(event, light(true));
  for (const event of ["pointerleave", "focusout"]) found.addEventListener(event, light(false));
}

const cardsOf = (column, id) => [...column.element.querySelectorAll(".card")].filter((one) => one.dataset.doc === id);
