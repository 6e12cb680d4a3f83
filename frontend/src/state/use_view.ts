import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError, getView, type Query } from "../api/client";
import type { ViewId, ViewJson } from "../api/types.gen";
import { Lru } from "../base/lru";
import { places } from "./catalog";
import { param, setParams } from "./params";
import { chosenPeriod, type PeriodKey } from "./period";
import { jobs, ticks, waitForData } from "./progress";
import { isActive, isResumable } from "./reading";

/** State of a /api/view request. `data` is set if the state is "ready", or to partial data while reading. */
export interface ViewState<T> {
  answer: ViewJson | null;
  data: T | null;
  error: ApiError | null;
  /** The query of the request, for the tables of the same view. */
  query: Query;
  /** Repeats the request. */
  retry: () => void;
}

interface Held {
  key: string;
  answer: ViewJson | null;
  error: ApiError | null;
}

/** The server answers a request for a view that has no data yet as soon as it has the first ones, or soon. */
const WAIT = { wait: 1 };
/** A request for a view whose code is being loaded. */
let ahead: { key: string; answer: Promise<ViewJson> } | null = null;
/** Recent answers, shown without delay on return to a view. */
const seen = new Lru<string, ViewJson>(24);
/** Progress answers between two requests of a view that is being read; EAGER while it has no data. */
const PATIENCE = 4;
const EAGER = 1;
/** Least time (ms) between two requests for a view of a run: each of its many ranks changes it. */
const RUN_REFRESH_MS = 2000;

/** Requests the first answer of a view whose code is being loaded: the server begins to read. */
export function requestAhead(id: ViewId, query: Query): void {
  const key = keyOf(id, query);
  const answer = getView(id, { ...query, ...WAIT });
  ahead = { key, answer };
  answer.then(
    (found) => seen.set(key, found),
    () => {}, // the view shows the error
  );
}

/** The answer that was requested ahead; null if there is none. */
function takeAhead(key: string): Promise<ViewJson> | null {
  const found = ahead?.key === key ? ahead.answer : null;
  ahead = null;
  return found;
}

/**
 * The answer of a view, requested again when its data change: files (fingerprint), jobs that start or end,
 * TensorBoard's reload. The last answer for the same query stays until the next one arrives.
 */
export function useView<T>(
  id: ViewId | "diagnosis" | "diff_ledger" | "trace_ranks" | "kernel_ranks",
  query: Query,
): ViewState<T> {
  const key = keyOf(id, query);
  const [held, setHeld] = useState<Held>({ key: "", answer: null, error: null });
  const current: Held = held.key === key ? held : { key, answer: seen.get(key) ?? null, error: null };
  const [tries, setTries] = useState(0);
  const isReading = current.answer?.state === "reading" && !isStopped(current.answer);
  const round = isReading ? Math.floor(ticks.value / (current.answer?.data ? PATIENCE : EAGER)) : 0;
  const revision = useThrottled(revisionOf(query), query.run || query.baseline ? RUN_REFRESH_MS : 0);

  useEffect(() => {
    const controller = new AbortController();
    const asked = current.answer?.data ? query : { ...query, ...WAIT };
    (takeAhead(key) ?? getView(id, asked, controller.signal)).then(
      (found) => {
        const before = seen.get(key);
        const answer = before && isSame(before, found) ? before : found;
        seen.set(key, answer);
        setHeld((held) => (held.key === key && held.answer === answer ? held : { key, answer, error: null }));
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setHeld({ key, answer: null, error: asApiError(error) });
      },
    );
    return () => controller.abort();
  }, [key, revision, round, tries]);

  // A view of a run may be shown while some ranks are still being read.
  const isWaiting = current.answer?.progress.some(isActive) === true;
  useEffect(() => (isReading || isWaiting ? waitForData() : undefined), [isReading || isWaiting]);

  const hasData = current.answer?.state === "ready" || current.answer?.state === "reading";
  const data = hasData ? ((current.answer?.data ?? null) as T | null) : null;
  return { answer: current.answer, data, error: current.error, query, retry: () => setTries(tries + 1) };
}

/** A view that shows the chosen step or range if it can. */
export interface PeriodView<T> extends ViewState<T> {
  /** Parameters that the view can obey; null: it is not about time. */
  obeys: readonly PeriodKey[] | null;
  /** Why the server refuses the chosen step or range: the view is of the whole capture then. */
  refusal: ApiError | null;
}

/** The answer of a view for the chosen step or range, or for the whole capture if the view has no such part. */
export function usePeriodView<T>(
  id: ViewId | "diagnosis",
  query: Query,
  obeys: readonly PeriodKey[] | null,
): PeriodView<T> {
  const chosen = chosenPeriod();
  const wanted = chosen && obeys?.includes(chosen.key) ? { ...query, [chosen.key]: chosen.value } : query;
  const [refused, setRefused] = useState<{ key: string; error: ApiError } | null>(null);
  const refusal = refused?.key === keyOf(id, wanted) ? refused.error : null;
  const view = useView<T>(id, refusal ? query : wanted);
  const { error } = view;
  useEffect(() => {
    if (error?.status === 400 && wanted !== query && !refusal) setRefused({ key: keyOf(id, wanted), error });
  }, [error]);
  return { ...view, obeys, refusal };
}

function keyOf(id: string, query: Query): string {
  return `${id}?${JSON.stringify(query)}`;
}

/** Removes parameters that the server refuses: they belong to a span chosen before. */
export function useAccepted(view: ViewState<unknown>, ...keys: readonly string[]): void {
  const isRefused = view.error?.status === 400 && keys.some((key) => param(key) !== "");
  useEffect(() => {
    if (isRefused) setParams(Object.fromEntries(keys.map((key) => [key, null])));
  }, [isRefused]);
}

/** True if reading is stopped until the user resumes it. */
function isStopped({ progress }: ViewJson): boolean {
  return progress.some(isResumable) && !progress.some(isActive);
}

/** True if nothing needs redrawing: the fingerprint identifies the data. */
export function isSame(before: ViewJson, after: ViewJson): boolean {
  const rest = ({ state, fingerprint, problems, missing, progress, data }: ViewJson) => {
    const { ranks, version } = (data ?? {}) as { ranks?: unknown; version?: unknown };
    return JSON.stringify([state, fingerprint, problems, missing, progress, ranks, version]);
  };
  return before.state === "ready" && rest(before) === rest(after);
}

/** Key that changes when the data of the query may have changed: fingerprints, span states and jobs. */
function revisionOf(query: Query): string {
  const spans = new Set<string>();
  for (const name of ["span", "baseline", "experimental"]) if (query[name]) spans.add(String(query[name]));
  for (const span of String(query.captures ?? "").split(",")) spans.add(span);
  const parts: string[] = [];
  // Diff shows whom a capture waits for: the other ranks of its run.
  const runs = new Set([query.run, ...(query.baseline ? [...spans].map((id) => places.value.get(id)?.run.id) : [])]);
  for (const { run, span } of places.value.values()) {
    if (runs.has(run.id)) spans.add(span.id);
    // Also the state: a job may start and end between two progress answers.
    if (spans.has(span.id)) parts.push(`${span.fingerprint} ${span.state}`);
  }
  for (const job of jobs.value) if (spans.has(job.span)) parts.push(`${job.span} ${job.stage} ${job.state}`);
  return parts.join("|");
}

/** The value, changing at most once per `ms`; 0: without delay. The last change always arrives. */
function useThrottled<T>(value: T, ms: number): T {
  const [throttled, setThrottled] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    if (ms === 0 || value === throttled) return;
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        setThrottled(value);
      },
      Math.max(0, last.current + ms - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [value, throttled, ms]);
  return ms === 0 ? value : throttled;
}
