// Texts of one's own, ranked: a form, the ranking with its evidence, and the curl command for it.

import { announce, byId, h } from "./dom.js";
import { address, ask, hasKey } from "./api.js";
import { card } from "./card.js";
import { commandLine } from "./command.js";
import { lengthOf } from "./codepoints.js";
import { scaleOf } from "./heat.js";
import { nothing, problem, waiting } from "./problem.js";
import { textHash } from "./route.js";
import { watchFiles } from "./files.js";

const PASSAGES = 100; // of each document: as many as a server gives
let last = null; // the last ranking: {texts, results, unit, warnings}
let files = null;

/** Set the form up for what the server serves. */
export function openRerank(info) {
  const able = info.pipelines.filter((one) => one.reranks);
  byId("rerank-pipeline").append(...able.map((one) => h("option", { value: one.name }, one.name)));
  files = watchFiles(byId("rerank-form"), byId("pick"), byId("files"));
  byId("rerank-form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  const none = nothing("Nothing to rerank with.", "No pipeline of this server scores passages.");
  if (!able.length) byId("view-rerank").replaceChildren(none);
}

export function showRerank() {
  document.title = "Rerank texts – LongRank";
  if (!last) byId("rerank-query").focus();
}

async function run() {
  const texts = [...pieces(byId("texts").value), ...files.texts()];
  const into = byId("ranking");
  if (!texts.length) return into.replaceChildren(nothing("No documents.", "Paste some above, or add files."));
  const body = {
    model: byId("rerank-pipeline").value, query: byId("rerank-query").value.trim(),
    documents: texts.map((one) => one.text), evidence: true, passages: PASSAGES,
  };
  into.setAttribute("aria-busy", "true");
  into.replaceChildren(waiting("Ranking …"));
  try {
    show(into, texts, body, await ask("v2/rerank", body));
  } catch (error) {
    into.replaceChildren(problem(error, run));
  }
  into.removeAttribute("aria-busy");
}

function show(into, texts, body, answer) {
  const results = answer.results.map((one, n) => asResult(one, n, texts[one.index]));
  const unit = answer.results[0].evidence.unit;
  const scale = scaleOf(results.map((one) => one.strip));
  last = { texts, results, unit, warnings: answer.meta?.warnings ?? [] };
  const cardOf = (one) => card(one, { scale, scores: scoresOf(one, unit), href: (at) => textHash(one.index, at) });
  into.replaceChildren(h("section", { class: "column", "aria-label": "Ranking" },
    commandLine(curl(body)),
    ...last.warnings.map((one) => h("p", { class: "warning" }, one)),
    h("ol", { class: "results" }, results.map(cardOf))));
  announce(`${results.length} documents ranked.`);
  into.scrollIntoView({ block: "start" });
}

/** A result of /v2/rerank as one of /search, so that both are shown alike. */
function asResult(one, n, { name, text }) {
  const strip = one.passages.map(({ start, end, score }) => [start, end, score]);
  return {
    ...one.evidence, rank: n + 1, index: one.index, doc_id: nameOf(one.index), title: name,
    score: one.relevance_score, aggregate: one.aggregate, passages: one.passages, n_characters: lengthOf(text),
    strip: strip.sort((a, b) => a[0] - b[0] || a[1] - b[1]),
  };
}

/** What a text is called that has no name: its place in the list that was given. */
export const nameOf = (index) => `text ${index + 1}`;

const scoresOf = (one, unit) => [["relevance", one.score], [`${one.aggregator}, ${unit}`, one.aggregate]];

/** A text of the last ranking, as document.js shows it; null if it is gone. */
export function fromTexts({ text: index }) {
  const result = last?.results.find((one) => one.index === index);
  if (!result) return null;
  const { unit, warnings, texts } = last;
  return {
    id: result.doc_id, title: result.title, text: texts[index].text, result, unit, warnings,
    back: ["#rerank", "Ranking"], others: [], scores: scoresOf(result, unit), href: (at) => textHash(index, at),
  };
}

/** The documents of the text field, between lines of ---; each is called by its first line. */
function pieces(whole) {
  const found = whole.split(/^---[ \t]*$/m).map((one) => one.replace(/^\n|\n$/g, "")).filter((one) => one.trim());
  return found.map((text) => ({ name: text.trim().split("\n", 1)[0].slice(0, 80), text }));
}

function curl(body) {
  const key = hasKey() ? ' -H "Authorization: Bearer $LONGRANK_API_KEY"' : "";
  const head = `curl ${address("v2/rerank")} -H 'Content-Type: application/json'${key} --data-binary @-`;
  return `${head} <<'JSON'\n${JSON.stringify(body)}\nJSON`;
}
