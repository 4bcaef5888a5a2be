// Passage scores as colours: a scale of nine levels, and overlapping passages as stretches that do not overlap.

export const LEVELS = 9;

/** The scale from the least to the greatest passage score of `strips`: all that is compared has the same. */
export function scaleOf(strips) {
  let low = Infinity;
  let high = -Infinity;
  for (const strip of strips) {
    for (const [, , score] of strip) {
      low = Math.min(low, score);
      high = Math.max(high, score);
    }
  }
  const part = (score) => (high > low ? (score - low) / (high - low) : 1);
  return { low, high, part, level: (score) => Math.min(LEVELS - 1, Math.floor(part(score) * LEVELS)) };
}

/**
 * Cut passages [start, end, score] where any begins or ends; a stretch has the highest score of those that cover it.
 * Returns [{start, end, score, passage}] in order, passage: the place in `strip` of the one with that score.
 */
export function stretches(strip) {
  const cuts = [...new Set(strip.flatMap(([start, end]) => [start, end]))].sort((a, b) => a - b);
  const byStart = strip.map((_, n) => n).sort((a, b) => strip[a][0] - strip[b][0]);
  const found = [];
  let open = [];
  let next = 0;
  cuts.slice(0, -1).forEach((start, n) => {
    while (next < byStart.length && strip[byStart[next]][0] <= start) open.push(byStart[next++]);
    open = open.filter((passage) => strip[passage][1] > start);
    if (!open.length) return;
    const passage = open.reduce((best, one) => (strip[one][2] > strip[best][2] ? one : best));
    found.push({ start, end: cuts[n + 1], score: strip[passage][2], passage });
  });
  return found;
}

/** At most about `most` stretches: those that begin in the same part of `length` become one, with the highest score. */
export function coarser(parts, length, most) {
  if (parts.length <= most) return parts;
  const found = [];
  for (const one of parts) {
    const cell = Math.floor((one.start / length) * most);
    const last = found.at(-1);
    if (last?.cell !== cell) found.push({ ...one, cell });
    else if (one.score > last.score) Object.assign(last, one, { start: last.start, cell });
    else last.end = one.end;
  }
  return found;
}
