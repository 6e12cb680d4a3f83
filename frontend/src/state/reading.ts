/** Reading jobs: totals, order, and jobs that left the server's list. */

import type { ProgressJson } from "../api/types.gen";

type JobState = ProgressJson["state"];

/** Key of a job. */
export function jobKey(job: ProgressJson): string {
  return `${job.span} ${job.stage}`;
}

export function isActive(job: ProgressJson): boolean {
  return job.state === "waiting" || job.state === "reading";
}

/** True if the user cancelled the job, or it failed. */
export function isResumable(job: ProgressJson): boolean {
  return job.state === "cancelled" || job.state === "failed";
}

/** Totals of several jobs. Bytes exclude cancelled and failed jobs, which are only counted. */
export interface Totals {
  done: number;
  total: number;
  /** Bytes per second of all active jobs; null if unknown. */
  rate: number | null;
  /** Seconds to the end at this rate. */
  left: number | null;
  /** Captures by the state of the first of their stages in ORDER. */
  count: Readonly<Record<JobState, number>>;
}

export function totalsOf(jobs: readonly ProgressJson[]): Totals {
  const count: Record<JobState, number> = { waiting: 0, reading: 0, ready: 0, failed: 0, cancelled: 0 };
  const states = new Map<string, JobState>();
  let [done, total, rate] = [0, 0, 0];
  for (const job of jobs) {
    const before = states.get(job.span);
    if (before === undefined || ORDER[job.state] < ORDER[before]) states.set(job.span, job.state);
    if (isResumable(job)) continue;
    done += job.state === "ready" ? job.bytes_total : job.bytes_done;
    total += job.bytes_total;
    if (job.state === "reading") rate += job.rate ?? 0;
  }
  for (const state of states.values()) count[state] += 1;
  const isKnown = rate > 0;
  return { done, total, rate: isKnown ? rate : null, left: isKnown ? (total - done) / rate : null, count };
}

/** Share that is done, 0 to 1. */
export function shareDone({ done, total }: { done: number; total: number }): number {
  return total > 0 ? Math.min(1, done / total) : 0;
}

const ORDER: Readonly<Record<JobState, number>> = { reading: 0, failed: 1, cancelled: 2, waiting: 3, ready: 4 };

/** Active jobs first, then those that need a decision; otherwise the given order. */
export function sortJobs(jobs: readonly ProgressJson[]): ProgressJson[] {
  return [...jobs].sort((a, b) => ORDER[a.state] - ORDER[b.state]);
}

/**
 * The server lists a job until it is complete. `ended` keeps the jobs that left the list, so that totals grow steadily;
 * it is cleared when no job is active.
 */
export function followEnded(
  ended: ReadonlyMap<string, ProgressJson>,
  before: readonly ProgressJson[],
  now: readonly ProgressJson[],
): ReadonlyMap<string, ProgressJson> {
  const present = new Set(now.map(jobKey));
  const left = before.filter((job) => isActive(job) && !present.has(jobKey(job)));
  const back = [...ended.keys()].filter((key) => present.has(key));
  if (left.length === 0 && back.length === 0 && (ended.size === 0 || now.some(isActive))) return ended;
  if (!now.some(isActive)) return new Map();
  const next = new Map(ended);
  for (const key of back) next.delete(key);
  for (const job of left) {
    next.set(jobKey(job), { ...job, state: "ready", bytes_done: job.bytes_total, rate: null, eta_s: null });
  }
  return next;
}

/** Current state of the jobs in a view's answer. */
export function refreshJobs(
  answered: readonly ProgressJson[],
  jobs: readonly ProgressJson[],
  ended: ReadonlyMap<string, ProgressJson>,
): ProgressJson[] {
  const now = new Map(jobs.map((job) => [jobKey(job), job]));
  return answered.map((job) => now.get(jobKey(job)) ?? ended.get(jobKey(job)) ?? job);
}
