// The sticky bar above a document: strip, steps between the best passages, legend.

import { announce, h } from "./dom.js";
import { LEVELS } from "./heat.js";
import * as numbers from "./numbers.js";
import { drawStrip } from "./strip.js";

/**
 * Make the bar of a document {result, unit, href} with the `names` of its passages, coloured on `scale`.
 * show(n) scrolls to a passage; heat(on) turns colours on and off.
 * Returns {element, step(by), goTo(at)}: step by ranks of passages, or go to the passage that starts at code point `at`.
 */
export function walkBar({ result, unit, href }, { names, scale, show, heat }) {
  const { strip } = result;
  const order = strip.map((_, n) => n).sort((a, b) => strip[b][2] - strip[a][2] || a - b);
  const where = h("span", { class: "place-of" }, `– of ${strip.length}`);
  let rank = null;
  const go = (n) => {
    rank = order.indexOf(n);
    show(n);
    picture.select(n);
    where.textContent = `${rank + 1} of ${strip.length}`;
    announce(`${names[n]}, ${rank + 1} of ${strip.length} by score, ${numbers.score(strip[n][2])}`);
    history.replaceState(null, "", href(strip[n][0]));
  };
  const picture = drawStrip({
    passages: strip, length: result.n_characters, scale, names, label: "Passage scores along the document", go,
  });
  const step = (by) => {
    const from = rank ?? (by > 0 ? -1 : 0);
    go(order[(from + by + order.length) % order.length]);
  };
  const tools = h("div", { class: "walk-tools" },
    h("div", { class: "steps" },
      stepButton("← Previous", "Previous best passage", "p", () => step(-1)),
      where,
      stepButton("Next best →", "Next best passage", "n", () => step(1))),
    legend(scale, unit),
    heatSwitch(heat));
  return {
    element: h("div", { class: "walk", role: "group", "aria-label": "Passages" }, picture.element, tools),
    step,
    goTo: (at) => go(Math.max(0, strip.findIndex(([start]) => start === at))),
  };
}

function stepButton(text, label, key, click) {
  const attributes = { type: "button", click, "aria-label": label, "aria-keyshortcuts": key };
  return h("button", attributes, `${text} `, h("kbd", {}, key));
}

function heatSwitch(heat) {
  const box = h("input", { type: "checkbox", id: "heat", checked: true, change: () => heat(box.checked) });
  return h("label", { class: "toggle", for: "heat" }, box, "Heat");
}

function legend({ low, high }, unit) {
  const [least, most] = [numbers.score(low), numbers.score(high)];
  const ramp = Array.from({ length: LEVELS }, (_, n) => h("span", { class: `swatch h${n}` }));
  const said = `Colours of passage scores: pale is ${least}, strong is ${most}, in ${unit}`;
  return h("p", { class: "legend", role: "img", "aria-label": said },
    h("span", {}, least), h("span", { class: "ramp" }, ramp), h("span", {}, most), h("span", { class: "quiet" }, unit));
}
