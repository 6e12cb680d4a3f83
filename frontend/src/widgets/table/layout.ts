import { useMemo } from "preact/hooks";
import type { ColumnJson, TableJson } from "../../api/types.gen";
import { textWidth } from "../../base/text_width";
import { lang } from "../../i18n";
import { type Cell, type Row, rowAt } from "./columnar";
import { type ColumnFormat, columnFormat } from "./columns";
import type { DataTableProps, SourcedTable } from "./props";
import type { TableState } from "./state";

/** A laid-out column. `bar`: the strip of bars after the column `key`, without data of its own. */
export interface ShownColumn {
  column: ColumnJson;
  format: ColumnFormat;
  bar: boolean;
  /** Least width, and width that shows everything, px. */
  width: number;
  natural: number;
}

/** Number of sampled rows for the width of a column. */
const SAMPLE = 200;
/** Padding of a cell, and the arrow of a sorted column, px. */
const PADDING = 17;
const ARROW = 14;

/** Width (px) that fits header and sampled values, within limits. `own`: custom content of a row's cell. */
export function naturalWidth(
  format: ColumnFormat,
  values: readonly unknown[],
  own?: (index: number, text: string) => unknown,
): number {
  const most = format.isFigure ? 220 : 340;
  let widest = textWidth(format.header, "sans", 12) * 1.03 + ARROW;
  for (const [index, value] of values.slice(0, SAMPLE).entries()) {
    const plain = format.text(value as Cell);
    const content = own?.(index, plain);
    const text = typeof content === "string" ? content : plain;
    widest = Math.max(widest, format.isFigure ? textWidth(text, "mono", 12) : textWidth(text, "sans", 13));
  }
  return Math.ceil(Math.min(most, Math.max(48, widest + PADDING)));
}

/** `grid-template-columns` of a row. Texts grow to their natural width; bars take the rest, or else texts. */
export function template(columns: readonly ShownColumn[]): string {
  const hasBar = columns.some((column) => column.bar);
  return columns
    .map(({ bar, format, width, natural }) => {
      if (bar) return `minmax(${width}px, 1fr)`;
      if (format.isFigure) return `${width}px`;
      return hasBar ? `minmax(${width}px, ${natural}px)` : `minmax(${width}px, ${natural}fr)`;
    })
    .join(" ");
}

/** Width of the name column in a table that scrolls sideways, px. */
const NAMES = 220;

/**
 * Fits the columns to a width in px (0: unknown). If they are too wide, bars are dropped; if the table still must
 * scroll, the first text column keeps a readable width.
 */
export function fitColumns(columns: ShownColumn[], room: number): ShownColumn[] {
  if (room === 0 || totalWidth(columns) <= room) return columns;
  const plain = columns.filter(({ bar }) => !bar);
  if (totalWidth(plain) <= room) return plain;
  const names = plain.find(({ format }) => !format.isFigure);
  return plain.map((one) =>
    one === names ? { ...one, width: Math.max(one.width, Math.min(one.natural, NAMES)) } : one,
  );
}

/** Least width of the table. */
export function totalWidth(columns: readonly ShownColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}

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
