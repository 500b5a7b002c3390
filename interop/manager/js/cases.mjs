// Cases: each prints `ok name` or `FAILED name: why`.

/** Runs cases, so many at a time. One that takes longer than `limit` milliseconds has failed. */
export async function runCases(cases, width = 1, limit = 60_000) {
  const waiting = Object.entries(cases);
  const worker = async () => {
    for (let next; (next = waiting.shift()); ) await runCase(...next, limit);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function runCase(name, run, limit) {
  let timer;
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not within ${limit} ms`)), limit);
    });
    await Promise.race([run(), late]);
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAILED ${name}: ${String(error?.message ?? error).replaceAll('\n', ' ').slice(0, 1500)}`);
    process.exitCode = 1;
  } finally {
    clearTimeout(timer);
  }
}

/** Starts something that tells a trace id, and answers it and the id. */
export function traced(start) {
  let tell;
  const known = new Promise((resolve) => (tell = resolve));
  return [start(tell), known];
}

export const user = (text) => ({ role: 'user', content: [{ text }] });
export const HEX32 = /^[0-9a-f]{32}$/;
