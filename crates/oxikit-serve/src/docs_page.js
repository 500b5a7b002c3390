// Shows openapi.json. Everything from it is set as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

const list = document.getElementById("actions");
const filter = document.getElementById("filter");

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// The schema that a reference names, one step deep; parts of it stay references.
function resolve(api, schema) {
  const name = schema?.$ref?.replace("#/components/schemas/", "");
  return (name && api.components.schemas[name]) || schema || {};
}

function block(parent, title, text) {
  parent.append(element("h3", title), element("pre", text));
}

// Whether every way to call it needs credentials.
function isSecured(api, operation) {
  const schemes = operation.security ?? api.security ?? [];
  return schemes.length > 0 && schemes.every((scheme) => Object.keys(scheme).length > 0);
}

function example(api, { method, path, operation, isAction }) {
  const lines = [`curl ${location.origin}${path}`];
  if (method === "delete") lines.push("-X DELETE");
  if (isSecured(api, operation)) lines.push('-H "authorization: Bearer $TOKEN"');
  if (operation.requestBody) {
    lines.push("-H 'content-type: application/json'");
    lines.push(isAction ? "-d '{\"data\": …}'" : "-d '{…}'");
  }
  return lines.join(" \\\n  ");
}

// What an action takes and answers, without what the protocol puts around it.
function actionParts(operation) {
  const body = operation.requestBody.content["application/json"].schema.properties;
  const ok = operation.responses["200"].content;
  const event = ok["text/event-stream"].schema.properties.data;
  return [
    ["Input, under data", body.data],
    ["Init, under init", body.init],
    ["Output, under result", ok["application/json"].schema.properties.result],
    ["Chunks, under message", event.contentSchema.anyOf[0].properties.message],
  ];
}

function parts(operation) {
  const ok = operation.responses["200"]?.content ?? {};
  return [
    ["Body", operation.requestBody?.content["application/json"]?.schema],
    ["Answer", ok["application/json"]?.schema],
    ["Events", ok["text/event-stream"]?.schema],
  ];
}

function show(api, entry) {
  const { method, path, operation, isAction } = entry;
  const shown = element("details");
  const summary = element("summary");
  summary.append(
    element("code", `${method.toUpperCase()} ${path}`),
    element("span", (operation.tags ?? []).join(", "), "kind"),
  );
  shown.append(summary);
  const about = operation.description ?? (isAction ? undefined : operation.summary);
  if (about) shown.append(element("p", about));
  block(shown, "Call", example(api, entry));
  for (const [title, schema] of isAction ? actionParts(operation) : parts(operation)) {
    if (schema) block(shown, title, JSON.stringify(resolve(api, schema), null, 2));
  }
  return shown;
}

// All operations; those of the API of agents do not run an action by `data`.
function operations(api) {
  return Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => {
      const operation = item[method];
      const schema = operation.requestBody?.content["application/json"]?.schema;
      const isAction = method === "post" && Boolean(schema?.properties?.data);
      return { method, path, operation, isAction };
    }),
  );
}

async function load() {
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  const api = await answer.json();
  const all = operations(api);
  const shown = all.map((entry) => show(api, entry));
  list.replaceChildren(...(shown.length ? shown : [element("p", "No action is served.")]));
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    shown.forEach((node, index) => {
      node.hidden = !all[index].path.toLowerCase().includes(wanted);
    });
  });
}

load().catch((error) => list.replaceChildren(element("p", `Cannot show the actions: ${error.message}`)));
