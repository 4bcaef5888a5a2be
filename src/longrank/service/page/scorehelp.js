// An explanation of a ranking's scores, folded.

import { h } from "./dom.js";

/** Make the explanation for an answer of a pipeline of /info. */
export function scoreHelp({ unit }, { first_stage: first, aggregator } = {}) {
  const passages = `The model or rule of the pipeline scores each passage (unit: ${unit}); ${aggregator ?? "an aggregator"} makes one score of them.`;
  const terms = [
    ["score", unit === null ? "Orders the documents: the score of the first stage." : "Orders the documents. The pipeline makes it of the passages, and of the first stage where it mixes both."],
    ["first stage", `Score of ${first ?? "the first stage"} for the whole document. It finds the candidates.`],
    ...(unit === null ? [] : [["passages", passages], ["strip", "The document from start to end; the heat of a stretch shows the score of its best passage."]]),
  ];
  return h("details", { class: "explain" }, h("summary", {}, "About these scores"),
    h("dl", {}, terms.map(([name, meaning]) => h("div", {}, h("dt", {}, name), h("dd", {}, meaning)))));
}
