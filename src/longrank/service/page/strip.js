// A strip of passage scores along a document. It is one stop of the Tab key; arrow keys move between passages.

import { h, isModified, svg } from "./dom.js";
import { coarser, stretches } from "./heat.js";
import * as numbers from "./numbers.js";
import { bestOf } from "./places.js";

const MOST = 1000; // bars
const [TOP, HEIGHT] = [14, 44]; // pixels: numbers of places above, bars below
const NEAR = 4; // per cent of the width that a number needs
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

/**
 * Draw passage scores along a document.
 * passages: [[start, end, score]] in order, in code points; length: length of the document; scale: see scaleOf;
 * places: see placesOf; names: names of the passages; go(n): shows passage n.
 * Returns {element, select(n)}.
 */
export function drawStrip({ passages, places, length, scale, names, label, go }) {
  const tops = places.map((item) => Math.max(0, bestOf(passages, item)));
  const best = tops[0] ?? 0;
  const picture = svg("svg", {
    class: "strip", height: HEIGHT, tabindex: 0, role: "slider",
    "aria-label": label, "aria-valuemin": 1, "aria-valuemax": passages.length,
  });
  const share = (offset) => (100 * offset) / Math.max(1, length);
  const across = (start, end) => ({ x: percent(share(start)), width: percent(share(end) - share(start)) });
  const cursor = svg("rect", { class: "cursor", y: TOP, height: HEIGHT - TOP });
  const reading = h("p", { class: "reading" });
  const parts = coarser(stretches(passages), length, MOST);
  const warm = parts.filter((item) => scale.part(item.score) > 0);
  picture.append(svg("rect", { class: "track", y: TOP, width: "100%", height: HEIGHT - TOP }),
    ...warm.map((item) => bar(item, scale, across(item.start, item.end))), ...numbered(tops.map((n) => passages[n]), share), cursor);

  let current = best;
  const show = (n, prefix = "") => {
    const [start, end, value] = passages[n];
    const where = `${names[n]} · characters ${numbers.range(start, end)} · `;
    reading.replaceChildren(prefix, where, h("b", {}, numbers.score(value)));
    for (const [name, size] of Object.entries(across(start, end))) cursor.setAttribute(name, size);
    picture.setAttribute("aria-valuenow", n + 1);
    picture.setAttribute("aria-valuetext", `${names[n]}, characters ${start} to ${end}, score ${numbers.score(value)}`);
  };
  const select = (n) => show((current = n), n === best ? "best: " : "");
  const under = (event) => {
    const box = picture.getBoundingClientRect();
    const offset = ((event.clientX - box.left) / box.width) * length;
    return parts.find((item) => item.start <= offset && offset < item.end)?.passage;
  };
  picture.addEventListener("pointermove", (event) => {
    const n = under(event);
    if (n !== undefined) show(n);
  });
  picture.addEventListener("pointerleave", () => select(current));
  picture.addEventListener("click", (event) => {
    const n = under(event);
    if (n !== undefined) go(n);
  });
  picture.addEventListener("keydown", (event) => {
    if (isModified(event)) return;
    const target = { Home: 0, End: passages.length - 1 }[event.key] ?? current + (STEPS[event.key] ?? NaN);
    if (event.key === "Enter") go(current);
    else if (!Number.isNaN(target)) select(Math.max(0, Math.min(passages.length - 1, target)));
    else return;
    event.preventDefault();
  });
  select(best);
  return { element: h("div", { class: "strip-box" }, picture, reading), select };
}

function bar({ score, passage }, scale, across) {
  const height = 3 + (HEIGHT - TOP - 3) * scale.part(score);
  return svg("rect", {
    class: `bar s${scale.level(score)}`, "data-passage": passage, "data-score": score,
    ...across, y: (HEIGHT - height).toFixed(1), height: height.toFixed(1),
  });
}

/** Write the numbers of places above their best passages, from the best on, where there is room. */
function numbered(passages, share) {
  const taken = [];
  return passages.map(([start, end], n) => {
    const x = Math.min(99, Math.max(1, share((start + end) / 2)));
    if (taken.some((other) => Math.abs(other - x) < NEAR)) return null;
    taken.push(x);
    return svg("text", { class: n ? "number" : "number best-number", x: percent(x), y: TOP - 3 }, String(n + 1));
  }).filter(Boolean);
}

const percent = (share) => `${share.toFixed(2)}%`;

/** Return the names of a strip's passages: the number in the document if known, else in the strip. */
export function namesOf({ strip, passages, n_passages: all }) {
  const known = new Map(passages.map((item) => [bestOf(strip, item), item.index]));
  return strip.map((_, n) => {
    const index = strip.length === all ? n : known.get(n);
    return index === undefined ? `scored passage ${n + 1} of ${strip.length}` : `passage ${index}`;
  });
}
