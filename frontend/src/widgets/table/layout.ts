import type { ColumnJson } from "../../api/types.gen";
import { textWidth } from "../../base/text_width";
import type { Cell } from "./columnar";
import type { ColumnFormat } from "./columns";

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

/**
 * `grid-template-columns` of a row. Texts grow to their natural width, then bars take the rest; without bars, texts
 * take it.
 */
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
