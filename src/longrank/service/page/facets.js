// Facets: the values of chosen fields with their counts, as filters; and the filters in use.

import { byId, h } from "./dom.js";
import { conditionsOf, narrowed, placeOf, valueText, widened } from "./filters.js";
import { written } from "./json.js";
import { count, plural } from "./numbers.js";
import { searchHash } from "./route.js";

const FIRST = 6; // values of a facet; more are folded
let fields = []; // metadata fields of the index

/** Set up the choice of fields. */
export function openFacets(index) {
  fields = index.fields;
  byId("facet").addEventListener("change", () => {
    const { state } = shown;
    if (state && byId("facet").value) change({ facets: [...state.facets, byId("facet").value] }, "facet");
  });
}

const shown = { state: null };

/** Show the filters and the chosen fields of a search; the counts come with its answer. */
export function showFilters(state) {
  shown.state = state;
  byId("narrow").hidden = !state.query.trim() || (!fields.length && !state.filter);
  const left = fields.filter((name) => !state.facets.includes(name));
  byId("facet").replaceChildren(h("option", { value: "" }, "choose a field"),
    ...left.map((name) => h("option", { value: name }, name)));
  byId("facet").disabled = !left.length;
  byId("filters").replaceChildren(...chips(state));
  for (const item of [...byId("facets").children]) if (!state.facets.includes(item.dataset.field)) item.remove();
}

/** Show the counts {field: [{value, count}]} of an answer. */
export function showFacets(state, facets) {
  const unfolded = new Set([...byId("facets").querySelectorAll("details[open]")].map((item) => item.dataset.field));
  const focused = document.activeElement?.closest?.("#facets [data-value]")?.dataset.value;
  byId("facets").replaceChildren(...Object.entries(facets).map(([name, values]) => facet(state, name, values, unfolded)));
  if (focused === undefined) return;
  const same = [...byId("facets").querySelectorAll("[data-value]")].find((item) => item.dataset.value === focused);
  (same ?? byId("filters").querySelector("button"))?.focus();
}

function chips(state) {
  if (!state.filter) return [];
  const conditions = conditionsOf(state.filter);
  const made = conditions === null
    ? [chip(state.filter, () => change({ filter: "" }, "query"))]
    : conditions.map(([field, value], n) =>
      chip(`${field}: ${valueText(value)}`, () => change({ filter: widened(state.filter, n) }, "query")));
  const all = made.length > 1 && h("li", {}, h("button", { type: "button", class: "clear", click: () => change({ filter: "" }, "query") }, "Remove all filters"));
  return [...made, all].filter(Boolean);
}

function chip(text, click) {
  return h("li", {}, h("button", { type: "button", class: "chosen", "aria-label": `Remove the filter ${text}`, click },
    h("span", { dir: "auto" }, text), h("b", { "aria-hidden": "true" }, "×")));
}

function facet(state, name, values, unfolded) {
  const items = values.map(({ value, count: n }) => item(state, name, value, n));
  const more = items.length > FIRST && h("details", { "data-field": name, open: unfolded.has(name) },
    h("summary", {}, plural(items.length - FIRST, "more value")), h("ul", {}, items.slice(FIRST)));
  const remove = () => change({ facets: state.facets.filter((other) => other !== name) }, "facet");
  return h("section", { class: "facet", "data-field": name, "aria-label": `Values of ${name}` },
    h("div", { class: "facet-head" }, h("h2", { dir: "auto" }, name),
      h("button", { type: "button", "aria-label": `Close the field ${name}`, click: remove }, "×")),
    items.length ? h("ul", {}, items.slice(0, FIRST)) : h("p", { class: "quiet" }, "no value"), more);
}

/** Make the button of a value, which filters by it; a second press removes the filter. */
function item(state, field, value, n) {
  const at = placeOf(state.filter, field, value);
  const on = at >= 0;
  const click = () => change({ filter: on ? widened(state.filter, at) : narrowed(state.filter, field, value) });
  return h("li", {}, h("button", { type: "button", class: "value", "aria-pressed": String(on), click,
    "data-value": written([field, value]),
    "aria-label": `${field} ${valueText(value)}, ${plural(n, "document")}` },
  h("span", { dir: "auto" }, valueText(value) || "(empty)"), h("span", { class: "quiet" }, count(n))));
}

/** Go to the address of the search with changes; focus: id of the element that gets the focus. */
function change(changes, focus) {
  location.hash = searchHash({ ...shown.state, ...changes });
  if (focus) byId(focus).focus();
}
