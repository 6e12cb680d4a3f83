/** Runs one task at a time in favour of the newest: starting another aborts and forgets the one before. */
export class Latest {
  private controller: AbortController | null = null;

  /** Result of the task, or undefined when a later one (or `cancel`) took its place. Errors of forgotten tasks vanish. */
  async run<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    this.cancel();
    const controller = new AbortController();
    this.controller = controller;
    try {
      const result = await task(controller.signal);
      return controller.signal.aborted ? undefined : result;
    } catch (error) {
      if (controller.signal.aborted) return undefined;
      throw error;
    }
  }

  cancel(): void {
    this.controller?.abort();
    this.controller = null;
  }
}

/** Call `task` once, `delayMs` after the last call. */
export function debounce<A extends unknown[]>(task: (...args: A) => void, delayMs: number): (...args: A) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => task(...args), delayMs);
  };
}
