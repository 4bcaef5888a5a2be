// What is shown is in the address: #search?q=...&p=lexical&p=bm25&k=10, #document?id=...&in=lexical&at=120&q=...

/** Read the address: its view and the rest. */
export function route() {
  const [view, rest = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const given = new URLSearchParams(rest);
  const k = Number(given.get("k"));
  return {
    view: view || "search",
    query: given.get("q") ?? "",
    pipelines: [...new Set(given.getAll("p"))].slice(0, 3),
    k: Number.isInteger(k) && k >= 1 && k <= 100 ? k : 10,
    id: given.get("id"),
    text: given.has("text") ? Number(given.get("text")) : null,
    pipeline: given.get("in"),
    at: given.has("at") ? Number(given.get("at")) : null,
  };
}

/** The address of a search. */
export function searchHash({ query, pipelines, k }) {
  return `#search?${asked({ query, pipelines, k })}`;
}

/** The address of a document as one pipeline saw it, at the passage that begins with code point `at`. */
export function documentHash(search, id, pipeline, at = null) {
  const given = asked(search);
  given.append("id", id);
  given.append("in", pipeline);
  if (at !== null) given.append("at", at);
  return `#document?${given}`;
}

/** The address of a text of the last reranking: its place in the list that was given. */
export function textHash(index, at = null) {
  return `#document?text=${index}${at === null ? "" : `&at=${at}`}`;
}

function asked({ query, pipelines, k }) {
  const given = new URLSearchParams({ q: query });
  pipelines.forEach((name) => given.append("p", name));
  given.append("k", k);
  return given;
}
