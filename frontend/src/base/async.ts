import type { ReadonlySignal } from "@preact/signals";

/** Runs the newest task only: starting another aborts the previous one. */
export class Latest {
  private controller: AbortController | null = null;

  /** The result of the task; undefined if a newer one or `cancel` replaced it. Errors of replaced tasks are ignored. */
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

/** Calls `task` once, `delayMs` after the last call. */
export function debounce<A extends unknown[]>(task: (...args: A) => void, delayMs: number): (...args: A) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => task(...args), delayMs);
  };
}

/** The first value of a signal that is not null. */
export function firstValue<T>(signal: ReadonlySignal<T | null>): Promise<T> {
  return new Promise((resolve) => {
    const stop = signal.subscribe((value) => {
      if (value === null) return;
      resolve(value);
      queueMicrotask(() => stop());
    });
  });
}
