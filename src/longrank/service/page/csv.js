// A ranking as CSV: a row for each passage that the page shows, for spreadsheets.

import { written } from "./json.js";
import { placesOf } from "./places.js";

const OF_RANKING = ["query", "pipeline"];
const OF_RESULT = ["rank", "doc_id", "title", "score", "first_stage", "aggregate"];
const OF_PASSAGE = ["place", "page", "index", "start", "end", "score", "text"];
const MARK = "\ufeff"; // without it, Excel does not read UTF-8

/** Return the rows of a ranking; documents without passages have one row. */
export function csvOf(ranking, scale) {
  const fields = [...new Set(ranking.results.flatMap(({ metadata }) => Object.keys(metadata ?? {})))];
  const named = (all) => all.map((name) => (["index", "score"].includes(name) ? `passage_${name}` : name));
  const head = [...OF_RANKING, ...OF_RESULT, ...fields.map((name) => `metadata.${name}`), ...named(OF_PASSAGE), "warnings"];
  const warnings = ranking.warnings.join("; ");
  const rows = ranking.results.flatMap((result) => {
    const places = placesOf(result, scale);
    const before = [...pick(ranking, OF_RANKING), ...pick(result, OF_RESULT), ...pick(result.metadata ?? {}, fields)];
    return (places.length ? places : [{}]).map((place) => [...before, ...pick(place, OF_PASSAGE), warnings]);
  });
  return MARK + [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

const pick = (from, names) => names.map((name) => (Object.hasOwn(from, name) ? from[name] : null) ?? "");

/** Return a cell; text that a spreadsheet would read as a formula begins with an apostrophe. */
function cell(value) {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  const text = typeof value === "string" ? value : written(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
