// Offsets of the server count Unicode code points; JavaScript's strings count UTF-16 units.

/** Return a function from offsets of `text` in code points to offsets in UTF-16 units. */
export function unitsOf(text) {
  const above = []; // offsets of code points with two units
  if (/[\ud800-\udbff]/.test(text)) {
    let n = 0;
    for (const character of text) {
      if (character.length === 2) above.push(n);
      n += 1;
    }
  }
  return (offset) => offset + countBelow(above, offset);
}

/** Return the number of code points of `text`. */
export function lengthOf(text) {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** Return how many of the ascending numbers are below `limit`. */
function countBelow(numbers, limit) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
