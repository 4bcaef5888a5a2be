// The documents of a text field, separated by lines of ---.

const SEPARATOR = /^---[ \t]*$/m;
// Front matter: a line ---, lines "key: value" and their continuations, and a line ---.
const FRONT = /^---[ \t]*\n[A-Za-z_][\w-]*[ \t]*:.*\n(?:(?!---[ \t]*(?:\n|$)).*\n)*?---[ \t]*(?:\n|$)/;

/** Return the documents [{name, text}]; front matter stays with its text. Names are titles or first lines. */
export function piecesOf(whole) {
  const texts = [];
  for (let rest = whole; rest; ) {
    const front = FRONT.exec(rest)?.[0].length ?? 0;
    const found = SEPARATOR.exec(rest.slice(front));
    const end = found ? front + found.index : rest.length;
    texts.push(rest.slice(0, end));
    rest = found ? rest.slice(end + found[0].length).replace(/^\n/, "") : "";
  }
  return texts.map((text) => text.replace(/^\n|\n$/g, "")).filter((text) => text.trim())
    .map((text) => ({ name: nameOf(text), text }));
}

function nameOf(text) {
  const front = FRONT.exec(text)?.[0] ?? "";
  const title = /^title[ \t]*:[ \t]*(.+)$/m.exec(front)?.[1].replace(/^(["'])(.*)\1$/, "$2");
  return (title ?? (text.slice(front.length).trim() || text.trim()).split("\n", 1)[0]).slice(0, 80);
}
