// The same on the command line, and as requests.

import { urlOf } from '../api/http';
import { commandLine, type CopyForm } from '../state/command.svelte';

export function copyForms(agent: string, id: string, snapshotId: string | null): CopyForm[] {
  const path = `/api/agents/${encodeURIComponent(agent)}/sessions/${encodeURIComponent(id)}`;
  const forms: CopyForm[] = [
    { name: 'oxikit agent chat', text: () => commandLine('oxikit', 'agent', 'chat', agent, '--session', id) },
    { name: 'oxikit session export', text: () => commandLine('oxikit', 'session', 'export', agent, id, '--output', 'session.json') },
    { name: 'curl', text: () => commandLine('curl', '-H', 'authorization: Bearer $OXIKIT_TOKEN', location.origin + urlOf(path)) },
  ];
  if (snapshotId === null) return forms;
  return [
    ...forms,
    { name: 'oxikit session fork', text: () => commandLine('oxikit', 'session', 'fork', agent, id, '--at', snapshotId) },
    { name: 'oxikit agent chat, as a branch', text: () => commandLine('oxikit', 'agent', 'chat', agent, '--snapshot', snapshotId) },
  ];
}
