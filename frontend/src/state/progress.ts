import { computed, effect, signal } from "@preact/signals";
import { type ApiError, asApiError, getProgress, setReading } from "../api/client";
import type { ProgressJson } from "../api/types.gen";
import { catalog, loadCatalog } from "./catalog";
import { followEnded, freshen, isActive, isResumable, jobKey } from "./reading";
import { shown } from "./visibility";

const BUSY_MS = 500;
const IDLE_MS = 5000;
/** Spans that one request cancels or resumes: the address must stay short. */
const TOGETHER = 50;

/** Reading work that the server knows of: all but what ended well. */
export const jobs = signal<readonly ProgressJson[]>([]);
/** Work that ended well since work began. */
export const ended = signal<ReadonlyMap<string, ProgressJson>>(new Map());
/** Grows with every answer, so that waiting views can ask again even where no job changed. */
export const ticks = signal(0);
/** Why the last Cancel or Resume did nothing; "" where it did. */
export const controlError = signal<ApiError | null>(null);
/** How many views on screen wait for data. */
const waiting = signal(0);
const busy = computed(() => waiting.value > 0 || jobs.value.some(isActive));

/** Say that a view waits; returns how to say that it does not any more. */
export function waitForData(): () => void {
  waiting.value = waiting.peek() + 1;
  return () => {
    waiting.value = waiting.peek() - 1;
  };
}

/** The work that a view's answer tells of, as it stands by now. Subscribes the component that asks. */
export function freshJobs(told: readonly ProgressJson[]): ProgressJson[] {
  return freshen(told, jobs.value, ended.value);
}

/** Cancel what is under way of these pieces of work, or resume what was cancelled or failed. */
export async function control(action: "cancel" | "resume", of: readonly ProgressJson[]): Promise<void> {
  const chosen = of.filter(action === "cancel" ? isActive : isResumable);
  try {
    for (const stage of ["tables", "trace"] as const) {
      const spans = [...new Set(chosen.filter((job) => job.stage === stage).map((job) => job.span))];
      for (let from = 0; from < spans.length; from += TOGETHER) {
        take((await setReading(spans.slice(from, from + TOGETHER), stage, action)).jobs);
      }
    }
    controlError.value = null;
  } catch (error) {
    controlError.value = asApiError(error);
  }
  await poll();
}

/** Puts newer news of some work in the place of the older. */
function take(news: readonly ProgressJson[]): void {
  const by = new Map(news.filter((job) => job.state !== "ready").map((job) => [jobKey(job), job]));
  jobs.value = jobs.peek().map((job) => by.get(jobKey(job)) ?? job);
}

async function poll(): Promise<void> {
  try {
    const answer = await getProgress();
    ended.value = followEnded(ended.peek(), jobs.peek(), answer.jobs);
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
    const isBusy = busy.peek() || catalog.peek()?.scanning === true;
    if (shown.peek()) timer = setTimeout(round, isBusy ? BUSY_MS : IDLE_MS);
  };
  effect(() => {
    void busy.value;
    if (shown.value) void round();
    else clearTimeout(timer);
  });
}
