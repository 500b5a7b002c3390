// The second target of a comparison, in the URL: `with=/model/other` or `withRuntime=id`.

export interface Compared {
  key: string;
  runtime: string | null;
}

export function comparedOf(query: Record<string, string>, key: string, runtime: string | null): Compared | null {
  const otherKey = query['with'];
  const otherRuntime = query['withRuntime'];
  if (!otherKey && !otherRuntime) return null;
  return { key: otherKey || key, runtime: otherRuntime || runtime };
}
