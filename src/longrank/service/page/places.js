// The places of a document: its best passages that do not overlap, and their best sentences.

import { apart } from "./passage.js";

/**
 * Return the passages of a result, best first, without passages that overlap a better passage or have no heat.
 * If no passage has heat, the best passage is the only place.
 */
export function placesOf({ passages }, scale) {
  const places = [];
  for (const item of passages) {
    if (places.every((other) => other.end <= item.start || item.end <= other.start)) places.push(item);
  }
  const warm = places.filter((item) => scale.part(item.score) > 0);
  return warm.length ? warm : places.slice(0, 1);
}

/** Return the best sentences [start, end] of all places. */
export const sentencesOf = (places) => apart(places.flatMap((item) => item.highlights ?? []));
