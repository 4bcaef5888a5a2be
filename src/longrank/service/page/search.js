// The search view: a column per pipeline.

import { announce, byId, h } from "./dom.js";
import { search } from "./api.js";
import { card } from "./card.js";
import { commandLine } from "./command.js";
import { comparePlaces } from "./compare.js";
import { openFacets, showFacets, showFilters } from "./facets.js";
import { scaleOf } from "./heat.js";
import { showGrades } from "./judging.js";
import { legend } from "./legend.js";
import * as numbers from "./numbers.js";
import { scoreHelp } from "./scorehelp.js";
import { shareRow } from "./share.js";
import { cancelled, nothing, problem, waiting } from "./problem.js";
import { documentHash, route, searchHash } from "./route.js";

const MOST = 3;
const CANCELLED = "cancelled"; // reason of an aborted search that no other search replaces
let served = [];

/** Set up the form for the server's pipelines. */
export function openSearch(info) {
  served = info.pipelines.filter((item) => item.searches);
  byId("pipelines").append(h("div", { class: "choices" }, served.map(choice)));
  byId("pipelines").addEventListener("change", limit);
  openFacets(info.index);
  if (info.index.example) byId("example").append("For example: ", exampleLink(info.index.example));
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const { filter, facets } = route();
    const query = byId("query").value.trim();
    const hash = searchHash({ query, pipelines: chosen(), k: Number(byId("k").value), filter, facets });
    if (hash !== location.hash) return void (location.hash = hash);
    if (!byId("columns").querySelector("[aria-busy]")) shown = null; // search again, unless it is still searching
    showSearch(route());
  });
}

/** Show the search of the address. */
export function showSearch(state) {
  const usual = served.filter((item) => item.default).map((item) => item.name);
  const pipelines = state.pipelines.length ? state.pipelines : usual;
  byId("query").value = state.query;
  for (const box of boxes()) box.checked = pipelines.includes(box.value);
  const k = String(state.k);
  if (![...byId("k").options].some((item) => item.value === k)) byId("k").append(h("option", {}, k));
  byId("k").value = k;
  limit();
  showFilters({ ...state, pipelines });
  byId("example").hidden = Boolean(state.query.trim());
  document.title = state.query ? `${state.query} – LongRank` : "LongRank";
  if (!state.query.trim()) return byId("columns").replaceChildren(), byId("query").focus();
  return run({ ...state, pipelines });
}

let shown = null; // the search whose columns are shown, kept for the back button
let shownColumns = []; // {name, answer, element}
let running = new AbortController();

/** Let the next search of the shown address ask again, if a column's answer is not of the index with this digest. */
export function forgetOlder(digest) {
  if (shownColumns.some(({ answer }) => answer && answer.digest !== digest)) shown = null;
}

/** Search with the pipelines in turn; all at once could overload the server. A shown search only gets its newest grades. */
async function run(state) {
  const key = searchHash(state);
  const column = shownColumns.find(({ answer }) => answer);
  if (shown === key) return void (column && showGrades(column.element, state.query)); // the focus does not wait for them
  shown = key;
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const cancel = () => running.abort(CANCELLED);
  const columns = state.pipelines.map((name) => ({ name, answer: null, element: emptyColumn(name, cancel) }));
  shownColumns = columns;
  byId("columns").className = `columns of-${columns.length}`;
  byId("columns").replaceChildren(...columns.map((item) => item.element));
  for (const column of columns) if (!signal.aborted) await fill(column, columns, state, signal);
  if (signal.reason === CANCELLED) stop(columns, state);
}

/** Show that a search was cancelled in the columns that have no answer. */
function stop(columns, state) {
  shown = null;
  const open = columns.filter((item) => !item.answer && item.element.hasAttribute("aria-busy"));
  for (const { name, element } of open) {
    element.replaceChildren(headOf(name), cancelled(() => run(state)));
    element.removeAttribute("aria-busy");
  }
  open[0]?.element.querySelector("button").focus();
}

function emptyColumn(name, cancel) {
  const label = `Results of ${name}`;
  return h("section", { class: "column", "data-pipeline": name, "aria-label": label, "aria-busy": "true" },
    headOf(name), waiting("Searching …", cancel));
}

async function fill(column, columns, state, signal) {
  const head = headOf(column.name);
  const busy = column.element.querySelector(".waiting") ?? waiting("Searching …", () => running.abort(CANCELLED));
  column.element.replaceChildren(head, busy);
  try {
    const answer = await search({ ...state, pipeline: column.name }, signal);
    column.answer = answer;
    const count = numbers.plural(answer.results.length, "document");
    head.append(h("p", { class: "quiet took" }, `${count} in ${numbers.duration(answer.took_ms)}`));
    column.element.replaceChildren(head, ...content(answer, state, columns.length));
    showFacets(state, answer.facets);
    comparePlaces(columns);
    await showGrades(column.element, state.query);
    announceAll(columns, state);
  } catch (error) {
    if (signal.aborted) return;
    shown = null;
    const again = () => (error.status === 401 ? run(state) : fill(column, columns, state, signal));
    column.element.replaceChildren(head, problem(error, again));
  }
  column.element.removeAttribute("aria-busy");
}

function content(answer, state, n) {
  const strips = answer.results.map((item) => item.strip);
  const scale = scaleOf(strips, answer.unit);
  const cards = answer.results.map((result) => card(result, {
    scale, scores: scoresOf(result, answer.unit), shown: n > 1 ? 1 : 3,
    href: (at) => documentHash(state, result.doc_id, answer.pipeline, at),
  }));
  return [
    commandLine(answer.command),
    ...(cards.length ? [shareRow(rankingOf(answer, state), scale)] : []),
    ...answer.warnings.map((item) => h("p", { class: "warning" }, item)),
    ...(strips.some((item) => item.length) ? [legend(scale, "this ranking")] : []),
    ...(cards.length ? [scoreHelp(answer, served.find((item) => item.name === answer.pipeline))] : []),
    cards.length ? h("ol", { class: "results" }, cards) : noResults(state),
  ];
}

/** Return an answer without what differs from request to request, with the link of its search. */
function rankingOf({ request_id, took_ms, facets, ...answer }, state) {
  return { link: new URL(searchHash(state), document.baseURI).href, ...answer };
}

function noResults({ filter }) {
  const which = filter ? "No document that matches the filter" : "No document";
  return nothing("Nothing found.", `${which} was found for the query.`);
}

function exampleLink(query) {
  const pipelines = served.filter((item) => item.default).map((item) => item.name);
  return h("a", { href: searchHash({ query, pipelines, k: 10 }), dir: "auto" }, query);
}

/** Return the final score, then its parts. */
export function scoresOf(result, unit) {
  const passages = result.aggregate === null ? [] : [[`passages, ${unit}`, result.aggregate]];
  return [["score", result.score], ["first stage", result.first_stage], ...passages];
}

function headOf(name) {
  const { first_stage: first, scorer, aggregator, model } = served.find((item) => item.name === name) ?? {};
  const made = [first, scorer, model, aggregator].filter(Boolean).join(" → ");
  return h("header", { class: "column-head" }, h("h2", {}, name), made && h("p", { class: "quiet made" }, made));
}

function announceAll(columns, state) {
  const ready = columns.filter((item) => item.answer);
  const count = ready.map(({ name, answer }) => `${name}: ${numbers.plural(answer.results.length, "document")}`);
  announce(`Results for “${state.query}”. ${count.join(", ")}.`);
}

function choice(item, n) {
  const about = item.about && h("span", { class: "quiet", id: `about-${n}` }, item.about);
  const box = h("input", { type: "checkbox", name: "p", value: item.name, "aria-describedby": about && about.id });
  return h("div", { class: "option" }, h("label", { class: "choice" }, box, h("span", {}, item.name)), about);
}

const boxes = () => [...byId("pipelines").querySelectorAll("input")];
const chosen = () => boxes().filter((box) => box.checked).map((box) => box.value);

/** Allow one to three pipelines. */
function limit() {
  const n = chosen().length;
  for (const box of boxes()) box.disabled = box.checked ? n === 1 : n === MOST;
}
