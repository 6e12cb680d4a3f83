import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError, getView, type Query } from "../api/client";
import type { ViewId, ViewJson } from "../api/types.gen";
import { Lru } from "../base/lru";
import { useCalm } from "../base/use_calm";
import { places } from "./catalog";
import { param, setParams } from "./params";
import { jobs, ticks, waitForData } from "./progress";
import { isActive, isResumable } from "./reading";

/** An answer of /api/view as a component needs it. `data` is set when the state is "ready", or as far as it is read. */
export interface ViewState<T> {
  answer: ViewJson | null;
  data: T | null;
  error: ApiError | null;
  /** The query that was asked, for the tables of the same view. */
  query: Query;
  /** Ask again now. */
  retry: () => void;
}

interface Held {
  key: string;
  answer: ViewJson | null;
  error: ApiError | null;
}

/** Answers seen lately, so that going back and forth shows something at once. */
const seen = new Lru<string, ViewJson>(24);
/** A view that still reads is asked for again every so many progress answers (0.5 s each), job change or not; more
 * often while it has nothing to show. */
const PATIENCE = 4;
const EAGER = 1;
/** The view of a run is asked for again at most this often: each of many ranks that becomes ready changes it. */
const RUN_CALM_MS = 2000;

/**
 * The answer of a view, asked for again when its data change: files (fingerprint), reading work that begins or ends,
 * TensorBoard's reload. The last answer for the same query stays while the next is under way.
 */
export function useView<T>(id: ViewId, query: Query): ViewState<T> {
  const key = `${id}?${JSON.stringify(query)}`;
  const [held, setHeld] = useState<Held>({ key: "", answer: null, error: null });
  const current: Held = held.key === key ? held : { key, answer: seen.get(key) ?? null, error: null };
  const [tries, setTries] = useState(0);
  const isReading = current.answer?.state === "reading" && !isStopped(current.answer);
  const round = isReading ? Math.floor(ticks.value / (current.answer?.data ? PATIENCE : EAGER)) : 0;
  const revision = useCalm(revisionOf(query), query.run ? RUN_CALM_MS : 0);

  useEffect(() => {
    const controller = new AbortController();
    getView(id, query, controller.signal).then(
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

  // The ranks of a run that is shown already may still be under way.
  const isWaiting = current.answer?.progress.some(isActive) === true;
  useEffect(() => (isReading || isWaiting ? waitForData() : undefined), [isReading || isWaiting]);

  const hasData = current.answer?.state === "ready" || current.answer?.state === "reading";
  const data = hasData ? ((current.answer?.data ?? null) as T | null) : null;
  return { answer: current.answer, data, error: current.error, query, retry: () => setTries(tries + 1) };
}

/** Values that the server refuses were chosen for another span, which the sidebar has left since: they go. */
export function useAccepted(view: ViewState<unknown>, ...keys: readonly string[]): void {
  const isRefused = view.error?.status === 400 && keys.some((key) => param(key) !== "");
  useEffect(() => {
    if (isRefused) setParams(Object.fromEntries(keys.map((key) => [key, null])));
  }, [isRefused]);
}

/** Nothing goes on until the user says so. */
function isStopped({ progress }: ViewJson): boolean {
  return progress.some(isResumable) && !progress.some(isActive);
}

/** Nothing in it has changed, so that nothing need be drawn again: the fingerprint names what it was built of. */
export function isSame(before: ViewJson, after: ViewJson): boolean {
  const rest = ({ state, fingerprint, problems, missing, progress, data }: ViewJson) =>
    JSON.stringify([state, fingerprint, problems, missing, progress, ranksOf(data), versionOf(data)]);
  return before.state === "ready" && rest(before) === rest(after);
}

function ranksOf(data: ViewJson["data"]): unknown {
  return (data as { ranks?: unknown } | null)?.ranks;
}

function versionOf(data: ViewJson["data"]): unknown {
  return (data as { version?: unknown } | null)?.version;
}

/** Changes when the data behind the query may have: fingerprints and states of its spans, as scan and jobs tell them. */
function revisionOf(query: Query): string {
  const spans = new Set<string>();
  for (const name of ["span", "baseline", "experimental"]) if (query[name]) spans.add(String(query[name]));
  const parts: string[] = [];
  for (const { run, span } of places.value.values()) {
    if (query.run && run.id === query.run) spans.add(span.id);
    // The state too: work that began and ended between two looks at the jobs leaves no other trace.
    if (spans.has(span.id)) parts.push(`${span.fingerprint} ${span.state}`);
  }
  for (const job of jobs.value) if (spans.has(job.span)) parts.push(`${job.span} ${job.stage} ${job.state}`);
  return parts.join("|");
}
