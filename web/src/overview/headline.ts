// The headline of the overview: does anything need a person?

import { runtimeName } from '../api/runtime_names';
import type { AppStatus, RuntimeInfo } from '../api/tools_types';
import { texts } from './texts';

export interface Situation {
  waiting: number;
  app: AppStatus | null;
  runtimes: readonly RuntimeInfo[];
  failed: number;
  running: number;
}

/** The most urgent fact; that nothing is urgent if there is none. */
export function headlineOf({ waiting, app, runtimes, failed, running }: Situation): string {
  if (waiting > 0) return texts.headline.waiting(waiting);
  if (app?.state === 'stopped') return texts.headline.ended;
  if (runtimes.length === 0) return texts.headline.noRuntime;
  const silent = runtimes.find((runtime) => runtime.isSilent);
  if (silent) return texts.headline.silent(runtimeName(silent));
  if (failed > 0) return texts.headline.failed(failed);
  if (running > 0) return texts.headline.running(running);
  return texts.headline.nothing;
}
