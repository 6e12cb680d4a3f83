import { useMemo } from "preact/hooks";
import type { ColumnJson, TableJson } from "../../api/types.gen";
import { lang } from "../../i18n";
import { type Row, rowAt } from "./columnar";
import { columnFormat } from "./columns";
import { naturalWidth, type ShownColumn } from "./layout";
import type { DataTableProps, SourcedTable } from "./props";
import type { TableState } from "./state";

/** Least width of text columns, px. */
const LEAST_TEXT = 130;
/** Least width of a strip of bars, px. */
const BAR_PX = 60;

/** Keys of the visible columns: the user's choice, else the view's, else all; only existing ones. */
export function shownKeys(
  all: readonly ColumnJson[],
  chosen: readonly string[] | undefined,
  state: TableState,
): string[] {
  const has = new Set(all.map((column) => column.key));
  const wanted = state.columns ?? chosen ?? all.map((column) => column.key);
  const found = wanted.filter((key) => has.has(key));
  return found.length > 0 ? found : [...has];
}

/** Values that determine a column's unit: its own, and those of columns that it is compared with. */
export function comparedValues(
  key: string,
  sample: TableJson["data"],
  compared: DataTableProps["compared"] = [],
): readonly unknown[] {
  const peers = compared.find((group) => group.includes(key)) ?? [key];
  return peers.flatMap((peer) => sample[peer] ?? []);
}

export function useColumns(
  { table, baseNs, bar, cell, compared }: SourcedTable,
  sample: TableJson["data"],
  keys: readonly string[],
  widths: Readonly<Record<string, number>>,
): ShownColumn[] {
  const made = useMemo(() => {
    const found = new Map<string, ShownColumn>();
    for (const column of table.columns) {
      const values = sample[column.key] ?? [];
      const format = columnFormat(column, comparedValues(column.key, sample, compared), baseNs);
      const own = cell?.[column.key];
      const width = naturalWidth(format, values, own && ((index, text) => own(rowAt(sample, index), text)));
      // Texts shrink first: unlike figures, they can be cut.
      const least = format.isFigure ? width : Math.min(width, LEAST_TEXT);
      found.set(column.key, { column, format, bar: false, width: least, natural: width });
    }
    return found;
    // Titles depend on the language.
  }, [table, sample, baseNs, lang.value]);
  const shown: ShownColumn[] = [];
  for (const key of keys) {
    const column = made.get(key);
    if (!column) continue;
    const own = widths[key];
    shown.push(own === undefined ? column : { ...column, width: own, natural: own });
    if (key === bar?.column) shown.push({ ...column, bar: true, width: BAR_PX });
  }
  return shown;
}

/** 0..1 of the largest value of the bars' column; null: no bar. */
export function barsOf(sample: TableJson["data"], bar: DataTableProps["bar"]): (row: Row) => number | null {
  const key = bar?.column ?? "";
  const isApart = bar?.isApart ?? (() => false);
  let most = 0;
  for (const [index, value] of (sample[key] ?? []).entries()) {
    if (typeof value === "number" && value > most && !isApart(rowAt(sample, index))) most = value;
  }
  return (row) => {
    const value = row.get(key);
    return typeof value === "number" && most > 0 && !isApart(row) ? value / most : null;
  };
}
