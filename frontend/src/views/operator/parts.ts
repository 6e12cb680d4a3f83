import type { OperatorJson, TableJson } from "../../api/types.gen";
import type { Part } from "../../widgets";

/** The four times of an operator. */
export const METRICS = ["device_self", "device_total", "host_self", "host_total"] as const;
export type Metric = (typeof METRICS)[number];

/** Data of a donut. `calls`: of its operators. */
export interface OperatorParts {
  parts: Part[];
  calls: number;
  unlisted: { value: number; count: number };
}

/**
 * Time by operator. Without `hasCommunication`, all four donuts exclude communication operators, so that they cover the
 * same calls, and total device time excludes that of communication operators nested in others. Rows that a long table does not list count as unlisted.
 */
export function operatorParts(
  table: TableJson,
  data: OperatorJson,
  metric: Metric,
  hasCommunication: boolean,
): OperatorParts {
  const { name = [], calls = [], communication = [] } = table.data;
  const times = table.data[`${metric}_ns`] ?? [];
  const inside = metric === "device_total" && !hasCommunication ? (table.data.communication_total_ns ?? []) : [];
  const parts: Part[] = [];
  let count = 0;
  let listed = 0;
  for (let row = 0; row < table.rows; row++) {
    const value = times[row];
    listed += typeof value === "number" ? value : 0;
    if (communication[row] === 1 && !hasCommunication) continue;
    count += Number(calls[row] ?? 0);
    const label = String(name[row] ?? "");
    const own = typeof value === "number" ? value - Number(inside[row] ?? 0) : 0;
    if (own > 0) parts.push({ id: label, label, value: own });
  }
  const missing = table.total - table.rows;
  const rest = Math.max(0, (data[`${metric}_ns`] ?? 0) - listed);
  return { parts, calls: count, unlisted: missing > 0 ? { value: rest, count: missing } : { value: 0, count: 0 } };
}

/** Frames, outermost first, from the file's order (innermost first, one per line). */
export function frames(stack: string): string[] {
  return stack
    .split("\n")
    .map((frame) => frame.trim())
    .filter(Boolean)
    .reverse();
}
