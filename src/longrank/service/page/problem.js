// Notices in place of an answer: waiting, and errors with a remedy.

import { h, announce } from "./dom.js";
import { hasKey, useKey } from "./api.js";

/** Make a waiting notice with the elapsed time; cancel(): stops the work; null: it cannot be stopped. */
export function waiting(what, cancel = null) {
  const began = performance.now();
  const elapsed = h("span", { class: "elapsed", role: "timer" });
  const timer = setInterval(() => {
    if (!elapsed.isConnected) return clearInterval(timer);
    elapsed.textContent = `${Math.round((performance.now() - began) / 1000)} s`;
  }, 1000);
  return h("div", { class: "waiting" }, h("span", { class: "pulse", "aria-hidden": "true" }), what, elapsed,
    cancel && h("button", { type: "button", click: cancel }, "Cancel"));
}

/** Make the notice of work that the user cancelled. */
export function cancelled(retry) {
  announce("Cancelled.");
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, "Cancelled.")),
    h("button", { type: "button", click: retry }, "Try again"));
}

/** Make the notice of a ServerError; retry() repeats the request. */
export function problem(error, retry) {
  announce(error.message);
  if (error.status === 401) return keyForm(retry);
  const again = [0, 408, 429, 499].includes(error.status) || error.status >= 500;
  const later = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
  const request = error.requestId && ` · request ${error.requestId}`;
  return h("div", { class: "notice problem" },
    h("p", {}, h("strong", {}, TITLES[error.code] ?? "No answer."), " ", sentence(error.message), later),
    error.status > 0 && h("p", { class: "quiet" }, `${error.status} ${error.code}${request}`),
    again && h("button", { type: "button", click: retry }, "Try again"));
}

/** Make a notice without an error. */
export function nothing(title, message) {
  return h("div", { class: "notice" }, h("p", {}, h("strong", {}, title), " ", message));
}

const sentence = (message) => (/[.!?]$/.test(message) ? message : `${message}.`);

const TITLES = {
  offline: "No connection.", not_ready: "Not ready.", stopping: "Stopping.", overloaded: "Overloaded.",
  deadline: "Deadline passed.", graded: "Graded elsewhere.", too_large: "Too large.", not_found: "Not found.", invalid: "Invalid request.",
};

function keyForm(retry) {
  const input = h("input", { id: `key-${(keys += 1)}`, type: "password", autocomplete: "off", required: true });
  const submit = (event) => {
    event.preventDefault();
    useKey(input.value);
    retry();
  };
  return h("form", { class: "notice key", submit },
    h("p", {}, h("strong", {}, hasKey() ? "This key was refused." : "This server needs an API key."),
      " It is kept until this tab is closed, and sent to this server only."),
    h("label", { for: input.id }, "API key"),
    h("div", { class: "field" }, input, h("button", { class: "primary", type: "submit" }, "Use key")));
}

let keys = 0;
