/** The visible rows of a long table. Pure arithmetic. */

export const ROW_PX = 26;
/** Browsers limit the height of an element (Firefox to 17.9 million px); longer tables scroll in proportion. */
const MOST_PX = 15_000_000;
/** Rows drawn beyond both edges, so that scrolling shows no gap. */
const OVERSCAN = 6;

export interface RowWindow {
  /** First and last + 1 row to draw. */
  from: number;
  to: number;
  /** Space above the first drawn row, and total height, px. */
  top: number;
  height: number;
}

/**
 * `open`: index of the row with details of `openPx` height below it, or -1. A hidden container (height 0) gives an
 * empty window.
 */
export function rowWindow(
  count: number,
  scrollTop: number,
  viewPx: number,
  open: number,
  openPx: number,
  rowPx = ROW_PX,
): RowWindow {
  const real = count * rowPx + (open >= 0 ? openPx : 0);
  const height = Math.min(real, MOST_PX);
  const travel = height - viewPx;
  const ratio = travel > 0 ? Math.max(1, (real - viewPx) / travel) : 1;
  // After filtering, the scroll position may be beyond the end until the browser corrects it.
  const at = Math.max(0, Math.min(scrollTop, travel));
  const top = Math.max(0, Math.min(at * ratio, real - viewPx));
  const from = Math.max(0, placeAt(top, open, openPx, rowPx) - OVERSCAN);
  const to = viewPx > 0 ? Math.min(count, placeAt(top + viewPx, open, openPx, rowPx) + 1 + OVERSCAN) : from;
  return { from, to, top: Math.max(0, at - (top - offsetOf(from, open, openPx, rowPx))), height };
}

function placeAt(px: number, open: number, openPx: number, rowPx: number): number {
  const below = (open + 1) * rowPx;
  const plain = open >= 0 && px > below ? Math.max(below, px - openPx) : px;
  return Math.floor(plain / rowPx);
}

/** Distance of a row from the first, px. */
export function offsetOf(place: number, open: number, openPx: number, rowPx = ROW_PX): number {
  return place * rowPx + (open >= 0 && place > open ? openPx : 0);
}

/** Largest number of printed rows: about 20 pages. */
export const PRINTED_ROWS = 1000;

/** Number of printed rows: the first ones that are loaded; printing cannot wait. */
export function printedRows(count: number, isHere: (place: number) => boolean): number {
  const most = Math.min(count, PRINTED_ROWS);
  let rows = 0;
  while (rows < most && isHere(rows)) rows++;
  return rows;
}
