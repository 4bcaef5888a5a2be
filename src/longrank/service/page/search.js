// The search view: one column for each pipeline, each with its own state.

import { announce, byId, h } from "./dom.js";
import { search } from "./api.js";
import { card } from "./card.js";
import { commandLine } from "./command.js";
import { comparePlaces } from "./compare.js";
import { scaleOf } from "./heat.js";
import * as numbers from "./numbers.js";
import { nothing, problem, waiting } from "./problem.js";
import { documentHash, route, searchHash } from "./route.js";

const MOST = 3;
let served = [];

/** Set the form up for what the server serves. */
export function openSearch(info) {
  served = info.pipelines.filter((one) => one.searches);
  byId("pipelines").append(h("div", { class: "choices" }, served.map(choice)));
  byId("pipelines").addEventListener("change", limit);
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = searchHash({ query: byId("query").value.trim(), pipelines: chosen(), k: Number(byId("k").value) });
    if (wanted === location.hash) showSearch(route()); // once more: an error may have gone
    else location.hash = wanted;
  });
}

/** Show what the address asks for. */
export function showSearch(asked) {
  const usual = served.filter((one) => one.default).map((one) => one.name);
  const pipelines = asked.pipelines.length ? asked.pipelines : usual;
  byId("query").value = asked.query;
  for (const box of boxes()) box.checked = pipelines.includes(box.value);
  const k = String(asked.k);
  if (![...byId("k").options].some((one) => one.value === k)) byId("k").append(h("option", {}, k));
  byId("k").value = k;
  limit();
  document.title = asked.query ? `${asked.query} – LongRank` : "LongRank";
  if (!asked.query.trim()) return byId("columns").replaceChildren(), byId("query").focus();
  return run({ ...asked, pipelines });
}

let shown = null; // the search whose columns are there: going back to them keeps them as they are
let running = new AbortController();

/** One pipeline after the other: a server that is asked for all at once may be asked for too much. */
async function run(asked) {
  const key = searchHash(asked);
  if (shown === key) return;
  shown = key;
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const columns = asked.pipelines.map((name) => ({ name, answer: null, element: emptyColumn(name) }));
  byId("columns").className = `columns of-${columns.length}`;
  byId("columns").replaceChildren(...columns.map((one) => one.element));
  for (const column of columns) if (!signal.aborted) await fill(column, columns, asked, signal);
}

function emptyColumn(name) {
  const label = `Results of ${name}`;
  return h("section", { class: "column", "data-pipeline": name, "aria-label": label, "aria-busy": "true" },
    headOf(name), waiting("Searching …"));
}

async function fill(column, columns, asked, signal) {
  const head = headOf(column.name);
  column.element.replaceChildren(head, waiting("Searching …"));
  try {
    const answer = await search({ query: asked.query, pipeline: column.name, k: asked.k }, signal);
    column.answer = answer;
    const found = numbers.plural(answer.results.length, "document");
    head.append(h("p", { class: "quiet took" }, `${found} in ${numbers.duration(answer.took_ms)}`));
    column.element.replaceChildren(head, ...answered(answer, asked, columns.length));
    comparePlaces(columns);
    announceAll(columns, asked);
  } catch (error) {
    if (signal.aborted) return;
    shown = null;
    const again = () => (error.status === 401 ? run(asked) : fill(column, columns, asked, signal));
    column.element.replaceChildren(head, problem(error, again));
  }
  column.element.removeAttribute("aria-busy");
}

function answered(answer, asked, n) {
  const scale = scaleOf(answer.results.map((one) => one.strip));
  const cards = answer.results.map((result) => card(result, {
    scale, scores: scoresOf(result, answer.unit), shown: n > 1 ? 1 : 3,
    href: (at) => documentHash(asked, result.doc_id, answer.pipeline, at),
  }));
  return [
    commandLine(answer.command),
    ...answer.warnings.map((one) => h("p", { class: "warning" }, one)),
    cards.length ? h("ol", { class: "results" }, cards) : NOTHING(),
  ];
}

const NOTHING = () => nothing("Nothing found.", "No document shares a term with the query.");

/** The final score first, then what it is made of. */
export function scoresOf(result, unit) {
  const passages = result.aggregate === null ? [] : [[`passages, ${unit}`, result.aggregate]];
  return [["score", result.score], ["first stage", result.first_stage], ...passages];
}

function headOf(name) {
  const { first_stage: first, scorer, aggregator, model } = served.find((one) => one.name === name) ?? {};
  const made = [first, scorer, model, aggregator].filter(Boolean).join(" → ");
  return h("header", { class: "column-head" }, h("h2", {}, name), made && h("p", { class: "quiet made" }, made));
}

function announceAll(columns, asked) {
  const ready = columns.filter((one) => one.answer);
  const found = ready.map(({ name, answer }) => `${name}: ${numbers.plural(answer.results.length, "document")}`);
  announce(`Results for “${asked.query}”. ${found.join(", ")}.`);
}

function choice(one) {
  const box = h("input", { type: "checkbox", name: "p", value: one.name });
  return h("label", { class: "choice" }, box, h("span", {}, one.name));
}

const boxes = () => [...byId("pipelines").querySelectorAll("input")];
const chosen = () => boxes().filter((box) => box.checked).map((box) => box.value);

/** One at least, three at most. */
function limit() {
  const n = chosen().length;
  for (const box of boxes()) box.disabled = box.checked ? n === 1 : n === MOST;
}
