// The excerpt of a passage: offsets, scores, link, and its best sentence with the text around it.

import { h } from "./dom.js";
import { unitsOf } from "./codepoints.js";
import { painter } from "./layers.js";
import * as numbers from "./numbers.js";

const NEAR = 30;

/**
 * Make an excerpt of a passage {index, start, end, score, contribution?, parts?, place?, file?, text, words, highlights?}.
 * number: its rank in the document; href: its address; length: characters to show, about.
 */
export function excerpt(passage, number, scale, href, length) {
  const share = passage.contribution ?? null;
  const parts = Object.entries(passage.parts ?? {}).map(([name, value]) => ` · ${name} ${numbers.score(value)}`);
  return h("li", { class: "excerpt" },
    h("p", { class: "where" },
      h("span", { class: "rank-of", "aria-hidden": "true" }, String(number)),
      passage.place && [passage.file
        ? h("a", { href: passage.file, target: "_blank", rel: "noopener", dir: "auto" }, passage.place)
        : h("span", { dir: "auto" }, passage.place), " · "],
      h("a", { href, "data-start": passage.start }, `passage ${passage.index}`),
      ` · ${numbers.range(passage.start, passage.end)} · `,
      h("span", { class: `chip s${scale.level(passage.score)}`, "aria-hidden": "true" }),
      h("b", {}, numbers.score(passage.score)),
      share !== null && ` · contributes ${numbers.score(share)}`, ...parts),
    h("blockquote", { dir: "auto" }, quoteOf(passage, number, length)));
}

/** Return about `length` UTF-16 units of the passage around its best sentence, else around the query's words. */
export function quoteOf({ text, start, words, highlights = [] }, number, length) {
  const unit = unitsOf(text);
  const inUnits = ([from, to]) => ({ from, to, start: unit(from - start), end: unit(to - start) });
  const marks = apart(words).map(inUnits);
  const sentences = apart(highlights).map(inUnits);
  const centre = highlights.length ? inUnits(highlights[0]) : densest(text, marks, length);
  const [first, last] = around(text, centre, length);
  const quote = h("span", { class: "quote" });
  painter(text, [
    { ranges: sentences, make: () => h("strong", { class: number === 1 ? "answer here" : "answer" }) },
    { ranges: marks.filter((item) => first <= item.start && item.end <= last),
      make: ({ from, to }) => h("mark", { "data-start": from, "data-end": to }) },
  ])(quote, first, last);
  return [first > 0 && "… ", quote, last < text.length && " …"];
}

/** Return the stretch with the most different words of the query in about `length`. */
function densest(text, marks, length) {
  let best = { worth: -1, start: 0, end: 0 };
  marks.forEach((item, n) => {
    const within = marks.slice(n).filter((other) => other.end <= item.start + length * 0.8);
    const different = new Set(within.map(({ start, end }) => text.slice(start, end).toLowerCase()));
    const worth = different.size + within.length / 1000;
    if (worth > best.worth) best = { worth, start: item.start, end: (within.at(-1) ?? item).end };
  });
  return best;
}

/** Return [first, last]: about `length` of the text around a stretch, which stays whole, cut at blanks. */
function around(text, { start, end }, length) {
  if (text.length <= length * 1.2) return [0, text.length];
  const room = Math.max(0, length - (end - start)) / 2;
  const first = Math.round(Math.max(0, Math.min(start - room, text.length - length)));
  return [Math.min(start, blank(text, first)), Math.max(end, blank(text, Math.min(text.length, first + length)))];
}

/** Return the offset after the blank nearest to `at`, or `at` without a near blank; never inside a character. */
function blank(text, at) {
  if (at === 0 || at === text.length) return at;
  const after = text.slice(at, at + NEAR).search(/\s/);
  const before = text.slice(Math.max(0, at - NEAR), at).search(/\s\S*$/);
  if (after >= 0) return at + after + 1;
  if (before >= 0) return Math.max(0, at - NEAR) + before + 1;
  return /[\udc00-\udfff]/.test(text[at]) ? at - 1 : at;
}

/** Return sorted ranges without overlaps: passages overlap, and two terms may match the same word. */
export function apart(ranges) {
  const kept = [];
  for (const item of [...ranges].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    if (!kept.length || kept.at(-1)[1] <= item[0]) kept.push(item);
  }
  return kept;
}
