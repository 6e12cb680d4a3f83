import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError, getTable, type Query } from "../api/client";
import type { TableJson } from "../api/types.gen";

/** The answer of a request, or its error; both null while it is under way. */
export interface Requested<T> {
  value: T | null;
  error: ApiError | null;
  retry: () => void;
}

interface Held<T> {
  of: readonly unknown[];
  value: T | null;
  error: ApiError | null;
}

const isSame = (a: readonly unknown[], b: readonly unknown[]) => a.every((one, at) => one === b[at]);

/**
 * Asks when one of `of` changes; `ask` null asks nothing. `staysFor`: an answer stays until the next one arrives while these are the
 * same.
 */
export function useRequest<T>(
  of: readonly unknown[],
  ask: ((signal: AbortSignal) => Promise<T>) | null,
  staysFor: readonly unknown[] = of,
): Requested<T> {
  const [held, setHeld] = useState<Held<T> | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!ask) return;
    const abort = new AbortController();
    const show = (value: T | null, error: ApiError | null) => {
      if (!abort.signal.aborted) setHeld({ of: staysFor, value, error });
    };
    ask(abort.signal).then(
      (value) => show(value, null),
      (reason: unknown) => show(null, asApiError(reason)),
    );
    return () => abort.abort();
  }, [...of, ask === null, tries]);
  const shown = ask && held && isSame(held.of, staysFor) ? held : null;
  return { value: shown?.value ?? null, error: shown?.error ?? null, retry: () => setTries(tries + 1) };
}

/** The first rows of a table. `query` null: no request. */
export function useTable(id: string, query: Query | null): Requested<TableJson> {
  const ask = query && ((signal: AbortSignal) => getTable(id, query, signal));
  return useRequest([id, JSON.stringify(query)], ask);
}
