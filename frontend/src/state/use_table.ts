import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError, getTable, type Query } from "../api/client";
import type { TableJson } from "../api/types.gen";

interface Answer {
  table: TableJson | null;
  error: ApiError | null;
}

const NONE: Answer = { table: null, error: null };

/** The first rows of a table, or the error; both null while loading. `query` null: no request. */
export function useTable(id: string, query: Query | null): Answer & { retry: () => void } {
  const key = query === null ? "" : `${id}?${JSON.stringify(query)}`;
  const [held, setHeld] = useState<{ key: string; answer: Answer }>({ key: "", answer: NONE });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (query === null) return;
    const controller = new AbortController();
    getTable(id, query, controller.signal).then(
      (table) => setHeld({ key, answer: { table, error: null } }),
      (reason: unknown) => {
        if (!controller.signal.aborted) setHeld({ key, answer: { table: null, error: asApiError(reason) } });
      },
    );
    return () => controller.abort();
  }, [key, tries]);
  return { ...(held.key === key ? held.answer : NONE), retry: () => setTries(tries + 1) };
}
