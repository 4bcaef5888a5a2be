// The legend of heat: its colours, its ends and its unit.

import { h } from "./dom.js";
import { LEVELS } from "./heat.js";
import * as numbers from "./numbers.js";

/** Make the legend of a scale (see scaleOf); whole: name of the results that share the scale. */
export function legend({ unit, zero, empty, full }, whole) {
  const ramp = Array.from({ length: LEVELS + 1 }, (_, n) => h("span", { class: `swatch s${n}` }));
  const none = zero ? "0 and below" : `the lowest score, because ${unit} has no zero`;
  const ends = `Full: the best passage of ${whole}. Empty: ${none}.`;
  const said = zero && full <= 0 ? `No passage of ${whole} scores above 0.` : ends;
  return h("p", { class: "legend" },
    h("span", { class: "extent" }, `Heat, ${unit} `, h("b", {}, numbers.score(empty)),
      h("span", { class: "ramp", "aria-hidden": "true" }, ramp), h("b", {}, numbers.score(Math.max(empty, full)))),
    h("span", { class: "quiet" }, said));
}
