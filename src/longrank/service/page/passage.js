// A passage as an excerpt: where it is, what it scored, a way to it, and its densest part, the query's words marked.

import { h } from "./dom.js";
import { unitsOf } from "./codepoints.js";
import * as numbers from "./numbers.js";

const NEAR = 30;

/**
 * Make an excerpt of a passage {index, start, end, score, contribution?, text, words}.
 * href: where it is in its document; length: how many characters are shown, about.
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

/** Some `length` UTF-16 units of the passage with <mark> around the query's words, whose offsets are the document's. */
function marked({ text, start, words }, length) {
  const unit = unitsOf(text);
  const marks = apart(words).map(([from, to]) => ({ from, to, a: unit(from - start), z: unit(to - start) }));
  const [first, last] = densest(text, marks, length);
  const nodes = [first > 0 && "… "];
  let done = first;
  for (const { from, to, a, z } of marks.filter((one) => first <= one.a && one.z <= last)) {
    nodes.push(text.slice(done, a), h("mark", { "data-start": from, "data-end": to }, text.slice(a, z)));
    done = z;
  }
  return [...nodes, text.slice(done, last), last < text.length && " …"];
}

/** The stretch of about `length` with the most different words of the query, between blanks where there are some. */
function densest(text, marks, length) {
  if (text.length <= length * 1.2) return [0, text.length];
  let best = { worth: -1, a: 0, z: 0 };
  marks.forEach((one, n) => {
    const within = marks.slice(n).filter((other) => other.z <= one.a + length * 0.8);
    const worth = new Set(within.map(({ a, z }) => text.slice(a, z).toLowerCase())).size + within.length / 1000;
    if (worth > best.worth) best = { worth, a: one.a, z: (within.at(-1) ?? one).z };
  });
  const room = Math.max(0, length - (best.z - best.a)) / 2;
  const first = Math.round(Math.max(0, Math.min(best.a - room, text.length - length)));
  return [Math.min(best.a, blank(text, first)), Math.max(best.z, blank(text, Math.min(text.length, first + length)))];
}

/** The place behind a blank that is nearest to `at`; `at` itself if none is near; never the middle of a character. */
function blank(text, at) {
  if (at === 0 || at === text.length) return at;
  const after = text.slice(at, at + NEAR).search(/\s/);
  const before = text.slice(Math.max(0, at - NEAR), at).search(/\s\S*$/);
  if (after >= 0) return at + after + 1;
  if (before >= 0) return Math.max(0, at - NEAR) + before + 1;
  return /[\udc00-\udfff]/.test(text[at]) ? at - 1 : at;
}

/** Ranges in order, without those that overlap an earlier one: passages overlap, and two terms may match one word. */
export function apart(ranges) {
  const found = [];
  for (const one of [...ranges].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    if (!found.length || found.at(-1)[1] <= one[0]) found.push(one);
  }
  return found;
}
