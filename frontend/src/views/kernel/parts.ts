import type { CoreShareJson, TableJson } from "../../api/types.gen";
import { coreColor } from "../../base/color";
import type { Part } from "../../widgets";

/** What a donut is drawn from. `unlisted`: what the view did not send of a long table. */
export interface Parts {
  parts: Part[];
  unlisted: { value: number; count: number };
}

/** Device time by `key` ("name" or "type"), rows of the same key together. */
export function partsBy(table: TableJson, key: "name" | "type", isIncluded: (row: number) => boolean): Part[] {
  const sums = new Map<string, number>();
  const names = table.data[key] ?? [];
  const totals = table.data.total_ns ?? [];
  for (let row = 0; row < table.rows; row++) {
    const name = names[row];
    const total = totals[row];
    if (typeof name !== "string" || typeof total !== "number" || !isIncluded(row)) continue;
    sums.set(name, (sums.get(name) ?? 0) + total);
  }
  return [...sums].map(([name, value]) => ({ id: name, label: name, value }));
}

/** Cores that communicate, by the core column of the other tables. */
export function communicationCores(cores: readonly CoreShareJson[]): ReadonlySet<string | null> {
  return new Set(cores.filter((core) => core.communication).map((core) => core.core));
}

/** Parts of the left donut. `whole`: time of all rows meant, ns; what the table does not list is the difference. */
export function kernelParts(
  table: TableJson,
  key: "name" | "type",
  whole: number,
  skipped: ReadonlySet<string | null>,
): Parts {
  const cores = table.data.core ?? [];
  const parts = partsBy(table, key, (row) => !skipped.has((cores[row] ?? null) as string | null));
  const listed = parts.reduce((sum, part) => sum + part.value, 0);
  const count = table.total - table.rows;
  return { parts, unlisted: count > 0 ? { value: Math.max(0, whole - listed), count } : { value: 0, count: 0 } };
}

/** Parts of the right donut. */
export function coreParts(cores: readonly CoreShareJson[], hasCommunication: boolean, unknown: string): Part[] {
  return cores
    .filter((core) => hasCommunication || !core.communication)
    .map(({ core, total_ns: value }) => ({ id: core ?? "", label: core ?? unknown, value, color: coreColor(core) }));
}
