// A whole text with its passage scores as background; long texts are drawn in pieces to keep the page responsive.

import { h, showAt } from "./dom.js";
import { unitsOf } from "./codepoints.js";
import { stretches } from "./heat.js";
import { painter } from "./layers.js";
import { apart } from "./passage.js";

const CHUNK = 8192; // UTF-16 units, about
const SLICE = 8; // milliseconds of work before the browser handles events

/**
 * Show `text` in `container`.
 * strip: [[start, end, score]]; words, sentences: [[start, end]]; offsets in code points.
 * Returns {show({start, end}, name), done}: show scrolls to a passage or place; done resolves when all text is drawn.
 */
export function heatText(container, { text, strip, words, sentences, scale }) {
  const unit = unitsOf(text);
  const inUnits = ([from, to]) => ({ from, to, start: unit(from), end: unit(to) });
  const marks = apart(words).map(inUnits);
  const parts = stretches(strip).map((item) => ({ ...item, start: unit(item.start), end: unit(item.end) }));
  const [pieces, answers] = [[], []];
  const keep = (into, node, start, end) => {
    into.push({ node, start, end });
    return node;
  };
  const paint = painter(text, [
    { ranges: sentences.map(inUnits), make: (_, ...cut) => keep(answers, h("strong", { class: "answer" }), ...cut) },
    { ranges: marks, make: ({ from, to }) => h("mark", { "data-start": from, "data-end": to }) },
    { ranges: parts, make: ({ score }, ...cut) => {
      return keep(pieces, h("span", { class: `heat h${scale.level(score)}` }), ...cut);
    } },
  ]);
  const chunks = chunksOf(text, marks).map(([start, end]) => ({ start, end, element: h("div", { class: "chunk" }) }));
  let nextChunk = 0;
  container.replaceChildren(...chunks.map((item) => item.element));

  const fillNext = () => {
    const { element, start, end } = chunks[nextChunk++];
    paint(element, start, end);
  };
  const fillAll = async () => {
    while (nextChunk < chunks.length && container.contains(chunks[0].element)) {
      const until = performance.now() + SLICE;
      while (nextChunk < chunks.length && performance.now() < until) fillNext();
      await new Promise((resume) => setTimeout(resume));
    }
  };
  const show = (place, name) => {
    const [start, end] = [unit(place.start), unit(place.end)];
    while (nextChunk < chunks.length && chunks[nextChunk].start < end) fillNext();
    const shown = container.querySelectorAll(".begins, .ends, .here");
    shown.forEach((node) => node.classList.remove("begins", "ends", "here"));
    const within = (items) => items.filter((item) => start <= item.start && item.end <= end).map((item) => item.node);
    const [inside, best] = [within(pieces), within(answers)];
    if (!inside.length) return;
    inside[0].dataset.name = name;
    inside[0].classList.add("begins");
    inside.at(-1).classList.add("ends");
    best.forEach((node) => node.classList.add("here"));
    if (best.length) showAt(best[0], "center");
    else showAt(inside[0], "start");
  };
  return { show, done: fillAll() };
}

/** Cut a text after line ends, or else after blanks; never in a marked word or a character. */
function chunksOf(text, marks) {
  const chunks = [];
  let mark = 0;
  for (let start = 0, end; start < text.length; start = end) {
    end = start + CHUNK;
    if (end >= text.length) end = text.length;
    else {
      const cut = Math.max(text.lastIndexOf("\n", end - 1), start - 1) + 1;
      const blank = Math.max(text.lastIndexOf(" ", end - 1), start - 1) + 1;
      end = cut > start + CHUNK / 2 ? cut : blank > start + CHUNK / 2 ? blank : end;
      while (mark < marks.length && marks[mark].end <= end) mark += 1;
      if (mark < marks.length && marks[mark].start < end) end = marks[mark].end;
      if (/[\udc00-\udfff]/.test(text[end] ?? "")) end += 1;
    }
    chunks.push([start, end]);
  }
  return chunks;
}
