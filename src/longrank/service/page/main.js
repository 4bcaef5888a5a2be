// The page: loads the server's /info, then shows the view of the address.

import { announce, byId, h } from "./dom.js";
import { ask } from "./api.js";
import { fromSearch, openDocuments, showDocument, showPassage } from "./document.js";
import { openJudging } from "./judging.js";
import { openLabel, showLabel } from "./label.js";
import { plural } from "./numbers.js";
import { problem, waiting } from "./problem.js";
import { fromTexts, nameOf, openRerank, showRerank } from "./rerank.js";
import { route } from "./route.js";
import { openSearch, showSearch } from "./search.js";

const RETRY = 1000; // milliseconds between requests of /ready
const VIEWS = ["search", "document", "rerank", "label"];
let info = null;
let before = null;
let visits = 0; // calls of show

async function start() {
  const notice = byId("notice");
  notice.replaceChildren(waiting("Connecting …"));
  try {
    await ready(notice);
    info = await ask("info");
  } catch (error) {
    notice.replaceChildren(problem(error, start));
    return;
  }
  notice.replaceChildren();
  openAll();
  show();
}

/** Wait until the models are loaded. */
async function ready(notice) {
  for (;;) {
    try {
      return await ask("ready");
    } catch (error) {
      if (error.code !== "not_ready") throw error;
      notice.replaceChildren(waiting("The server is loading its models …"));
      announce("The server is loading its models.");
    }
    await new Promise((resume) => setTimeout(resume, RETRY));
  }
}

function openAll() {
  const { index } = info;
  if (index) byId("served").append(h("b", { dir: "auto" }, index.name), index.n_docs === null ? "" : ` ${plural(index.n_docs, "document")}`);
  byId("to-search").hidden = !index;
  if (index) openSearch(info);
  openRerank(info);
  openDocuments();
  byId("to-label").hidden = !openJudging(info);
  openLabel();
  addEventListener("hashchange", show);
}

async function show() {
  const visit = ++visits;
  const isOld = () => visit !== visits; // another view, or another document, is shown by now
  const state = route();
  const ofTexts = state.view === "rerank" || state.text !== null;
  const gone = state.text !== null && fromTexts(state) === null;
  const known = VIEWS.includes(state.view) && (state.view !== "label" || info.judging);
  const view = gone || (!info.index && !ofTexts) ? "rerank" : known ? state.view : "search";
  for (const item of VIEWS) byId(`view-${item}`).hidden = item !== view;
  byId("to-search").setAttribute("aria-current", view === "search" ? "page" : "false");
  byId("to-label").setAttribute("aria-current", view === "label" ? "page" : "false");
  byId("to-rerank").setAttribute("aria-current", view === "rerank" ? "page" : "false");
  const from = before;
  before = { ...state, view };
  const load = () => (state.text !== null ? fromTexts(state) : fromSearch(state));
  if (view === "document") (sameDocument(from, state) && showPassage(state.at)) || (await showDocument(load, state.at, isOld));
  else if (view === "rerank") showRerank();
  else if (view === "label") await showLabel(state, isOld);
  else await showSearch(state);
  if (!isOld() && view !== "document" && from?.view === "document") returnTo(from);
}

function sameDocument(from, state) {
  const what = ["id", "text", "pipeline", "query", "k", "filter"];
  return from?.view === "document" && what.every((name) => from[name] === state[name]);
}

/** Return the focus to the title of the document that was open. */
function returnTo({ id, text, pipeline }) {
  const cards = [...document.querySelectorAll(".card")].filter((item) => item.checkVisibility());
  const same = cards.filter((item) => item.dataset.doc === (text === null ? id : nameOf(text)));
  const there = same.find((item) => item.closest(".column").dataset.pipeline === pipeline) ?? same[0];
  there?.scrollIntoView({ block: "center" });
  there?.querySelector("h3 a").focus({ preventScroll: true });
}

byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
start();
