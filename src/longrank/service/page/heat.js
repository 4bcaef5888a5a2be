// Passage scores as colours: a scale of nine levels, and stretches without overlaps.

export const LEVELS = 9;

/** Return the scale from the lowest to the highest passage score of `strips`. */
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
