// A ranking as Markdown: documents with quotes of the passages that the page shows, and their places.

import { valueText } from "./filters.js";
import * as numbers from "./numbers.js";
import { placesOf } from "./places.js";

/** Return a ranking; texts of documents, queries and names are escaped, so that none becomes markup. */
export function markdownOf(ranking, scale) {
  const { query, pipeline, index, unit, warnings, link, results } = ranking;
  const from = [`Pipeline ${line(pipeline)}`, index && `index ${line(index)}`, unit && `unit of passages ${line(unit)}`];
  return [
    `# ${line(query)}`,
    from.filter(Boolean).join(", "),
    ...(link ? [`<${link}>`] : []),
    ...warnings.map((item) => `Warning: ${line(item)}`),
    ...results.flatMap((result) => document(result, scale)),
  ].join("\n\n") + "\n";
}

function document(result, scale) {
  const fields = Object.entries(result.metadata ?? {}).map(([name, value]) => `${name}: ${valueText(value)}`);
  const about = [result.title && result.doc_id, `score ${numbers.score(result.score)}`, ...fields].filter(Boolean);
  const quotes = placesOf(result, scale).flatMap((place) => [quote(place.text), `— ${line(source(place, result))}`]);
  return [`## ${result.rank}. ${line(result.title || result.doc_id)}`, line(about.join(" · ")), ...quotes];
}

/** Return file and page, else the document's name, and the passage's offsets and score. */
function source({ place, start, end, score }, { title, doc_id }) {
  const where = place ?? (title || doc_id);
  return `${where}, characters ${numbers.range(start, end)}, score ${numbers.score(score)}`;
}

const quote = (text) => text.trim().split(/\r\n|[\n\r]/).map((item) => `> ${escaped(item)}`.trimEnd()).join("\n");
const line = (text) => escaped(text.replace(/\s+/g, " "));

/**
 * Return a line of text with everything escaped that CommonMark, GitHub's dialect or a browser could read as markup.
 * Control characters, which no text shows, become U+FFFD; so do those that turn the direction of a line.
 */
function escaped(text) {
  return text.trim().replace(/\s/g, " ")
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")
    .replace(/[\\`*_{}[\]<>#|~&$!]/g, "\\$&")
    .replace(/^([-+=:])/, "\\$1").replace(/^(\d+)([.)])/, "$1\\$2")
    .replace(/:(?=\/\/)/g, "\\:").replace(/\b(www)\./gi, "$1\\.").replace(/\b(mailto|xmpp):/gi, "$1\\:");
}
