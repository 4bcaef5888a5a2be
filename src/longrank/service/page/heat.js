// Heat: the share of the scale that a passage's score fills, in colours of five levels; stretches without overlaps.

export const LEVELS = 5;
const NO_ZERO = /^log/; // logit, logit_diff and logprob: only differences have a meaning

/**
 * Return the scale of passage scores: from 0 to the highest score of `strips`; without a zero, from the lowest score.
 * part(score): heat from 0 (empty, also below 0) to 1; level(score): 0 for no heat, else 1 to LEVELS.
 */
export function scaleOf(strips, unit) {
  let [low, high] = [Infinity, -Infinity];
  for (const strip of strips) {
    for (const [, , score] of strip) {
      low = Math.min(low, score);
      high = Math.max(high, score);
    }
  }
  const zero = !NO_ZERO.test(unit ?? "");
  const empty = zero ? 0 : low;
  const alone = zero ? 0 : 1; // heat of scores that are all equal, or all below 0
  const part = (score) => (high > empty ? Math.max(0, (score - empty) / (high - empty)) : alone);
  return { unit, zero, empty, full: high, part, level: (score) => Math.ceil(part(score) * LEVELS) };
}

/**
 * Cut passages [start, end, score] at all starts and ends; a stretch has the highest score of its passages.
 * Returns [{start, end, score, passage}] in order; passage: index in `strip` of the passage with this score.
 */
export function stretches(strip) {
  const cuts = [...new Set(strip.flatMap(([start, end]) => [start, end]))].sort((a, b) => a - b);
  const byStart = strip.map((_, n) => n).sort((a, b) => strip[a][0] - strip[b][0]);
  const merged = [];
  let open = [];
  let next = 0;
  cuts.slice(0, -1).forEach((start, n) => {
    while (next < byStart.length && strip[byStart[next]][0] <= start) open.push(byStart[next++]);
    open = open.filter((passage) => strip[passage][1] > start);
    if (!open.length) return;
    const passage = open.reduce((best, item) => (strip[item][2] > strip[best][2] ? item : best));
    merged.push({ start, end: cuts[n + 1], score: strip[passage][2], passage });
  });
  return merged;
}

/** Merge stretches that start in the same cell of `length` to about `most` stretches, with their highest score. */
export function coarser(parts, length, most) {
  if (parts.length <= most) return parts;
  const merged = [];
  for (const item of parts) {
    const cell = Math.floor((item.start / length) * most);
    const last = merged.at(-1);
    if (last?.cell !== cell) merged.push({ ...item, cell });
    else if (item.score > last.score) Object.assign(last, item, { start: last.start, cell });
    else last.end = item.end;
  }
  return merged;
}
