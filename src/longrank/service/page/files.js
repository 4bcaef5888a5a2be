// Text files as documents: chosen or dropped, listed and removed.

import { announce, h } from "./dom.js";
import { plural } from "./numbers.js";

/** Take files from `input` and files dropped on `area`; show them in `list`. Returns {texts()}. */
export function watchFiles(area, input, list) {
  const held = [];
  const draw = () => {
    list.replaceChildren(...held.map((item) => h("li", {},
      h("span", { dir: "auto" }, item.name), h("span", { class: "quiet" }, plural(item.text.length, "character")),
      h("button", { type: "button", "aria-label": `Remove ${item.name}`, click: () => remove(item) }, "Remove"))));
  };
  const remove = (item) => {
    held.splice(held.indexOf(item), 1);
    draw();
    announce(`${item.name} removed.`);
    input.focus();
  };
  const add = async (files) => {
    for (const file of files) held.push({ name: file.name, text: await file.text() });
    draw();
    announce(`${plural(held.length, "file")} added.`);
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
