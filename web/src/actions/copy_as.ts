// The same call elsewhere: on the command line, with curl, in Rust and in JavaScript. The token stays
// in a variable; it is never copied.

import type { CopyForm } from '../state/command.svelte';
import { shellWord } from '../ui/shell';
import { runWords } from './keys';
import type { RunCall } from './run.svelte';
import { texts } from './texts';

/** The command of a call. The runtime is named only if a person has chosen it. */
export function commandOf(call: RunCall, isStreamed = true): string {
  const words = ['oxikit', ...runWords(call.key)];
  if (call.input !== undefined) words.push(JSON.stringify(call.input));
  if (isStreamed) words.push('-s');
  if (call.context) words.push('--context', JSON.stringify(call.context));
  if (call.timeout !== null) words.push('--timeout', String(call.timeout));
  if (call.runtime !== null) words.push('--runtime', call.runtime);
  return words.map(shellWord).join(' ');
}

export function formsOf(call: RunCall): CopyForm[] {
  return [
    { name: texts.copyAs.command, text: () => commandOf(call) },
    { name: texts.copyAs.curl, text: () => curlOf(call) },
    { name: texts.copyAs.rust, text: () => rustOf(call) },
    { name: texts.copyAs.javascript, text: () => javascriptOf(call) },
  ];
}

function bodyOf({ key, input, context, labels, runtime }: RunCall): Record<string, unknown> {
  return {
    key,
    ...(input !== undefined && { input }),
    ...(context && { context }),
    ...(labels && { telemetryLabels: labels }),
    ...(runtime !== null && { runtimeId: runtime }),
  };
}

export function curlOf(call: RunCall): string {
  const lines = [
    'curl -N "$OXIKIT_URL/api/v1/stream"',
    '  -H "Authorization: Bearer $OXIKIT_TOKEN"',
    "  -H 'Content-Type: application/json'",
    `  -d ${shellWord(JSON.stringify(bodyOf(call)))}`,
  ];
  if (call.timeout !== null) lines.splice(1, 0, `  --max-time ${call.timeout}`);
  return lines.join(' \\\n');
}

export function rustOf(call: RunCall): string {
  const value = (json: unknown): string => {
    const text = JSON.stringify(json, null, 4);
    return `json!(${text.replaceAll('\n', '\n    ')})`;
  };
  const input = call.input === undefined ? 'Call::empty()' : `Call::new(${value(call.input)})`;
  const labels = call.labels ? `\n    // Labels of the trace: ${JSON.stringify(call.labels)}` : '';
  const context = call.context ? `\n    // Context of the run: ${JSON.stringify(call.context)}` : '';
  return `use oxikit::{Call, prelude::*};

async fn call(ai: &Oxikit) -> Result<Value> {
    let action = ai
        .registry()
        .get(${JSON.stringify(call.key)})
        .ok_or_else(|| Status::not_found("the action is not registered"))?;${context}${labels}
    action
        .run(${input}.in_registry(ai.registry()))
        .await?
        .parse()
}
`;
}

export function javascriptOf(call: RunCall): string {
  const timeout = call.timeout === null ? '' : `\n  signal: AbortSignal.timeout(${call.timeout * 1000}),`;
  return `const response = await fetch(\`\${process.env.OXIKIT_URL}/api/v1/stream\`, {
  method: 'POST',
  headers: {
    authorization: \`Bearer \${process.env.OXIKIT_TOKEN}\`,
    'content-type': 'application/json',
  },${timeout}
  body: JSON.stringify(${JSON.stringify(bodyOf(call), null, 2).replaceAll('\n', '\n  ')}),
});
for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
  process.stdout.write(piece); // events: state, chunk, done, error
}
`;
}
