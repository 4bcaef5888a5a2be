// A row of buttons at a ranking: copy the link of the search, save the ranking as a file.

import { announce, h } from "./dom.js";
import { copyButton } from "./command.js";
import { csvOf } from "./csv.js";
import { written } from "./json.js";
import { markdownOf } from "./markdown.js";

const FORMATS = {
  JSON: { suffix: "json", type: "application/json", make: (ranking) => `${written(ranking, 2)}\n` },
  CSV: { suffix: "csv", type: "text/csv;charset=utf-8", make: csvOf },
  Markdown: { suffix: "md", type: "text/markdown;charset=utf-8", make: markdownOf },
};
const LONGEST = 60; // characters of the query in a file's name
const KEPT = 60_000; // milliseconds until a file's memory is freed; browsers read it after the click

/**
 * Make the row of a ranking {query, pipeline, unit, warnings, link?, results} in the shape of /search.
 * scale: of heat, which tells the passages that the page shows. Without a link, only files.
 */
export function shareRow(ranking, scale) {
  const formats = Object.entries(FORMATS).map(([name, format]) =>
    h("button", { type: "button", click: () => save(ranking, scale, format) }, name));
  const link = ranking.link && copyButton("Copy link", () => ranking.link, "The link is in the clipboard.");
  return h("div", { class: "share" }, link,
    h("div", { class: "save", role: "group", "aria-label": `Save results of ${ranking.pipeline} as` },
      h("span", { class: "quiet", "aria-hidden": "true" }, "Save as"), formats));
}

function save(ranking, scale, { suffix, type, make }) {
  const name = `${fileName(ranking)}.${suffix}`;
  const href = URL.createObjectURL(new Blob([make(ranking, scale)], { type }));
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEPT);
  announce(`Saving ${name}.`);
}

/** Return the name of a ranking's file, without suffix: letters and digits of any script, and hyphens. */
function fileName({ query, pipeline }) {
  const words = (text) => text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const asked = [...words(query).join("-")].slice(0, LONGEST).join("");
  return ["longrank", asked, ...words(pipeline)].filter(Boolean).join("-").toLowerCase();
}
