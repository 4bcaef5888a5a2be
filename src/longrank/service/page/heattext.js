// A whole document with its passage scores behind the text; long ones are made piece by piece, so that nothing freezes.

import { h, showAt } from "./dom.js";
import { unitsOf } from "./codepoints.js";
import { stretches } from "./heat.js";
import { apart } from "./passage.js";

const CHUNK = 8192; // UTF-16 units, about
const SLICE = 8; // milliseconds of work between two looks at what the user does

/**
 * Show `text` in `container`.
 * strip: [[start, end, score]]; names: of its passages; words: [[start, end]]; offsets in code points.
 * Returns {show(n), done}: show brings the nth passage of the strip to view; done: all text is there.
 */
export function heatText(container, { text, strip, names, words, scale }) {
  const unit = unitsOf(text);
  const passages = strip.map(([start, end]) => [unit(start), unit(end)]);
  const parts = stretches(strip).map((one) => ({ ...one, start: unit(one.start), end: unit(one.end) }));
  const marks = apart(words).map(([start, end]) => ({ from: start, to: end, start: unit(start), end: unit(end) }));
  const chunks = chunksOf(text, marks).map(([start, end]) => ({ start, end, element: h("div", { class: "chunk" }) }));
  const spans = [];
  let [nextChunk, nextMark, nextPart] = [0, 0, 0];
  container.replaceChildren(...chunks.map((one) => one.element));

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
      const one = marks[nextMark];
      colour(element, position, one.start);
      const mark = h("mark", { "data-start": one.from, "data-end": one.to });
      colour(mark, one.start, one.end);
      element.append(mark);
      position = one.end;
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
    const inside = spans.filter((one) => start <= one.start && one.end <= end);
    if (!inside.length) return;
    inside[0].node.dataset.name = names[n];
    inside[0].node.classList.add("begins");
    inside.at(-1).node.classList.add("ends");
    showAt(inside[0].node, "start");
  };
  return { show, done: fillAll() };
}

/** Cut a text behind line ends, if there are any, else behind blanks; never in a marked word or a character. */
function chunksOf(text, marks) {
  const found = [];
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
    found.push([start, end]);
  }
  return found;
}
