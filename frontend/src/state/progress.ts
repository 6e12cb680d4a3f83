import { computed, effect, signal } from "@preact/signals";
import { type ApiError, asApiError, getProgress, setReading } from "../api/client";
import type { ProgressJson } from "../api/types.gen";
import { catalog, loadCatalog } from "./catalog";
import { followEnded, isActive, isResumable, jobKey, refreshJobs } from "./reading";
import { shown } from "./visibility";

/** Time between two polls: while the server answers only when a job changes, while a job is active, else. */
const EAGER_MS = 20;
const BUSY_MS = 500;
const IDLE_MS = 5000;
/** How long after a view begins to wait the server tells each change at once. */
const EAGER_FOR_MS = 3000;
/** Spans per cancel or resume request, which keeps the URL short. */
const TOGETHER = 50;

/** Reading jobs of the server, except completed ones. */
export const jobs = signal<readonly ProgressJson[]>([]);
/** Jobs completed since reading began. */
export const ended = signal<ReadonlyMap<string, ProgressJson>>(new Map());
/** Counts progress answers, so that waiting views can ask again even if no job changed. */
export const ticks = signal(0);
/** Error of the last Cancel or Resume; null if it succeeded. */
export const controlError = signal<ApiError | null>(null);
/** Number of visible views that wait for data. */
const waiting = signal(0);
let eagerUntil = 0;
/** `changes` of the last answer; null without one. */
let seen: number | null = null;
const busy = computed(() => waiting.value > 0 || jobs.value.some(isActive));

/** Registers a waiting view; returns a function that removes it. */
export function waitForData(): () => void {
  eagerUntil = performance.now() + EAGER_FOR_MS;
  waiting.value = waiting.peek() + 1;
  return () => (waiting.value = waiting.peek() - 1);
}

/** Current state of the jobs in a view's answer. Subscribes the calling component. */
export function freshJobs(answered: readonly ProgressJson[]): ProgressJson[] {
  return refreshJobs(answered, jobs.value, ended.value);
}

/** Cancels the active ones of these jobs, or resumes the cancelled and failed ones. */
export async function control(action: "cancel" | "resume", of: readonly ProgressJson[]): Promise<void> {
  const chosen = of.filter(action === "cancel" ? isActive : isResumable);
  try {
    for (const stage of ["tables", "trace"] as const) {
      const spans = [...new Set(chosen.filter((job) => job.stage === stage).map((job) => job.span))];
      for (let from = 0; from < spans.length; from += TOGETHER) {
        replaceJobs((await setReading(spans.slice(from, from + TOGETHER), stage, action)).jobs);
      }
    }
    controlError.value = null;
  } catch (error) {
    controlError.value = asApiError(error);
  }
  await poll();
}

/** Replaces jobs by their newer state. */
function replaceJobs(news: readonly ProgressJson[]): void {
  const by = new Map(news.filter((job) => job.state !== "ready").map((job) => [jobKey(job), job]));
  jobs.value = jobs.peek().map((job) => by.get(jobKey(job)) ?? job);
}

const isEager = () => seen !== null && performance.now() < eagerUntil;

async function poll(): Promise<void> {
  let isOutdated = false;
  try {
    const [answer] = await Promise.all([getProgress(isEager() ? seen : null), catalog.peek() ?? loadCatalog()]);
    seen = answer.changes;
    ended.value = followEnded(ended.peek(), jobs.peek(), answer.jobs);
    if (JSON.stringify(answer.jobs) !== JSON.stringify(jobs.peek())) jobs.value = answer.jobs;
    const known = catalog.peek();
    isOutdated = known !== null && (known.scanning || answer.generation !== known.generation);
  } catch {
    seen = null; // The next poll retries; views show their own errors.
  }
  ticks.value = ticks.peek() + 1;
  if (isOutdated) await loadCatalog();
}

/** Polls while the tab is visible, more often while a job is active. */
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
    const busyWait = isEager() ? EAGER_MS : BUSY_MS;
    if (shown.peek()) timer = setTimeout(round, isBusy ? busyWait : IDLE_MS);
  };
  effect(() => {
    void busy.value;
    if (shown.value) void round();
    else clearTimeout(timer);
  });
}
