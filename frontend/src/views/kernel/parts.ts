import type { CoreTime, TableJson } from "../../api/types.gen";
import { COMMUNICATION, coreColor } from "../../base/color";
import { formatPick, type Part, type Pick, type Row } from "../../widgets";

/** Data of a donut. `unlisted`: size of the rows of a long table that the view did not send. */
export interface Parts {
  parts: Part[];
  unlisted: { value: number; count: number };
}

/** Device time by `key` ("name" or "type"); `unknown` is the name of rows without one. */
function partsBy(
  table: TableJson,
  key: "name" | "type",
  isIncluded: (row: number) => boolean,
  unknown: string,
): Part[] {
  const sums = new Map<string, number>();
  const names = table.data[key] ?? [];
  const totals = table.data.total_ns ?? [];
  for (let row = 0; row < table.rows; row++) {
    const name = names[row];
    const total = totals[row];
    if (typeof total !== "number" || !isIncluded(row)) continue;
    const id = typeof name === "string" ? name : "";
    sums.set(id, (sums.get(id) ?? 0) + total);
  }
  return [...sums].map(([id, value]) => ({ id, label: id || unknown, value }));
}

/** Cores that only communicate, by the core column of the other tables. */
export function communicationCores(cores: readonly CoreTime[]): ReadonlySet<string | null> {
  const computing = new Set(cores.filter((core) => !core.communication).map((core) => core.core));
  return new Set(cores.map((core) => core.core).filter((core) => !computing.has(core)));
}

/** Content of the left donut. `communication`: its name and time if included. */
export interface Meant {
  computingNs: number;
  communication: { label: string; ns: number } | null;
  /** Cores that communicate. */
  cores: ReadonlySet<string | null>;
  /** Label of unknown names and types. */
  unknown: string;
}

/** Parts of the left donut. For a partial table, the rest of the computing time is unlisted. */
export function kernelParts(table: TableJson, key: "name" | "type", meant: Meant): Parts {
  const cores = table.data.core ?? [];
  const communicates = table.data.communication;
  const isComputing = (row: number) =>
    communicates ? communicates[row] === 0 : !meant.cores.has((cores[row] ?? null) as string | null);
  const parts = partsBy(table, key, isComputing, meant.unknown);
  const listed = parts.reduce((sum, part) => sum + part.value, 0);
  const count = table.total - table.rows;
  if (meant.communication) parts.push(...communicationParts(table, key, isComputing, meant, meant.communication));
  return {
    parts,
    unlisted: count > 0 ? { value: Math.max(0, meant.computingNs - listed), count } : { value: 0, count: 0 },
  };
}

/** Communication by name or type; one part if the table (op_statistic.csv) does not list it. */
function communicationParts(
  table: TableJson,
  key: "name" | "type",
  isComputing: (row: number) => boolean,
  { unknown }: Meant,
  { label, ns }: { label: string; ns: number },
): Part[] {
  const parts = partsBy(table, key, (row) => !isComputing(row), unknown);
  return parts.length > 0 ? parts : [{ id: label, label, value: ns, color: COMMUNICATION, isFixed: true }];
}

/** Parts of the right donut. */
export function coreParts(cores: readonly CoreTime[], hasCommunication: boolean, unknown: string): Part[] {
  return cores
    .filter((core) => hasCommunication || !core.communication)
    .map(({ core, total_ns: value }) => ({ id: core ?? "", label: core ?? unknown, value, color: coreColor(core) }));
}

/** The condition for the calls behind a row of "Statistic" or "Type and core": its name or type, on its core. */
export function callsOf(row: Row): Record<"kernel.pick" | "kernel.core" | "kernel.group", string | null> {
  const text = (key: string) => String(row.get(key) ?? "");
  const column = typeof row.get("name") === "string" ? "name" : "type";
  const call = text("call");
  return {
    "kernel.pick": formatPick(column, CALL.test(call) ? call : text(column)),
    // A kind of kernels is narrower than its core.
    "kernel.core": row.below ? formatPick("input_shapes", text("input_shapes")) : formatPick("core", text("core")),
    "kernel.group": text("group") ? formatPick("group", text("group")) : null,
  };
}

/** The name of a kind of kernels and its shapes: of what a row of "By name" or "By type" unfolds to. */
export function kindLabel(row: Row, name: "name" | "call"): string {
  return [row.get(name), row.get("input_shapes")].filter(Boolean).join(" \u00b7 ");
}

/** The name of one call of a collective, as links of releases hold that did not fold calls. */
const CALL = /^(hcom_.*?)(?:_+\d+)+$/;

/** The selection that a table shows. Single calls have a column with their name in "By name". */
export function pickOfCalls(table: TableJson, pick: Pick | null): Pick | null {
  if (pick?.column !== "name") return pick;
  const hasCalls = table.columns.some((column) => column.key === "folded");
  const folded = CALL.exec(pick.value)?.[1];
  if (folded !== undefined) return hasCalls ? pick : { ...pick, value: folded };
  return hasCalls ? { ...pick, column: "folded" } : pick;
}
