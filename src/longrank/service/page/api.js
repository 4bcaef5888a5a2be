// Asking the server: JSON in, JSON out; whatever goes wrong is a ServerError with what the server says of it.

const KEY = "longrank-key";

export class ServerError extends Error {
  /** status: of HTTP, 0 where no answer came; code: the server's short name of the reason. */
  constructor(status, code, message, { requestId = "", retryAfter = null } = {}) {
    super(message);
    Object.assign(this, { status, code, requestId, retryAfter });
  }
}

/** Keep an API key until this tab is closed. */
export function useKey(key) {
  sessionStorage.setItem(KEY, key);
}

export const hasKey = () => sessionStorage.getItem(KEY) !== null;

/** Ask `path`, by POST if there is a body. Throws a ServerError, or an AbortError of `signal`. */
export async function ask(path, body, signal) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  if (hasKey()) headers.Authorization = `Bearer ${sessionStorage.getItem(KEY)}`;
  const method = body === undefined ? "GET" : "POST";
  let response;
  try {
    response = await fetch(address(path), { method, headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "offline", "The server cannot be reached.");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new ServerError(response.status, answer?.code ?? "unknown", answer?.message ?? response.statusText, {
    requestId: answer?.request_id ?? response.headers.get("X-Request-Id") ?? "",
    retryAfter: Number(response.headers.get("Retry-After")) || null,
  });
}

/** The address of `path` on this server, wherever the page is mounted. */
export function address(path) {
  return new URL(path, document.baseURI).href;
}

const REMEMBERED = 20;
const answers = new Map(); // of searches, so that going back does not compute anything again

/** Search with a pipeline; 20 passages of each document come with it, for the document's own view. */
export function search({ query, pipeline, k }, signal) {
  const body = { query, pipeline, k, passages: 20 };
  const key = JSON.stringify(body);
  if (!answers.has(key)) {
    answers.set(key, ask("search", body, signal));
    answers.get(key).catch(() => answers.delete(key));
    if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
  }
  return answers.get(key);
}
