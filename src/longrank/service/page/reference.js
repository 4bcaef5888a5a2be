// The API reference, made from openapi.json.

import { byId, h } from "./dom.js";

const shown = new Set(); // schemas that have a table

/** Return the schema that `$ref` names, or the schema itself. */
function resolved(description, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { title: name, ...description.components.schemas[name] } : schema ?? {};
}

/** Describe a schema in a few words: "integer, 1 to 100, or null". */
function words(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf ?? schema.oneOf) return [...new Set((schema.anyOf ?? schema.oneOf).map(words))].join(" or ");
  if (schema.enum) return schema.enum.map((item) => JSON.stringify(item)).join(", ");
  if (schema.type === "array") return `list of ${schema.items ? words(schema.items) : "values"}`;
  const { minimum, maximum } = schema;
  const range = minimum !== undefined && maximum !== undefined ? `, ${minimum} to ${maximum}` : "";
  return (schema.type ?? "any") + range;
}

function row(name, schema, required) {
  const says = schema.description ?? (schema.default !== undefined && schema.default !== null ? `default: ${schema.default}` : "");
  return h("tr", {}, h("td", {}, h("code", {}, name), required ? " *" : ""), h("td", { class: "type" }, words(schema)), h("td", {}, says));
}

function table(caption, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, item]) => row(name, item, required.has(name)));
  const head = h("tr", {}, ...["field", "type", ""].map((text) => h("th", { scope: "col" }, text)));
  const name = caption + (schema.title ? `: ${schema.title}` : "");
  const about = schema.description ? h("p", { class: "quiet" }, schema.description) : null;
  if (!rows.length) return [h("h3", {}, name), about];
  return [h("h3", {}, name), about, h("div", { class: "fields", tabindex: "0", role: "region", "aria-label": name },
    h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)))];
}

/** Return the alternatives of a body or an answer; for a list, the alternatives of its items. */
function alternatives(description, schema) {
  const whole = resolved(description, schema);
  if (whole.type === "array") return alternatives(description, whole.items);
  const several = whole.anyOf ?? whole.oneOf;
  if (several) return several.flatMap((item) => alternatives(description, item));
  shown.add(whole.title);
  return [whole];
}

function json(content) {
  return content?.["application/json"]?.schema;
}

function operation(description, path, method, said) {
  const parts = [h("h2", { id: said.operationId }, h("span", { class: "method" }, method.toUpperCase()), h("code", {}, path)), h("p", {}, said.summary)];
  for (const item of said.parameters ?? []) parts.push(...table("Parameter", { properties: { [item.name]: item.schema }, required: [item.name] }));
  const body = json(said.requestBody?.content);
  if (body) parts.push(...alternatives(description, body).flatMap((item) => table("Request", item)));
  const answer = json(said.responses["200"]?.content);
  if (answer) parts.push(...alternatives(description, answer).filter((item) => item.properties).flatMap((item) => table("Answer", item)));
  const others = Object.entries(said.responses).filter(([status]) => status !== "200");
  if (others.length) parts.push(h("p", { class: "quiet" }, others.map(([status, item]) => `${status}: ${item.description}`).join("; ")));
  return h("section", { "aria-labelledby": said.operationId }, ...parts);
}

async function show() {
  const reply = await fetch("openapi.json");
  if (!reply.ok) throw new Error(`the server answered ${reply.status}`);
  const description = await reply.json();
  const sections = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, said]) => operation(description, path, method, said)));
  const shared = Object.entries(description.components.schemas).filter(([name]) => !shown.has(name) && !name.includes("Validation"));
  sections.push(h("section", {}, h("h2", {}, "Parts"), ...shared.flatMap(([name, schema]) => table(name, { ...schema, title: "" }))));
  byId("operations").append(...sections);
  byId("status").textContent = `Version ${description.info.version}. * is required.`;
}

show().catch((error) => { byId("status").textContent = `openapi.json cannot be loaded: ${error.message}`; });
