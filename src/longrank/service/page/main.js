// The page: asks the server what it serves, then shows what the address says.

import { announce, byId, h } from "./dom.js";
import { ask } from "./api.js";
import { fromSearch, openDocuments, showDocument, showPassage } from "./document.js";
import { plural } from "./numbers.js";
import { problem, waiting } from "./problem.js";
import { fromTexts, nameOf, openRerank, showRerank } from "./rerank.js";
import { route } from "./route.js";
import { openSearch, showSearch } from "./search.js";

const PATIENCE = 1000; // milliseconds between two questions whether the models are loaded
const VIEWS = ["search", "document", "rerank"];
let info = null;
let before = null;

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
    await new Promise((resume) => setTimeout(resume, PATIENCE));
  }
}

function openAll() {
  const { index } = info;
  if (index) byId("served").append(h("b", { dir: "auto" }, index.name), ` ${plural(index.n_docs, "document")}`);
  byId("to-search").hidden = !index;
  if (index) openSearch(info);
  openRerank(info);
  openDocuments();
  addEventListener("hashchange", show);
}

async function show() {
  const asked = route();
  const ofTexts = asked.view === "rerank" || asked.text !== null;
  const gone = asked.text !== null && fromTexts(asked) === null;
  const view = gone || (!info.index && !ofTexts) ? "rerank" : VIEWS.includes(asked.view) ? asked.view : "search";
  for (const one of VIEWS) byId(`view-${one}`).hidden = one !== view;
  byId("to-search").setAttribute("aria-current", view === "search" ? "page" : "false");
  byId("to-rerank").setAttribute("aria-current", view === "rerank" ? "page" : "false");
  const from = before;
  before = { ...asked, view };
  const load = () => (asked.text !== null ? fromTexts(asked) : fromSearch(asked));
  if (view === "document") (sameDocument(from, asked) && showPassage(asked.at)) || (await showDocument(load, asked.at));
  else if (view === "rerank") showRerank();
  else await showSearch(asked);
  if (view !== "document" && from?.view === "document") returnTo(from);
}

function sameDocument(from, asked) {
  const what = ["id", "text", "pipeline", "query", "k"];
  return from?.view === "document" && what.every((name) => from[name] === asked[name]);
}

/** Go back to the title of the document that was read. */
function returnTo({ id, text, pipeline }) {
  const cards = [...document.querySelectorAll(".card")].filter((one) => one.checkVisibility());
  const same = cards.filter((one) => one.dataset.doc === (text === null ? id : nameOf(text)));
  const there = same.find((one) => one.closest(".column").dataset.pipeline === pipeline) ?? same[0];
  there?.scrollIntoView({ block: "center" });
  there?.querySelector("h3 a").focus({ preventScroll: true });
}

byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
start();
