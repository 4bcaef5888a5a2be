// A strip of passage scores along a document. It is one stop of the Tab key; arrow keys move between passages.

import { h, svg } from "./dom.js";
import { coarser, stretches } from "./heat.js";
import * as numbers from "./numbers.js";

const WIDTH = 1000;
const HEIGHT = 32;
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

/**
 * Draw passage scores along a document.
 * passages: [[start, end, score]] in order, in code points; length: length of the document; scale: see scaleOf;
 * names: names of the passages; go(n): shows passage n. Returns {element, select(n)}.
 */
export function drawStrip({ passages, length, scale, names, label, go }) {
  const best = passages.reduce((top, item, n) => (item[2] > passages[top][2] ? n : top), 0);
  const picture = svg("svg", {
    class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", tabindex: 0, role: "slider",
    "aria-label": label, "aria-valuemin": 1, "aria-valuemax": passages.length,
  });
  const cursor = svg("rect", { class: "cursor", y: 0, height: HEIGHT });
  const reading = h("p", { class: "reading" });
  const x = (offset) => ((WIDTH * offset) / Math.max(1, length)).toFixed(2);
  const parts = coarser(stretches(passages), length, WIDTH);
  const bars = parts.map((item) => {
    const height = 5 + (HEIGHT - 5) * scale.part(item.score);
    return svg("rect", {
      class: `bar s${scale.level(item.score)}`, "data-passage": item.passage, "data-score": item.score,
      x: x(item.start), width: (x(item.end) - x(item.start)).toFixed(2),
      y: (HEIGHT - height).toFixed(1), height: height.toFixed(1),
    });
  });
  picture.append(svg("rect", { class: "track", x: 0, y: 0, width: WIDTH, height: HEIGHT }), ...bars, cursor);

  let current = best;
  const show = (n, prefix = "") => {
    const [start, end, value] = passages[n];
    const where = `${names[n]} · characters ${numbers.range(start, end)} · `;
    reading.replaceChildren(prefix, where, h("b", {}, numbers.score(value)));
    cursor.setAttribute("x", x(start));
    cursor.setAttribute("width", Math.max(3, x(end) - x(start)));
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
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const target = { Home: 0, End: passages.length - 1 }[event.key] ?? current + (STEPS[event.key] ?? NaN);
    if (event.key === "Enter") go(current);
    else if (!Number.isNaN(target)) select(Math.max(0, Math.min(passages.length - 1, target)));
    else return;
    event.preventDefault();
  });
  select(best);
  return { element: h("div", { class: "strip-box" }, picture, reading), select };
}

/** Return the names of a strip's passages: the number in the document if known, else in the strip. */
export function namesOf({ strip, passages, n_passages: all }) {
  const known = new Map(passages.map((item) => [`${item.start} ${item.end}`, item.index]));
  return strip.map(([start, end], n) => {
    const index = strip.length === all ? n : known.get(`${start} ${end}`);
    return index === undefined ? `scored passage ${n + 1} of ${strip.length}` : `passage ${index}`;
  });
}
