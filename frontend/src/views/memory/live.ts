import { getTable, type Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import { param, setParams } from "../../state/params";
import { type Requested, useRequest } from "../../state/use_request";
import { filterRows, type Where } from "../../widgets/table/columnar";

/** Largest table that the server sends in one answer, rows. */
const ROWS = 20_000;

/** The allocations of the view that are live at `at` (ns after base_ns), the previous ones until they arrive; null: none. */
export function useLive(query: Query, at: number | null): Requested<TableJson> {
  const of = JSON.stringify(query);
  const ask = (signal: AbortSignal) => getTable("memory.allocations", { ...query, live_at: at, limit: ROWS }, signal);
  return useRequest([of, at], at === null ? null : ask, [of]);
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
