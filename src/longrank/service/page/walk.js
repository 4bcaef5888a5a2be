// The sticky bar above a document: its strip, and steps between its places.

import { announce, h } from "./dom.js";
import * as numbers from "./numbers.js";
import { bestOf } from "./places.js";
import { drawStrip } from "./strip.js";

/**
 * Make the bar of a document {text, result, href} with its `places` and the `names` of its passages, on `scale`.
 * show({start, end}, name) scrolls to a passage or place.
 * Returns {element, step(by), goTo(at)}: step to the next place, or go to the place or passage that starts at code
 * point `at`; null: the best place.
 */
export function walkBar({ result, href }, { places, names, scale, show }) {
  const { strip } = result;
  const where = h("span", { class: "place-of" });
  const tops = places.map((item) => bestOf(strip, item));
  let rank = 0;
  const open = ({ start, end, score }, n) => {
    rank = Math.max(0, places.findIndex((item) => item.start < end && start < item.end)); // the best that it touches
    show({ start, end }, names[n]);
    picture.select(n);
    where.textContent = `${rank + 1} of ${places.length}`;
    announce(`${names[n]}, place ${rank + 1} of ${places.length}, score ${numbers.score(score)}`);
    history.replaceState(null, "", href(start));
  };
  const goPlace = (number) => open(places[number], Math.max(0, tops[number]));
  const go = (n) => {
    const [start, end, score] = strip[n];
    if (tops.includes(n)) goPlace(tops.indexOf(n));
    else open({ start, end, score }, n);
  };
  const picture = drawStrip({
    passages: strip, places, length: result.n_characters, scale, names, label: "Passage scores along the document", go,
  });
  const step = (by) => goPlace((rank + by + places.length) % places.length);
  const goTo = (at) => {
    const [number, n] = [places.findIndex((item) => item.start === at), strip.findIndex(([start]) => start === at)];
    if (number >= 0 || n < 0) goPlace(Math.max(0, number));
    else go(n);
  };
  return {
    element: h("div", { class: "walk", role: "group", "aria-label": "Passages" },
      stepButton("Previous best passage", "p", () => step(-1), "← ", words("Previous", "p")),
      picture.element,
      stepButton("Next best passage", "n", () => step(1), words("Next best", "n"), " →"),
      where),
    step, goTo,
  };
}

function stepButton(label, key, click, ...content) {
  return h("button", { type: "button", click, "aria-label": label, "aria-keyshortcuts": key }, ...content);
}

const words = (text, key) => h("span", { class: "words" }, `${text} `, h("kbd", {}, key));
