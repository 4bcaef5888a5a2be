// The API's reference, made from the server's own description of itself.

import { byId, h } from "./dom.js";

const shown = new Set(); // schemas that have their own table already

/** What `$ref` names, or the schema itself. */
function resolved(description, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { title: name, ...description.components.schemas[name] } : schema ?? {};
}

/** A schema in a few words: "integer, 1 to 100, or null". */
function words(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf ?? schema.oneOf) return (schema.anyOf ?? schema.oneOf).map(words).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(", ");
  if (schema.type === "array") return `list of ${schema.items ? words(schema.items) : "values"}`;
  const { minimum, maximum } = schema;
  const range = minimum !== undefined && maximum !== undefined ? `, ${minimum} to ${maximum}` : "";
  return (schema.type ?? "any") + range;
}

function row(name, schema, required) {
  const says = schema.description ?? (schema.default !== undefined && schema.default !== null ? `${schema.default} if not said` : "");
  return h("tr", {}, h("td", {}, h("code", {}, name), required ? " *" : ""), h("td", { class: "type" }, words(schema)), h("td", {}, says));
}

function table(caption, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, one]) => row(name, one, required.has(name)));
  const head = h("tr", {}, ...["field", "type", ""].map((text) => h("th", { scope: "col" }, text)));
  const name = caption + (schema.title ? `: ${schema.title}` : "");
  const about = schema.description ? h("p", { class: "quiet" }, schema.description) : null;
  if (!rows.length) return [h("h3", {}, name), about];
  return [h("h3", {}, name), about, h("div", { class: "fields", tabindex: "0", role: "region", "aria-label": name },
    h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)))];
}

/** The alternatives of a body or an answer, each with its fields; of a list, those of its items. */
function alternatives(description, schema) {
  const whole = resolved(description, schema);
  if (whole.type === "array") return alternatives(description, whole.items);
  const several = whole.anyOf ?? whole.oneOf;
  if (several) return several.flatMap((one) => alternatives(description, one));
  shown.add(whole.title);
  return [whole];
}

function json(content) {
  return content?.["application/json"]?.schema;
}

function operation(description, path, method, said) {
  const parts = [h("h2", { id: said.operationId }, h("span", { class: "method" }, method.toUpperCase()), h("code", {}, path)), h("p", {}, said.summary)];
  for (const one of said.parameters ?? []) parts.push(...table("Parameter", { properties: { [one.name]: one.schema }, required: [one.name] }));
  const body = json(said.requestBody?.content);
  if (body) parts.push(...alternatives(description, body).flatMap((one) => table("Request", one)));
  const answer = json(said.responses["200"]?.content);
  if (answer) parts.push(...alternatives(description, answer).filter((one) => one.properties).flatMap((one) => table("Answer", one)));
  const others = Object.entries(said.responses).filter(([status]) => status !== "200");
  if (others.length) parts.push(h("p", { class: "quiet" }, others.map(([status, one]) => `${status}: ${one.description}`).join("; ")));
  return h("section", { "aria-labelledby": said.operationId }, ...parts);
}

async function show() {
  const reply = await fetch("openapi.json");
  if (!reply.ok) throw new Error(`the server answers ${reply.status}`);
  const description = await reply.json();
  const sections = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, said]) => operation(description, path, method, said)));
  const shared = Object.entries(description.components.schemas).filter(([name]) => !shown.has(name) && !name.includes("Validation"));
  sections.push(h("section", {}, h("h2", {}, "Parts"), ...shared.flatMap(([name, schema]) => table(name, { ...schema, title: "" }))));
  byId("operations").append(...sections);
  byId("status").textContent = `Version ${description.info.version}. * is required.`;
}

show().catch((error) => { byId("status").textContent = `No description: ${error.message}`; });
