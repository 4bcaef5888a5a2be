// Text files as documents: chosen or dropped, listed and removed. Files that are not UTF-8 text are refused.

import { lengthOf } from "./codepoints.js";
import { announce, h } from "./dom.js";
import { plural } from "./numbers.js";

/**
 * Take files from `input` and files dropped on `area`; show them in `list`, and refused files in `refused`.
 * changed() is called when the files change. Returns {texts()}.
 */
export function watchFiles(area, input, list, refused, changed) {
  const held = [];
  const draw = () => {
    list.replaceChildren(...held.map((item) => h("li", {},
      h("span", { dir: "auto" }, item.name), h("span", { class: "quiet" }, plural(lengthOf(item.text), "character")),
      h("button", { type: "button", "aria-label": `Remove ${item.name}`, click: () => remove(item) }, "Remove"))));
  };
  const remove = (item) => {
    held.splice(held.indexOf(item), 1);
    draw();
    announce(`${item.name} removed.`);
    input.focus();
    changed();
  };
  const add = async (files) => {
    const read = await Promise.all(files.map(async (file) => ({ name: file.name, text: await textOf(file) })));
    const good = read.filter((item) => item.text !== null);
    const bad = read.filter((item) => item.text === null);
    held.push(...good);
    draw();
    refused.replaceChildren(...bad.map(({ name }) => h("p", { class: "warning", dir: "auto" }, `${name} ${REFUSED}`)));
    announce([`${plural(good.length, "file")} added.`, ...bad.map(({ name }) => `${name} ${REFUSED}`)].join(" "));
    if (good.length) changed();
  };
  input.addEventListener("change", () => add([...input.files]).then(() => (input.value = "")));
  area.addEventListener("dragover", (event) => {
    event.preventDefault();
    area.classList.add("over");
  });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    add([...event.dataTransfer.files]);
  });
  return { texts: () => held.filter((item) => item.text.trim()) };
}

const REFUSED = "was not added: it is not UTF-8 text. PDF, Word and other documents can be searched in an index (longrank index).";

/** Return the text of a file; null if it is not UTF-8 text. */
async function textOf(file) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") || text.startsWith("%PDF-") ? null : text;
  } catch {
    return null;
  }
}
