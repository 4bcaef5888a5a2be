// The equal command line, and buttons that copy.

import { h, announce } from "./dom.js";

/** Make a line with a command and its button; long commands are shown shortened and copied whole. */
export function commandLine(command) {
  const button = copyButton("Copy command", () => command, "The command is in the clipboard.");
  const shown = command.length > 600 ? `${command.slice(0, 600)}…` : command;
  return h("div", { class: "command" }, h("code", {}, shown.replace(/\s+/g, " ")), button);
}

/** Make a button that copies textOf(); said: what is announced then. */
export function copyButton(label, textOf, said) {
  const button = h("button", { type: "button", class: "copy" }, label);
  button.addEventListener("click", async () => {
    const done = await copied(textOf());
    button.textContent = done ? "Copied" : "Copying failed";
    announce(done ? said : "The browser does not allow copying.");
    setTimeout(() => (button.textContent = label), 2000);
  });
  return button;
}

/** Copy text; the clipboard API needs https or localhost, elsewhere a selection is copied. */
async function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const area = h("textarea", { class: "unseen", "aria-hidden": "true", tabindex: -1 });
  area.value = text;
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}
