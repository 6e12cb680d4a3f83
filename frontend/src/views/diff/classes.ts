import type { ClassDifference, DiffJson, DiffStepJson, TableJson } from "../../api/types.gen";
import { signedDecimals } from "../../base/format";
import type { Period } from "../../i18n";
import type { Where } from "../../widgets";
import { phaseName } from "../../widgets/parts";

/** Direction of a change: more time is slower. */
export type Direction = "slower" | "faster" | "same";

export function direction(difference: number | null): Direction {
  if (difference === null || difference === 0) return "same";
  return difference > 0 ? "slower" : "faster";
}

/** Class of its colour. */
export function changeClass(difference: number): string {
  return { slower: "worse", faster: "good", same: "" }[direction(difference)];
}

/** Class of a difference; "" if its figure is zero as it is written. */
export const lookOf = (difference: number, text: string): string => (/[1-9]/.test(text) ? changeClass(difference) : "");

/** Ids instead of a pair of steps: the mean step of each side; the whole captures, if a side has no steps. */
export const MEAN = "mean";
export const WHOLE = "*";

/** True if one pair of steps is chosen, not all of them. */
export function isPair(pair: DiffStepJson): boolean {
  return pair.baseline_step !== null;
}

/** The scope of the figures. */
export function shownPair(data: DiffJson): DiffStepJson | null {
  return data.steps.find((pair) => pair.id === data.shown) ?? null;
}

/** A class as it is drawn: bars as shares of the largest, 0..1. */
export interface ClassRow extends ClassDifference {
  baseline: number;
  experimental: number;
  /** Signed share of the largest difference. */
  change: number;
}

export function classRows(classes: readonly ClassDifference[]): ClassRow[] {
  const longest = Math.max(1, ...classes.flatMap((row) => [row.baseline_ns, row.experimental_ns]));
  const widest = Math.max(1, ...classes.map((row) => Math.abs(row.difference_ns)));
  return classes.map((row) => ({
    ...row,
    baseline: row.baseline_ns / longest,
    experimental: row.experimental_ns / longest,
    change: row.difference_ns / widest,
  }));
}

/** Sums of all classes. */
export function totals(classes: readonly ClassDifference[]): {
  baseline: number;
  experimental: number;
  difference: number;
} {
  const sum = (of: (row: ClassDifference) => number) => classes.reduce((total, row) => total + of(row), 0);
  return {
    baseline: sum((row) => row.baseline_ns),
    experimental: sum((row) => row.experimental_ns),
    difference: sum((row) => row.difference_ns),
  };
}

/** Changes smaller than this share of the largest are not listed with it. */
const WORTH = 0.1;

/** The classes with the largest changes, in either direction. */
export function largestChanges(classes: readonly ClassDifference[], most: number): ClassDifference[] {
  const size = (row: ClassDifference) => Math.abs(row.difference_ns);
  const sorted = classes.filter((row) => size(row) > 0).sort((a, b) => size(b) - size(a));
  return sorted.slice(0, most).filter((row) => size(row) >= WORTH * size(sorted[0] ?? row));
}

/** The four times of an operator, by column name. */
export type Time = "device_self" | "device_total" | "host_self" | "host_total";
export const TIMES: readonly Time[] = ["device_self", "device_total", "host_self", "host_total"];

/** Filter of the rows. */
export type Change = "any" | "slower" | "faster" | "new" | "gone";
export const CHANGES: readonly Change[] = ["any", "slower", "faster", "new", "gone"];

/** Conditions on a table with the direction in `column`; rows of one side only count as changed. */
export function changeWhere(change: Change, column: string): Where[] {
  switch (change) {
    case "slower":
    case "faster":
      return [{ column, value: change }];
    case "new":
      return [{ column: "baseline_calls", value: 0 }];
    case "gone":
      return [{ column: "experimental_calls", value: 0 }];
    default:
      return [];
  }
}

/** Adds the sign to a formatted figure: "+0.432". Colour alone is never enough. */
export function withSign(value: number, text: string): string {
  return value > 0 && /[1-9]/.test(text) && !/^[+<−]/.test(text) ? `+${text}` : text;
}

/** A ratio as a signed percentage: "+51.3 %". */
export function signedShare(ratio: number): string {
  return `${signedDecimals(ratio * 100, 1)} %`;
}

/** Sorts the rows by the size of the change, slower or faster; unknown ones last. Keeps a page of rows as it is. */
export function byChange(table: TableJson, column: string): TableJson {
  if (table.rows < table.total) return table;
  const values = table.data[column] ?? [];
  const size = (row: number) => (typeof values[row] === "number" ? Math.abs(values[row]) : -1);
  const order = values.map((_, row) => row).sort((a, b) => size(b) - size(a) || a - b);
  const data = Object.fromEntries(
    Object.entries(table.data).map(([key, cells]) => [key, order.map((row) => cells[row])]),
  );
  return { ...table, data, sort: "", desc: false };
}

/** A step by its number, or iterations by phase and requests: "Decode 8". */
export const stepName = (name: string, period: Period): string =>
  period === "iteration" ? name.replace(/^[a-z]+/, phaseName) : name;
