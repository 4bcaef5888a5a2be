// A whole text with its passage scores as background; long texts are drawn in pieces to keep the page responsive.

import { h, showAt } from "./dom.js";
import { unitsOf } from "./codepoints.js";
import { stretches } from "./heat.js";
import { apart } from "./passage.js";

const CHUNK = 8192; // UTF-16 units, about
const SLICE = 8; // milliseconds of work before the browser handles events

/**
 * Show `text` in `container`.
 * strip: [[start, end, score]]; names: names of its passages; words: [[start, end]]; offsets in code points.
 * Returns {show(n), done}: show scrolls to the nth passage of the strip; done resolves when all text is drawn.
 */
export function heatText(container, { text, strip, names, words, scale }) {
  const unit = unitsOf(text);
  const passages = strip.map(([start, end]) => [unit(start), unit(end)]);
  const parts = stretches(strip).map((item) => ({ ...item, start: unit(item.start), end: unit(item.end) }));
  const marks = apart(words).map(([start, end]) => ({ from: start, to: end, start: unit(start), end: unit(end) }));
  const chunks = chunksOf(text, marks).map(([start, end]) => ({ start, end, element: h("div", { class: "chunk" }) }));
  const spans = [];
  let [nextChunk, nextMark, nextPart] = [0, 0, 0];
  container.replaceChildren(...chunks.map((item) => item.element));

  const colour = (parent, start, end) => {
    while (start < end) {
      while (nextPart < parts.length && parts[nextPart].end <= start) nextPart += 1;
      const part = parts[nextPart];
      const plain = Math.min(end, part?.start ?? end);
      if (plain > start) parent.append(text.slice(start, plain));
      if (plain === end) return;
      const from = Math.max(start, plain);
      start = Math.min(end, part.end);
      const node = h("span", { class: `heat h${scale.level(part.score)}` }, text.slice(from, start));
      spans.push({ start: from, end: start, node });
      parent.append(node);
    }
  };
  const fillNext = () => {
    const { element, start, end } = chunks[nextChunk++];
    let position = start;
    for (; nextMark < marks.length && marks[nextMark].start < end; nextMark += 1) {
      const item = marks[nextMark];
      colour(element, position, item.start);
      const mark = h("mark", { "data-start": item.from, "data-end": item.to });
      colour(mark, item.start, item.end);
      element.append(mark);
      position = item.end;
    }
    colour(element, position, end);
  };
  const fillAll = async () => {
    while (nextChunk < chunks.length && container.contains(chunks[0].element)) {
      const until = performance.now() + SLICE;
      while (nextChunk < chunks.length && performance.now() < until) fillNext();
      await new Promise((resume) => setTimeout(resume));
    }
  };
  const show = (n) => {
    const [start, end] = passages[n];
    while (nextChunk < chunks.length && chunks[nextChunk].start < end) fillNext();
    container.querySelectorAll(".begins, .ends").forEach((node) => node.classList.remove("begins", "ends"));
    const inside = spans.filter((item) => start <= item.start && item.end <= end);
    if (!inside.length) return;
    inside[0].node.dataset.name = names[n];
    inside[0].node.classList.add("begins");
    inside.at(-1).node.classList.add("ends");
    showAt(inside[0].node, "start");
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
