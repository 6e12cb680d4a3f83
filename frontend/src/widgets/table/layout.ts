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
/** Padding of a cell, the arrow of a sorted column, and the button that unfolds a row, px. */
const PADDING = 17;
const ARROW = 14;
const UNFOLD = 20;

/** Most width of a column of figures, of texts, and of names. */
const MOST = { figure: 220, text: 340, name: 600 } as const;

/** Width (px) that fits header and sampled values, within limits. `own`: custom content of a row's cell. */
export function naturalWidth(
  format: ColumnFormat,
  values: readonly unknown[],
  own?: (index: number, text: string) => unknown,
  isName = false,
): number {
  const most = MOST[format.isFigure ? "figure" : isName ? "name" : "text"];
  let widest = textWidth(format.header, "sans", 12) * 1.03 + ARROW;
  for (const [index, value] of values.slice(0, SAMPLE).entries()) {
    const plain = format.text(value as Cell);
    const content = own?.(index, plain);
    const text = typeof content === "string" ? content : plain;
    widest = Math.max(widest, format.isFigure ? textWidth(text, "mono", 12) : textWidth(text, "sans", 13));
  }
  return Math.ceil(Math.min(most, Math.max(48, widest + PADDING)));
}

/** Width (px) of the widest text of some, of the first ones. */
const widestOf = (texts: readonly string[]) =>
  Math.max(0, ...texts.slice(0, SAMPLE).map((text) => Math.ceil(textWidth(text, "sans", 13)))) + PADDING;

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
 * Fits the columns to a width in px (0: unknown). The names, the first texts, are whole while a column of `yields` can give way. If
 * that is not enough, bars are dropped and names are cut; if the table still must scroll, they keep a readable width.
 */
export function fitColumns(columns: ShownColumn[], room: number, yields: readonly string[] = []): ShownColumn[] {
  if (room === 0) return columns;
  const names = columns.find(({ format }) => !format.isFigure);
  const named = (width: number) => (one: ShownColumn) => (one === names ? { ...one, width } : one);
  const isLeft = (given: ReadonlySet<string>) => (one: ShownColumn) => !given.has(one.bar ? BAR : one.column.key);
  for (let count = 0; names && count <= yields.length; count++) {
    const left = columns.filter(isLeft(new Set(yields.slice(0, count)))).map(named(names.natural));
    if (totalWidth(left) <= room) return left;
  }
  const kept = columns.filter(isLeft(new Set(yields)));
  if (totalWidth(kept) <= room) return kept;
  const plain = kept.filter(({ bar }) => !bar);
  if (!names || totalWidth(plain) <= room) return plain;
  return plain.map(named(Math.max(names.width, Math.min(names.natural, NAMES))));
}

/** The strip of bars among the columns that give way. */
const BAR = "bar";

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
  { table, baseNs, bar, cell, compared, unfold }: SourcedTable,
  sample: TableJson["data"],
  keys: readonly string[],
  widths: Readonly<Record<string, number>>,
  labels: readonly string[] = [],
): ShownColumn[] {
  const first = keys.find((key) => table.columns.some((column) => column.key === key && column.kind === "text"));
  const made = useMemo(() => {
    const found = new Map<string, ShownColumn>();
    for (const column of table.columns) {
      if (!keys.includes(column.key)) continue;
      const values = sample[column.key] ?? [];
      const format = columnFormat(column, comparedValues(column.key, sample, compared), baseNs);
      const own = cell?.[column.key];
      const text = own && ((index: number, shown: string) => own(rowAt(sample, index), shown));
      const width =
        naturalWidth(format, values, text, column.key === first) + (column.key === first && unfold ? UNFOLD : 0);
      // Texts shrink first: unlike figures, they can be cut.
      const least = format.isFigure ? width : Math.min(width, LEAST_TEXT);
      found.set(column.key, { column, format, bar: false, width: least, natural: width });
    }
    return found;
    // Titles depend on the language.
  }, [table, sample, baseNs, keys.join(), lang.value]);
  const shown: ShownColumn[] = [];
  for (const key of keys) {
    const column = made.get(key);
    if (!column) continue;
    const own = widths[key];
    const label = key === first ? Math.min(MOST.name, widestOf(labels) + UNFOLD) : 0;
    shown.push(
      own === undefined
        ? { ...column, natural: Math.max(column.natural, label) }
        : { ...column, width: own, natural: own },
    );
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
