import type { TableJson } from "../../api/types.gen";

type Figures = readonly (number | null)[];

/** State of one queue at each batch. */
export interface QueueSeries {
  queue: string;
  batch: Figures;
  size: Figures;
  capacity: number | null;
  /** Means in entries and ns; null if unknown. */
  average: number | null;
  get: number | null;
  push: number | null;
  total: number | null;
}

/** The queues in the table "batches", host first. */
export function queueSeries(table: TableJson): QueueSeries[] {
  const names = (table.data.queue ?? []) as (string | null)[];
  const batches = (table.data.batch ?? []) as Figures;
  return ["host", "device"].flatMap((queue) => {
    const rows = names
      .map((name, row) => (name === queue ? row : -1))
      .filter((row) => row >= 0)
      .sort((a, b) => (batches[a] ?? 0) - (batches[b] ?? 0));
    if (rows.length === 0) return [];
    const column = (key: string) => rows.map((row) => ((table.data[key] ?? []) as Figures)[row] ?? null);
    const size = column("size");
    return [
      {
        queue,
        batch: column("batch"),
        size,
        capacity: column("capacity").find((value) => value !== null) ?? null,
        average: meanOf(size),
        get: meanOf(column("get_ns")),
        push: meanOf(column("push_ns")),
        total: meanOf(column("total_ns")),
      },
    ];
  });
}

function meanOf(values: Figures): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}
