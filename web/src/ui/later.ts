// Work that follows changes: many changes in a short time cause one run.

export interface Later {
  /** Runs the work after the pause, unless it is planned already. */
  soon: () => void;
  cancel: () => void;
}

export function later(pause: number, work: () => void): Later {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    soon: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        work();
      }, pause);
    },
    cancel: () => {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
