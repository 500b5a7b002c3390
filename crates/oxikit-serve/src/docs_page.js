// Shows openapi.json. Everything from it is set as text, never as markup.
"use strict";

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

function example(path, operation) {
  return [
    `curl ${location.origin}${path} \\`,
    ...(operation.isSecured ? ["  -H \"authorization: Bearer $TOKEN\" \\"] : []),
    "  -H 'content-type: application/json' \\",
    "  -d '{\"data\": …}'",
  ].join("\n");
}

function show(api, path, operation) {
  const shown = element("details");
  const summary = element("summary");
  summary.append(element("code", path), element("span", (operation.tags || []).join(", "), "kind"));
  shown.append(summary);
  if (operation.description) shown.append(element("p", operation.description));
  block(shown, "Call", example(path, { isSecured: Boolean(api.security) }));
  const body = operation.requestBody.content["application/json"].schema.properties;
  const ok = operation.responses["200"].content;
  const event = ok["text/event-stream"].schema.properties.data;
  const parts = [
    ["Input, under data", body.data],
    ["Init, under init", body.init],
    ["Output, under result", ok["application/json"].schema.properties.result],
    ["Chunks, under message", event.contentSchema.anyOf[0].properties.message],
  ];
  for (const [title, schema] of parts) {
    if (schema) block(shown, title, JSON.stringify(resolve(api, schema), null, 2));
  }
  return shown;
}

async function load() {
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  const api = await answer.json();
  // Other operations, such as those of the API of agents, do not run an action.
  const isAction = ([, item]) =>
    item.post?.requestBody?.content["application/json"].schema.properties?.data;
  const paths = Object.entries(api.paths).filter(isAction);
  const shown = paths.map(([path, item]) => show(api, path, item.post));
  list.replaceChildren(...(shown.length ? shown : [element("p", "No action is served.")]));
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    shown.forEach((node, index) => {
      node.hidden = !paths[index][0].toLowerCase().includes(wanted);
    });
  });
}

load().catch((error) => list.replaceChildren(element("p", `Cannot show the actions: ${error.message}`)));
