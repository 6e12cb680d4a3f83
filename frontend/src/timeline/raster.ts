/** Draws bars into pixels on the CPU: one line of Uint32 per row, then copied to the bar's height. */

import type { SliceRow } from "./decode";
import { endOf, startOf } from "./decode";

/** A line of pixels and what is on it. */
export interface Line {
  /** First time on the line, ns. */
  start: number;
  /** ns per device pixel. */
  scale: number;
  pixels: Uint32Array;
  /** Filled with the indices of bars at least `wideFrom` pixels wide: those that can have a label. */
  wide: number[];
  wideFrom: number;
}

/** Bars at least this wide (device pixels) get an edge, so that neighbours of one colour stay apart. */
const EDGE_FROM = 4;

/** Index of the first bar that ends after `time`; bars of a row do not overlap, so ends grow too. */
export function firstAfter(row: SliceRow, time: number): number {
  let low = 0;
  let high = row.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endOf(row, middle) <= time && startOf(row, middle) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Draws the bars of `row` on `line`. `colours` and `edges` are pixels by name index.
 *
 * Both ends of a slice are cut to pixels the same way, so touching slices have neither gap nor overlap; one that
 * ends where the line starts draws nothing. Of bars within one pixel the longest wins.
 */
export function drawRow(row: SliceRow, line: Line, colours: Uint32Array, edges: Uint32Array): void {
  const { start, scale, pixels } = line;
  const width = pixels.length;
  const stop = start + width * scale;
  let lastPixel = -1;
  let lastLength = -1;
  for (let index = firstAfter(row, start); index < row.start.length; index++) {
    const from = startOf(row, index);
    if (from >= stop) break;
    const left = Math.floor((from - start) / scale);
    // Merged bars may be wider than a pixel: the last one they touch is theirs, or they would stand apart.
    const round = (row.count[index] as number) > 1 ? Math.ceil : Math.floor;
    const right = round((endOf(row, index) - start) / scale);
    const name = row.name[index] as number;
    const length = row.dur[index] as number;
    if (right <= left) {
      if (left < 0 || (left === lastPixel && length <= lastLength)) continue;
      pixels[left] = colours[name] as number;
    } else {
      const first = Math.max(left === lastPixel && length <= lastLength ? left + 1 : left, 0);
      pixels.fill(colours[name] as number, first, Math.min(right, width));
      if (Math.min(right, width) - first >= line.wideFrom) line.wide.push(index);
      if (left >= 0 && first === left && right - left >= EDGE_FROM) pixels[left] = edges[name] as number;
    }
    if (right <= left || right === left + 1) {
      lastPixel = left;
      lastLength = length;
    }
  }
}

/** Copies `line` to rows [top, bottom) of an image that is `line.length` wide. Rows outside are left out. */
export function stamp(image: Uint32Array, line: Uint32Array, top: number, bottom: number): void {
  const width = line.length;
  const height = Math.floor(image.length / width);
  for (let y = Math.max(top, 0); y < Math.min(bottom, height); y++) image.set(line, y * width);
}
