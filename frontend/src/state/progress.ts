import { effect, signal } from "@preact/signals";
import { getProgress } from "../api/client";
import type { ProgressJson } from "../api/types.gen";
import { catalog, loadCatalog } from "./catalog";
import { shown } from "./visibility";

const BUSY_MS = 500;
const IDLE_MS = 5000;

/** Reading work that the server knows of. */
export const jobs = signal<readonly ProgressJson[]>([]);
/** Grows with every answer, so that waiting views can ask again even where no job changed. */
export const ticks = signal(0);
/** How many views on screen wait for data. */
const waiting = signal(0);

export function isActive(job: ProgressJson): boolean {
  return job.state === "waiting" || job.state === "reading";
}

/** Say that a view waits; returns how to say that it does not any more. */
export function waitForData(): () => void {
  waiting.value = waiting.peek() + 1;
  return () => {
    waiting.value = waiting.peek() - 1;
  };
}

async function poll(): Promise<void> {
  try {
    const answer = await getProgress();
    if (JSON.stringify(answer.jobs) !== JSON.stringify(jobs.peek())) jobs.value = answer.jobs;
    const known = catalog.peek();
    if (known === null || known.scanning || answer.generation !== known.generation) await loadCatalog();
  } catch {
    // The next round tells; views show their own errors.
  }
  ticks.value = ticks.peek() + 1;
}

/** Ask every 0.5 s while something is under way, every 5 s otherwise, never while the tab is hidden. */
export function followProgress(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  const round = async () => {
    if (isRunning || !shown.peek()) return;
    isRunning = true;
    await poll();
    isRunning = false;
    schedule();
  };
  const schedule = () => {
    clearTimeout(timer);
    const isBusy = waiting.peek() > 0 || jobs.peek().some(isActive) || catalog.peek()?.scanning === true;
    if (shown.peek()) timer = setTimeout(round, isBusy ? BUSY_MS : IDLE_MS);
  };
  effect(() => {
    void waiting.value;
    if (shown.value) void round();
    else clearTimeout(timer);
  });
}
