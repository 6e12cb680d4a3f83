import { useEffect, useState } from "preact/hooks";
import { ApiError, getView, type Query } from "../api/client";
import type { ViewJson } from "../api/types.gen";
import { Lru } from "../base/lru";
import type { ViewId } from "../views/view";
import { places } from "./catalog";
import { jobs, ticks, waitForData } from "./progress";

/** An answer of /api/view as a component needs it. `data` is set when the state is "ready". */
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
/** A view that still reads is asked for again every so many progress answers (0.5 s each), job change or not. */
const PATIENCE = 4;

/**
 * The answer of a view, asked for again when its data change: files (fingerprint), reading work that begins or ends,
 * TensorBoard's reload. The last answer for the same query stays while the next is under way.
 */
export function useView<T>(id: ViewId, query: Query): ViewState<T> {
  const key = `${id}?${JSON.stringify(query)}`;
  const [held, setHeld] = useState<Held>({ key: "", answer: null, error: null });
  const current: Held = held.key === key ? held : { key, answer: seen.get(key) ?? null, error: null };
  const [tries, setTries] = useState(0);
  const isReading = current.answer?.state === "reading";
  const round = isReading ? Math.floor(ticks.value / PATIENCE) : 0;
  const revision = revisionOf(query);

  useEffect(() => {
    const controller = new AbortController();
    getView(id, query, controller.signal).then(
      (answer) => {
        seen.set(key, answer);
        setHeld({ key, answer, error: null });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setHeld({ key, answer: null, error: asApiError(error) });
      },
    );
    return () => controller.abort();
  }, [key, revision, round, tries]);

  useEffect(() => (isReading ? waitForData() : undefined), [isReading]);

  const data = current.answer?.state === "ready" ? (current.answer.data as T | null) : null;
  return { answer: current.answer, data, error: current.error, query, retry: () => setTries(tries + 1) };
}

function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError("client", String(error), "", 0);
}

/** Changes when the data behind the query may have: fingerprints and job states of its spans. */
function revisionOf(query: Query): string {
  const spans = new Set<string>();
  for (const name of ["span", "baseline", "experimental"]) if (query[name]) spans.add(String(query[name]));
  const parts: string[] = [];
  for (const place of places.value.values()) {
    if (query.run && place.run.id === query.run) spans.add(place.span.id);
    if (spans.has(place.span.id)) parts.push(place.span.fingerprint);
  }
  for (const job of jobs.value) if (spans.has(job.span)) parts.push(`${job.span} ${job.stage} ${job.state}`);
  return parts.join("|");
}
