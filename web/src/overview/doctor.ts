// The checks of `oxikit doctor`, as the tools make them.

import { ApiError } from '../api/http';
import { get } from '../api/tools';

export type CheckState = 'good' | 'suspicious' | 'bad';

export interface Check {
  name: string;
  state: CheckState;
  lines: string[];
}

interface RawCheck {
  check: string;
  verdict: string;
  detail: string;
}

/** Makes the checks. `null` if these tools cannot. */
export async function readChecks(): Promise<Check[] | null> {
  try {
    const { checks } = await get<{ checks: RawCheck[] }>('/doctor');
    return checks.map(checkOf);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function checkOf({ check, verdict, detail }: RawCheck): Check {
  const state = verdict === 'good' || verdict === 'bad' ? verdict : 'suspicious';
  return { name: check, state, lines: detail.split('\n') };
}
