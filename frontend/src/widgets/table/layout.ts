import type { ColumnJson } from "../../api/types.gen";
import type { Cell } from "./columnar";
import type { ColumnFormat } from "./columns";

/** A column as it stands on the screen. `bar`: the strip of bars after the column `key`, without data of its own. */
export interface ShownColumn {
  column: ColumnJson;
  format: ColumnFormat;
  bar: boolean;
  /** Least width in px; `grow` is its part of what is left over. */
  width: number;
  grow: number;
}

/** Rows that are looked at for the width of a column. */
const SAMPLE = 200;
const MONO_PX = 7.4;
const SANS_PX = 7;
const PADDING = 18;

/** Width in px that fits header and sampled values, between 64 and `most`. */
export function naturalWidth(format: ColumnFormat, values: readonly unknown[]): number {
  const most = format.isFigure ? 200 : 340;
  const perLetter = format.isFigure ? MONO_PX : SANS_PX;
  let letters = 0;
  for (const value of values.slice(0, SAMPLE)) letters = Math.max(letters, format.text(value as Cell).length);
  const header = format.header.length * SANS_PX + 12;
  return Math.round(Math.min(most, Math.max(64, header + PADDING, letters * perLetter + PADDING)));
}

/** `grid-template-columns` of a row. */
export function template(columns: readonly ShownColumn[]): string {
  return columns.map(({ width, grow }) => (grow > 0 ? `minmax(${width}px, ${grow}fr)` : `${width}px`)).join(" ");
}

/** Least width of the whole table. */
export function totalWidth(columns: readonly ShownColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}
