// Numbers for people.

const grouped = new Intl.NumberFormat("en");

export const count = (n) => grouped.format(n);

/** A score with as many decimals as its size asks for. */
export function score(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3).replace("-", "−");
}

export const range = (start, end) => `${count(start)}–${count(end)}`;

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** How much of a document was read, in words. */
export function read({ n_passages: all, n_scored: scored, n_truncated: cut, n_characters: characters }) {
  const length = plural(characters, "character");
  if (!all) return `ranked without passages · ${length}`;
  const some = scored === all ? `all ${count(all)}` : `${count(scored)} of ${count(all)}`;
  const each = all === 1 ? "its one passage scored" : `${some} passages scored`;
  return `${each}${cut ? `, ${count(cut)} cut at the model’s length limit` : ""} · ${length}`;
}
