import type { ColumnJson } from "../../api/types.gen";
import { textWidth } from "../../base/text_width";
import type { Cell } from "./columnar";
import type { ColumnFormat } from "./columns";

/** A column as it stands on the screen. `bar`: the strip of bars after the column `key`, without data of its own. */
export interface ShownColumn {
  column: ColumnJson;
  format: ColumnFormat;
  bar: boolean;
  /** Least width and the one that shows everything, px. */
  width: number;
  natural: number;
}

/** Rows that are looked at for the width of a column. */
const SAMPLE = 200;
/** Both sides of a cell, and the arrow of a sorted column. */
const PADDING = 17;
const ARROW = 14;

/** Width in px that fits header and sampled values, within limits. `own`: what stands in the cell of a row instead. */
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
 * `grid-template-columns` of a row. Texts grow to their natural width, then bars take what is left; without bars the
 * texts do.
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

/** Width that the names of a table have which must be scrolled anyhow, px. */
const NAMES = 220;

/**
 * The columns in so much room, px (0: not known yet). Where they are too wide, bars give way to figures; where even so
 * the table must be scrolled, the first texts, which are names, can be read.
 */
export function fitting(columns: ShownColumn[], room: number): ShownColumn[] {
  if (room === 0 || totalWidth(columns) <= room) return columns;
  const plain = columns.filter(({ bar }) => !bar);
  if (totalWidth(plain) <= room) return plain;
  const names = plain.find(({ format }) => !format.isFigure);
  return plain.map((one) =>
    one === names ? { ...one, width: Math.max(one.width, Math.min(one.natural, NAMES)) } : one,
  );
}

/** Least width of the whole table. */
export function totalWidth(columns: readonly ShownColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}
