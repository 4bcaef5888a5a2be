// The address holds the state of the page: #search?q=...&p=lexical&p=bm25&k=10&filter={...}&facet=year,
// #document?id=...&in=lexical&at=120&q=..., #label?topic=...

/** Parse the address. */
export function route() {
  const [view, rest = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const params = new URLSearchParams(rest);
  const k = Number(params.get("k"));
  return {
    view: view || "search",
    query: params.get("q") ?? "",
    pipelines: [...new Set(params.getAll("p"))].slice(0, 3),
    k: Number.isInteger(k) && k >= 1 && k <= 100 ? k : 10,
    filter: params.get("filter") ?? "",
    facets: [...new Set(params.getAll("facet"))].slice(0, 20),
    id: params.get("id"),
    topic: params.get("topic"),
    text: params.has("text") ? Number(params.get("text")) : null,
    pipeline: params.get("in"),
    at: params.has("at") ? Number(params.get("at")) : null,
  };
}

/** Return the address of a search {query, pipelines, k, filter?, facets?}. */
export function searchHash(search) {
  return `#search?${searchParams(search)}`;
}

/** Return the address of a document with a pipeline's evidence, at the passage that starts at code point `at`. */
export function documentHash(search, id, pipeline, at = null) {
  const params = searchParams(search);
  params.append("id", id);
  params.append("in", pipeline);
  if (at !== null) params.append("at", at);
  return `#document?${params}`;
}

/** Return the address of the judging of a topic. */
export function labelHash(topic) {
  return `#label?${new URLSearchParams({ topic })}`;
}

/** Return the address of a text of the last reranking, by its number. */
export function textHash(index, at = null) {
  return `#document?text=${index}${at === null ? "" : `&at=${at}`}`;
}

function searchParams({ query, pipelines, k, filter = "", facets = [] }) {
  const params = new URLSearchParams({ q: query });
  pipelines.forEach((name) => params.append("p", name));
  params.append("k", k);
  if (filter) params.append("filter", filter);
  facets.forEach((name) => params.append("facet", name));
  return params;
}
