import type { ColumnJson, TableJson } from "../../api/types.gen";
import { holdsAll, wordsOf } from "../../base/search";

/** Value of a cell. */
export type Cell = string | number | boolean | null;

/** One row, read from the columns without creating an object per row. */
export interface Row {
  /** Position in the table's data, for keys. */
  index: number;
  get: (key: string) => Cell;
  /** Its own table, if it is one of the rows below a row (`Unfold`). */
  below?: TableJson;
}

/** A condition on rows; default "eq". null stands for unknown: "eq" matches such rows. */
export interface Where {
  column: string;
  op?: "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "has";
  value: string | number | null;
}

export interface Order {
  /** "" keeps the order of the data. */
  key: string;
  desc: boolean;
}

export function rowAt(data: TableJson["data"], index: number): Row {
  return { index, get: (key) => (data[key]?.[index] ?? null) as Cell };
}

/** Indices of the rows that contain each word of `text` in any text column and meet every condition. */
export function filterRows(table: TableJson, text: string, where: readonly Where[]): Int32Array {
  const words = wordsOf(text);
  const texts = table.columns.filter((column) => column.kind === "text").map((column) => table.data[column.key] ?? []);
  const kept = new Int32Array(table.rows);
  let count = 0;
  for (let row = 0; row < table.rows; row++) {
    if (!where.every((condition) => isMatching((table.data[condition.column]?.[row] ?? null) as Cell, condition)))
      continue;
    const cells = words.length === 0 ? [] : texts.map((values) => values[row]);
    if (holdsAll(cells, words)) kept[count++] = row;
  }
  return kept.slice(0, count);
}

function isMatching(found: string | number | boolean | null, { op = "eq", value }: Where): boolean {
  if (op === "eq") return found === value;
  if (op === "ne") return found !== value;
  if (found === null || value === null) return false;
  if (op === "has") return typeof found === "string" && found.toLowerCase().includes(String(value).toLowerCase());
  if (op === "lt") return found < value;
  if (op === "le") return found <= value;
  return op === "gt" ? found > value : found >= value;
}

/** The rows sorted by a column: numbers as numbers, unknown last in both directions, ties in their original order. */
export function sortRows(rows: Int32Array, values: readonly unknown[], isText: boolean, desc: boolean): Int32Array {
  const sign = desc ? -1 : 1;
  return Int32Array.from(rows).sort((left, right) => {
    const a = values[left] ?? null;
    const b = values[right] ?? null;
    if (a === null || b === null) return a === b ? left - right : a === null ? 1 : -1;
    const difference = isText ? collator.compare(String(a), String(b)) : (a as number) - (b as number);
    return sign * difference || left - right;
  });
}

const collator = new Intl.Collator("en", { numeric: true });

/** The sorting after a click on a header: descending for figures, ascending for text; then reversed; then unsorted. */
export function nextOrder(current: Order, initial: Order, column: ColumnJson): Order {
  const first = column.kind !== "text";
  if (current.key !== column.key) return { key: column.key, desc: first };
  if (current.desc === first) return { key: column.key, desc: !first };
  return initial;
}
