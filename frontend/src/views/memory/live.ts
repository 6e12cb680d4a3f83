import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError, getTable, type Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import { Latest } from "../../base/async";
import { param, setParams } from "../../state/params";
import { filterRows, type Where } from "../../widgets/table/columnar";

/** Allocations live at a time. `bytes` null: not all sizes are loaded. */
export interface Live {
  table: TableJson | null;
  error: ApiError | null;
}

const NONE: Live = { table: null, error: null };

/** Largest table that the server sends in one answer, rows. */
const ROWS = 20_000;

/** The allocations of a request of the view that are live at `at` (ns after base_ns); null sends no request. */
export function useLive(query: Query, at: number | null): Live {
  const [held, setHeld] = useState<{ of: string; live: Live }>({ of: "", live: NONE });
  const latest = useRef(new Latest());
  const of = Object.values(query).join(" ");

  useEffect(() => {
    if (at === null) return;
    latest.current
      .run((signal) => getTable("memory.allocations", { ...query, live_at: at, limit: ROWS }, signal))
      .then(
        (table) => table && setHeld({ of, live: { table, error: null } }),
        (error: unknown) => setHeld({ of, live: { table: null, error: asApiError(error) } }),
      );
    return () => latest.current.cancel();
  }, [of, at]);

  // The previous answer stays on screen until the next one arrives.
  return at === null || held.of !== of ? NONE : held.live;
}

/** Sum of the sizes; null unless all rows are loaded. */
export function sumOf(table: TableJson): number | null {
  if (table.rows < table.total) return null;
  return (table.data.size_bytes ?? []).reduce<number>((sum, size) => sum + (typeof size === "number" ? size : 0), 0);
}

/** Number of rows that meet the conditions, and the sum of their sizes; null unless all rows are loaded. */
export function heldOf(table: TableJson, where: readonly Where[]): { count: number; bytes: number } | null {
  if (table.rows < table.total) return null;
  const rows = [...filterRows(table, "", where)];
  const sizes = table.data.size_bytes ?? [];
  return { count: rows.length, bytes: rows.reduce((sum, row) => sum + Number(sizes[row] ?? 0), 0) };
}

/** A time from the URL: ns, or "peak". */
export function momentOf(text: string, peakAt: number | null): number | null {
  if (text === "peak") return peakAt;
  return /^-?\d+$/.test(text) ? Number(text) : null;
}

/** Parameters that hold times of one capture and are void in another. */
type Moment = "m.range" | "m.live";

/** A time of this span from the URL; "" if absent or chosen in another span. */
export function momentParam(name: Moment, span: string): string {
  return param("m.of") === span ? param(name) : "";
}

/** Writes times of this span to the URL; removes those of another span. */
export function setMoment(span: string, changes: Partial<Record<Moment | "m.tab", string | null>>): void {
  const kept = param("m.of") === span ? {} : { "m.range": null, "m.live": null };
  setParams({ ...kept, ...changes, "m.of": span });
}
