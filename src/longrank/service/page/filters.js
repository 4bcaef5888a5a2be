// Filters of a search: conditions {field: value} that must all hold, as the address and the server have them.

import { read, written } from "./json.js";

/** Return the parts of a filter as JSON text that must all hold: those of `$and`, or the filter itself. */
function partsOf(text) {
  const filter = parsed(text);
  const several = filter !== null && Object.keys(filter).join() === "$and" && Array.isArray(filter.$and);
  return several ? filter.$and : [filter];
}

/** Return the conditions [field, value] of a filter as JSON text; null if it is another filter, "" has none. */
export function conditionsOf(text) {
  if (!text) return [];
  const parts = partsOf(text);
  const simple = parts.every((part) => isObject(part) && Object.entries(part).every(isSimple));
  return simple ? parts.flatMap((part) => Object.entries(part)) : null;
}

/** Return the filter of conditions [field, value] as JSON text. */
export function filterOf(conditions) {
  const parts = conditions.map(([field, value]) => ({ [field]: value }));
  return parts.length === 0 ? "" : written(parts.length === 1 ? parts[0] : { $and: parts });
}

/** Return a filter with one condition more. */
export function narrowed(text, field, value) {
  const conditions = conditionsOf(text);
  if (conditions) return filterOf([...conditions, [field, value]]);
  return written({ $and: [...partsOf(text), { [field]: value }] });
}

/** Return the filter without its nth condition; of a filter with other conditions, too, without its nth part. */
export function widened(text, n) {
  const conditions = conditionsOf(text);
  if (conditions) return filterOf(conditions.toSpliced(n, 1));
  const parts = partsOf(text).toSpliced(n, 1);
  return written(parts.length === 1 ? parts[0] : { $and: parts });
}

/** Return the place of a condition in the filter, for `widened`; -1: it has none. Equal numbers may be a number and a BigInt. */
export function placeOf(text, field, value) {
  const conditions = conditionsOf(text) ?? partsOf(text).map((part) => Object.entries(part ?? {}).flat());
  return conditions.findIndex((condition) => written(condition) === written([field, value]));
}

/** Return a filter as a request has it; text that is not JSON stays text, and the server refuses it. */
export function requested(text) {
  try {
    return read(text);
  } catch {
    return text;
  }
}

/** Return a value as text: lists by commas, objects as JSON. */
export function valueText(value) {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "object" ? written(value) : String(value);
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isSimple = ([name, value]) => !name.startsWith("$") && ["string", "number", "bigint", "boolean"].includes(typeof value);

function parsed(text) {
  const value = requested(text);
  return isObject(value) ? value : null;
}
