// Text files that become documents: chosen or dropped, listed, taken away again.

import { announce, h } from "./dom.js";
import { plural } from "./numbers.js";

/** Take files from `input` and from what is dropped on `area`, listed in `list`. Returns {texts()}. */
export function watchFiles(area, input, list) {
  const held = [];
  const draw = () => {
    list.replaceChildren(...held.map((one) => h("li", {},
      h("span", { dir: "auto" }, one.name), h("span", { class: "quiet" }, plural(one.text.length, "character")),
      h("button", { type: "button", "aria-label": `Remove ${one.name}`, click: () => remove(one) }, "Remove"))));
  };
  const remove = (one) => {
    held.splice(held.indexOf(one), 1);
    draw();
    announce(`${one.name} removed.`);
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
  return { texts: () => held.filter((one) => one.text.trim()) };
}
