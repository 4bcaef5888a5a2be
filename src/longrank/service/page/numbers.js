// Numbers in words and digits.

const grouped = new Intl.NumberFormat("en");

export const count = (n) => grouped.format(n);

/** Return a score with decimals that fit its size. */
export function score(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3).replace("-", "−");
}

export const range = (start, end) => `${count(start)}–${count(end)}`;

export const plural = (n, noun, nouns = `${noun}s`) => `${count(n)} ${n === 1 ? noun : nouns}`;

export const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** Describe the amount of a document that was read. */
export function read({ n_passages: all, n_scored: scored, n_truncated: cut, n_characters: characters }) {
  const length = plural(characters, "character");
  if (!all) return `ranked without passages · ${length}`;
  const some = scored === all ? `all ${count(all)}` : `${count(scored)} of ${count(all)}`;
  const each = all === 1 ? "1 passage scored" : `${some} passages scored`;
  return `${each}${cut ? `, ${count(cut)} cut at the model’s length limit` : ""} · ${length}`;
}
