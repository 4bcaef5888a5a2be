// Requests to the server: JSON in, JSON out; failures are a ServerError with the server's message.

import { requested } from "./filters.js";
import { read, written } from "./json.js";

const KEY = "longrank-key";

export class ServerError extends Error {
  /**
   * status: HTTP status, 0 without an answer; code: the server's short name of the reason.
   * grades: the newest grades, if a grade is refused because of them.
   */
  constructor(status, code, message, { requestId = "", retryAfter = null, grades = null } = {}) {
    super(message);
    Object.assign(this, { status, code, requestId, retryAfter, grades });
  }
}

/** Keep an API key until this tab is closed. */
export function useKey(key) {
  sessionStorage.setItem(KEY, key);
}

export const hasKey = () => sessionStorage.getItem(KEY) !== null;

/** Request `path`, with POST if there is a body. Throws a ServerError, or the reason of an aborted `signal`. */
export async function ask(path, body, signal) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  if (hasKey()) headers.Authorization = `Bearer ${sessionStorage.getItem(KEY)}`;
  const method = body === undefined ? "GET" : "POST";
  let response;
  try {
    response = await fetch(address(path), { method, headers, body: body && written(body), signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ServerError(0, "offline", "The server cannot be reached.");
  }
  const answer = await response.text().then(read).catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new ServerError(response.status, answer?.code ?? "unknown", answer?.message ?? response.statusText, {
    requestId: answer?.request_id ?? response.headers.get("X-Request-Id") ?? "",
    retryAfter: Number(response.headers.get("Retry-After")) || null,
    grades: answer?.grades ?? null,
  });
}

/** Return the URL of `path`, relative to the page. */
export function address(path) {
  return new URL(path, document.baseURI).href;
}

export const SECONDS = 25; // then the server answers with what it has read
const PASSAGES = 5; // per document; the server scores the sentences of each
const REMEMBERED = 20;

/** Return the digest of the index now; `before` if the server cannot tell. */
const digestNow = (before, signal) =>
  ask("info", undefined, signal).then(({ index }) => index.digest, (error) => {
    if (signal?.aborted) throw error;
    return before;
  });

const answers = new Map(); // of searches, for the back button

/**
 * Search with a pipeline; filter: JSON text, "" for none; facets: fields that are counted and shown.
 * digest: of the index now; undefined: the server is asked. An answer from another state of the index is not used again.
 * A store has no digest, null: its answers are used again only where the caller gives null, and checks them.
 */
export async function search({ query, pipeline, k, filter = "", facets = [] }, signal, digest) {
  const body = { query, pipeline, k, passages: PASSAGES, deadline: SECONDS };
  if (filter) body.filter = requested(filter);
  if (facets.length) Object.assign(body, { facets, show: facets });
  const key = written(body);
  const known = answers.get(key);
  if (known) {
    const { digest: before } = await known;
    const now = digest === undefined ? await digestNow(before, signal) : digest;
    const fits = before === now && (now !== null || digest === null);
    if (!fits && answers.get(key) === known) answers.delete(key);
  }
  if (!answers.has(key)) {
    const answer = ask("search", body, signal);
    const forget = () => answers.get(key) === answer && answers.delete(key);
    answers.set(key, answer);
    signal?.addEventListener("abort", forget); // at once: the next search may ask the same
    const keep = ({ partial }) => (partial ? forget() : signal?.removeEventListener("abort", forget));
    answer.then(keep, forget);
    if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
  }
  return answers.get(key);
}
