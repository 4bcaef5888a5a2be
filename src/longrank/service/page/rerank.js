// The rerank view: a form, the ranking with its evidence, and the equal curl command.

import { announce, byId, h } from "./dom.js";
import { SECONDS, address, ask, hasKey } from "./api.js";
import { card } from "./card.js";
import { commandLine } from "./command.js";
import { lengthOf } from "./codepoints.js";
import { scaleOf } from "./heat.js";
import { legend } from "./legend.js";
import { piecesOf } from "./pieces.js";
import { cancelled, nothing, problem, waiting } from "./problem.js";
import { textHash } from "./route.js";
import { shareRow } from "./share.js";
import { watchFiles } from "./files.js";

const PASSAGES = 5; // per document; the server scores the sentences of each
let last = null; // the last ranking: {texts, results, unit, warnings}
let files = null;

/** Set up the form for the server's pipelines. */
export function openRerank(info) {
  const able = info.pipelines.filter((item) => item.reranks);
  byId("rerank-pipeline").append(...able.map((item) => h("option", { value: item.name }, item.name)));
  const about = () => byId("rerank-about").replaceChildren(able[byId("rerank-pipeline").selectedIndex]?.about ?? "");
  byId("rerank-pipeline").addEventListener("change", about);
  about();
  files = watchFiles(byId("rerank-form"), byId("pick"), byId("files"), byId("refused"), markOld);
  byId("rerank-form").addEventListener("input", markOld);
  byId("rerank-form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  const none = nothing("No pipeline.", "No pipeline of this server scores passages.");
  if (!able.length) byId("view-rerank").replaceChildren(none);
}

export function showRerank() {
  document.title = "Rerank texts – LongRank";
  if (!last) byId("rerank-query").focus();
}

/** Mark the shown ranking as older than the form. */
function markOld() {
  const into = byId("ranking");
  if (!into.querySelector(".results") || into.classList.contains("stale")) return;
  into.classList.add("stale");
  into.querySelector(".column").prepend(h("p", { class: "warning old" }, OLD));
  announce(OLD);
}

const OLD = "The form has changed since this ranking. Press Rank to rank again.";
let running = new AbortController();

/** Return the texts of the form, and the request for their ranking. */
function asked() {
  const texts = [...piecesOf(byId("texts").value), ...files.texts()];
  const body = {
    model: byId("rerank-pipeline").value, query: byId("rerank-query").value.trim(),
    documents: texts.map((item) => item.text), evidence: true, passages: PASSAGES, deadline: SECONDS,
  };
  return { texts, body };
}

async function run() {
  const { texts, body } = asked();
  const into = byId("ranking");
  if (!texts.length) return into.replaceChildren(nothing("No documents.", "Paste documents above, or add files."));
  into.setAttribute("aria-busy", "true");
  running.abort();
  running = new AbortController();
  const mine = running;
  into.classList.remove("stale");
  into.replaceChildren(waiting("Ranking …", () => mine.abort()));
  try {
    show(into, texts, body, await ask("v2/rerank", body, mine.signal));
    if (JSON.stringify(asked()) !== JSON.stringify({ texts, body })) markOld(); // the form has changed meanwhile
  } catch (error) {
    if (mine !== running) return; // another ranking has begun
    into.replaceChildren(mine.signal.aborted ? cancelled(run) : problem(error, run));
    if (mine.signal.aborted) into.querySelector("button").focus();
  }
  into.removeAttribute("aria-busy");
}

function show(into, texts, body, answer) {
  const results = answer.results.map((item, n) => asResult(item, n, texts[item.index]));
  const unit = answer.results[0].evidence.unit;
  const scale = scaleOf(results.map((item) => item.strip), unit);
  last = { texts, results, unit, warnings: answer.meta?.warnings ?? [] };
  const cardOf = (item) => card(item, { scale, scores: scoresOf(item, unit), href: (at) => textHash(item.index, at) });
  into.replaceChildren(h("section", { class: "column", "aria-label": "Ranking" },
    commandLine(curl(body)),
    shareRow({ query: body.query, pipeline: body.model, unit, warnings: last.warnings, results }, scale),
    ...last.warnings.map((item) => h("p", { class: "warning" }, item)),
    legend(scale, "this ranking"),
    h("ol", { class: "results" }, results.map(cardOf))));
  announce(`${results.length} documents ranked.`);
  into.scrollIntoView({ block: "start" });
}

/** Convert a result of /v2/rerank to the shape of /search. */
function asResult(item, n, { name, text }) {
  return {
    ...item.evidence, rank: n + 1, index: item.index, doc_id: nameOf(item.index), title: name,
    score: item.relevance_score, aggregate: item.aggregate, passages: item.passages, n_characters: lengthOf(text),
    strip: item.strip,
  };
}

/** Return the name of a text: its number in the list of texts. */
export const nameOf = (index) => `text ${index + 1}`;

/** Return the final score, then the aggregate of the passages; a document that a deadline left unread has none. */
function scoresOf(item, unit) {
  const passages = item.aggregate === null ? [] : [[`${item.aggregator}, ${unit}`, item.aggregate]];
  return [["relevance", item.score], ...passages];
}

/** Return a text of the last ranking for the document view; null if it is gone. */
export function fromTexts({ text: index }) {
  const result = last?.results.find((item) => item.index === index);
  if (!result) return null;
  const { unit, warnings, texts } = last;
  return {
    id: result.doc_id, title: result.title, text: texts[index].text, result, unit, warnings,
    back: ["#rerank", "Ranking"], others: [], scores: scoresOf(result, unit), href: (at) => textHash(index, at),
  };
}

function curl(body) {
  const key = hasKey() ? ' -H "Authorization: Bearer $LONGRANK_API_KEY"' : "";
  const head = `curl ${address("v2/rerank")} -H 'Content-Type: application/json'${key} --data-binary @-`;
  return `${head} <<'JSON'\n${JSON.stringify(body)}\nJSON`;
}
