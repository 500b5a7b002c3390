// Arguments of commands.

/** An argument as a shell takes it. */
export function shellWord(argument: string): string {
  return /^[\w./@:+=,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
