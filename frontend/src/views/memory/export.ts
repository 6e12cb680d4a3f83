import { csvText } from "../../base/csv";
import type { Series } from "./series";

/** Records of the lines as CSV: one row per record, time in ns after base_ns, size in bytes. */
export function curvesCsv(series: readonly Series[]): string {
  const rows = series.flatMap(({ label, time, values }) =>
    Array.from(time, (moment, at) => [label, moment, values[at] ?? null]),
  );
  return csvText(["curve", "time_ns", "bytes"], rows);
}
