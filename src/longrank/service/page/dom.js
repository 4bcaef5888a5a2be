// Make elements. Text of documents, queries and servers becomes text nodes; nothing parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes by name (null and false are left out), then children: nodes or text. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Tell whether a key is pressed with Alt, Control or Meta, for the browser or the system. */
export const isModified = (event) => event.altKey || event.ctrlKey || event.metaKey;

export const byId = (id) => document.getElementById(id);

/** Announce a message to screen readers. */
export function announce(message) {
  byId("status").textContent = message;
}

/** Scroll to an element, smoothly unless the user prefers reduced motion. */
export function showAt(element, block) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block, behavior: still ? "auto" : "smooth" });
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
