// The excerpt of a passage: offsets, score, link, and its densest part with the query's words marked.

import { h } from "./dom.js";
import { unitsOf } from "./codepoints.js";
import * as numbers from "./numbers.js";

const NEAR = 30;

/**
 * Make an excerpt of a passage {index, start, end, score, contribution?, text, words}.
 * href: its address; length: characters to show, about.
 */
export function excerpt(passage, scale, href, length) {
  const share = passage.contribution ?? null;
  return h("li", { class: "excerpt" },
    h("p", { class: "where" },
      h("span", { class: `chip s${scale.level(passage.score)}`, "aria-hidden": "true" }),
      h("a", { href, "data-start": passage.start }, `passage ${passage.index}`),
      ` · ${numbers.range(passage.start, passage.end)} · `, h("b", {}, numbers.score(passage.score)),
      share !== null && ` · contributes ${numbers.score(share)}`),
    h("blockquote", { dir: "auto" }, marked(passage, length)));
}

/** Return about `length` UTF-16 units of the passage with <mark> around the query's words (offsets of the document). */
function marked({ text, start, words }, length) {
  const unit = unitsOf(text);
  const marks = apart(words).map(([from, to]) => ({ from, to, a: unit(from - start), z: unit(to - start) }));
  const [first, last] = densest(text, marks, length);
  const nodes = [first > 0 && "… "];
  let done = first;
  for (const { from, to, a, z } of marks.filter((item) => first <= item.a && item.z <= last)) {
    nodes.push(text.slice(done, a), h("mark", { "data-start": from, "data-end": to }, text.slice(a, z)));
    done = z;
  }
  return [...nodes, text.slice(done, last), last < text.length && " …"];
}

/** Return the stretch of about `length` with the most different words of the query, cut at blanks. */
function densest(text, marks, length) {
  if (text.length <= length * 1.2) return [0, text.length];
  let best = { worth: -1, a: 0, z: 0 };
  marks.forEach((item, n) => {
    const within = marks.slice(n).filter((other) => other.z <= item.a + length * 0.8);
    const worth = new Set(within.map(({ a, z }) => text.slice(a, z).toLowerCase())).size + within.length / 1000;
    if (worth > best.worth) best = { worth, a: item.a, z: (within.at(-1) ?? item).z };
  });
  const room = Math.max(0, length - (best.z - best.a)) / 2;
  const first = Math.round(Math.max(0, Math.min(best.a - room, text.length - length)));
  return [Math.min(best.a, blank(text, first)), Math.max(best.z, blank(text, Math.min(text.length, first + length)))];
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
