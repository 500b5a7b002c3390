// The checks of `oxikit doctor`, as the tools make them.

import { ApiError } from '../api/http';
import { get } from '../api/tools';
import type { Finding, Findings } from '../api/tools_types';

export type CheckState = 'good' | 'suspicious' | 'bad';

export interface Check {
  name: string;
  state: CheckState;
  lines: string[];
}

/** Makes the checks. `null` if these tools cannot. */
export async function readChecks(): Promise<Check[] | null> {
  try {
    const { findings } = await get<Findings>('/doctor');
    return findings.map(checkOf);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function checkOf({ check, verdict, detail, fix }: Finding): Check {
  const state = verdict === 'good' || verdict === 'bad' ? verdict : 'suspicious';
  return { name: check, state, lines: [...detail.split('\n'), ...(fix ? [fix] : [])] };
}
