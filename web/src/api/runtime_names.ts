// Names of runtimes for people.

import type { RuntimeInfo } from './tools_types';

/** The name of a runtime for people: the application and its process. */
export function runtimeName(runtime: RuntimeInfo): string {
  // Some runtimes have no other name than the number of their process.
  const own = runtime.name === String(runtime.pid) ? null : runtime.name;
  return `${own ?? runtime.projectName ?? 'app'} ${runtime.pid}`;
}

/** Language and version of a runtime, and whether it reacts. */
export function runtimeAbout(runtime: RuntimeInfo): string {
  const version = runtime.genkitVersion ?? 'unknown version';
  return runtime.isSilent ? `${version}, does not answer` : `${version}, connected`;
}
