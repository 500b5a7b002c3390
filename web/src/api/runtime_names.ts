// Names of runtimes for people.

import type { RuntimeInfo } from './tools_types';

/** The name of a runtime for people: the application and its process. */
export function runtimeName(runtime: RuntimeInfo): string {
  return `${runtime.name ?? runtime.projectName ?? 'app'} ${runtime.pid}`;
}

/** Language and version of a runtime, and whether it reacts. */
export function runtimeAbout(runtime: RuntimeInfo): string {
  const version = runtime.genkitVersion ?? 'unknown version';
  return runtime.isSilent ? `${version}, does not answer` : `${version}, connected`;
}
