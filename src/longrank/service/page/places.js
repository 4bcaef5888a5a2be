// The places of a document: parts around its best passages, apart from each other, and their best sentences.

import { apart } from "./passage.js";

/** Return the shown passages of a result that have heat, best first; if none has heat, the best passage. */
export function placesOf({ passages }, scale) {
  const warm = passages.filter((item) => scale.part(item.score) > 0);
  return warm.length ? warm : passages.slice(0, 1);
}

/** Return the index of the best passage of a place in a strip, or -1: a place may join passages that overlap. */
export function bestOf(strip, { start, end, score }) {
  return strip.findIndex(([from, to, value]) => start <= from && to <= end && value === score);
}

/** Return the best sentences [start, end] of all places. */
export const sentencesOf = (places) => apart(places.flatMap((item) => item.highlights ?? []));
