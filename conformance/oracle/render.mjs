// Renders templates with Handlebars.js: one JSON object per line in, one out.
//
// In:  {template, input, data, partials, ours}
// Out: {plain, printed?}, each {text} or {error}
//
// `plain` is the reference with the options Dotprompt uses. Where it differs
// from `ours`, `printed` is the reference made to print every value before it
// joins it to the next; without escaping it would add adjacent numbers.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(import.meta.url);
const Handlebars = require("handlebars");
// `{{log}}` would write between the answers.
for (const level of ["debug", "info", "log", "warn", "error"]) console[level] = () => {};

const helpers = {
  json: (value, options) => JSON.stringify(value ?? null, null, options.hash.indent || 0),
  ifEquals(left, right, options) {
    return left === right ? options.fn(this) : options.inverse(this);
  },
  unlessEquals(left, right, options) {
    return left !== right ? options.fn(this) : options.inverse(this);
  },
  tag: (...args) => {
    const { hash } = args.pop();
    const given = Object.keys(hash).sort().map((key) => `${key}=${show(hash[key])}`);
    return `<${[...args.map(show), ...given].join(" ")}>`;
  },
};

function show(value) {
  return value === undefined ? "null" : JSON.stringify(value);
}

// A string of ours cannot hold half a character, which is what an index into
// a string may give here; it becomes the sign for what cannot be shown.
function whole(text) {
  return text.toWellFormed().replace(/\\+ud[89a-f][0-9a-f]{2}/g, "\ufffd");
}

class Printing extends Handlebars.JavaScriptCompiler {
  append() {
    this.appendEscaped();
  }
}
Printing.prototype.compiler = Printing;
// Only `Printing` asks for escaping, and means printing.
Handlebars.Utils.escapeExpression = (value) => (value == null ? "" : String(value));

function render({ template, input, data, partials }, compiler) {
  const env = Handlebars.create();
  env.JavaScriptCompiler = compiler;
  env.registerHelper(helpers);
  env.registerPartial(partials);
  const knownHelpers = Object.fromEntries(Object.keys(helpers).map((name) => [name, true]));
  try {
    const run = env.compile(template, { knownHelpers, knownHelpersOnly: true, noEscape: true });
    return { text: whole(run(input, { data })) };
  } catch (error) {
    return { error: String(error.message ?? error).split("\n")[0] };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = { plain: render(request, Handlebars.JavaScriptCompiler) };
  if (answer.plain.text !== request.ours) {
    answer.printed = render(request, Printing);
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
