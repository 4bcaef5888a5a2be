// Text inside nested elements: sentences hold words, words hold heat.

/**
 * Return paint(parent, start, end), which appends that part of `text`; calls go from the start of the text to its end.
 * layers: {ranges, make}, outermost first. ranges: {start, end} in UTF-16 units, in order, apart;
 * make(range, start, end): element for a range, or for the part of it that lies in the element around it.
 */
export function painter(text, layers) {
  const next = layers.map(() => 0);
  const paint = (parent, start, end, depth = 0) => {
    if (start >= end) return;
    if (depth === layers.length) return parent.append(text.slice(start, end));
    const { ranges, make } = layers[depth];
    let done = start;
    while (next[depth] < ranges.length && ranges[next[depth]].start < end) {
      const range = ranges[next[depth]];
      const [from, to] = [Math.max(done, range.start), Math.min(end, range.end)];
      if (from < to) {
        paint(parent, done, from, depth + 1);
        const element = make(range, from, to);
        parent.append(element);
        paint(element, from, to, depth + 1);
        done = to;
      }
      if (range.end > end) break; // goes on in the next element
      next[depth] += 1;
    }
    paint(parent, done, end, depth + 1);
  };
  return (parent, start, end) => paint(parent, start, end);
}
