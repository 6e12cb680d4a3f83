/**
 * Draws bars into pixels on the CPU. Each row is a line of columns, one per device pixel, that stand from the bottom of
 * the row as high as they are full. Only where the end of a wide slice has a column to itself it is rounded to none or
 * all of it, so that such slices have straight ends.
 *
 * A gap of at least one pixel therefore always leaves a column that is at most half full, and what is painted of a row
 * is the share of the time in which something ran.
 */

import type { SliceRow } from "./decode";
import { busyOf, endOf, longestOf, startOf } from "./decode";

/** The columns of one row. */
export interface Line {
  /** First time on the line, ns. */
  start: number;
  /** ns per device pixel. */
  scale: number;
  colours: Uint32Array;
  /** How full each column is, 0 to 1. */
  fill: Float32Array;
  /** 0 or 1 where only one end of a slice is in the column: what it is rounded to; -1 elsewhere. */
  rounded: Int8Array;
  /** Duration of the longest slice in the column, whose colour it has; infinite of wide ones, -1 where none is. */
  longest: Float32Array;
  /** Filled with the indices of bars at least `wideFrom` pixels wide: those that can have a label. */
  wide: number[];
  wideFrom: number;
}

/** Slices at least this wide (device pixels) have straight ends and an edge, so that neighbours stay apart. */
const WHOLE_FROM = 8;
/** A column too empty for one pixel is drawn all the same where none is near: a lone slice must be seen. */
const LONELY = 8;

export function newLine(start: number, scale: number, width: number, wideFrom: number): Line {
  const line = {
    start,
    scale,
    colours: new Uint32Array(width),
    fill: new Float32Array(width),
    rounded: new Int8Array(width),
    longest: new Float32Array(width),
    wide: [],
    wideFrom,
  };
  clearLine(line);
  return line;
}

export function clearLine(line: Line): void {
  line.fill.fill(0);
  line.rounded.fill(-1);
  line.longest.fill(-1);
  line.wide = [];
}

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

/** Pixels by name index: of slices, of their left edges, and of slices of several names together. */
export interface BarColours {
  fill: Uint32Array;
  edge: Uint32Array;
  merged: Uint32Array;
}

/** Draws the bars of `row` on the columns [from, to) of `line`. */
export function drawRow(row: SliceRow, line: Line, colours: BarColours, from = 0, to = line.fill.length): void {
  const { scale } = line;
  const stop = line.start + to * scale;
  const isFine = row.bin <= scale;
  for (let index = firstAfter(row, line.start + from * scale); index < row.start.length; index++) {
    const begin = startOf(row, index);
    if (begin >= stop) break;
    const end = endOf(row, index);
    const longest = longestOf(row, index);
    // Of slices that start within one pixel only the last can be longer than that.
    const isTail = longest >= scale && (isFine || row.count[index] === 1);
    const tail = isTail ? Math.max(end - longest, begin) : end;
    const name = row.name[index] as number;
    const [colour, edge] = [colours.fill[name] as number, colours.edge[name] as number];
    if (begin < tail || longest === 0) {
      const busy = busyOf(row, index) - (isTail ? longest : 0);
      const part = { begin, end: tail, busy, longest: Math.min(longest, busy) };
      addPart(line, part, row.count[index] === 1 ? colour : (colours.merged[name] as number), from, to);
    }
    if (!isTail) continue;
    if (longest < WHOLE_FROM * scale) addPart(line, { begin: tail, end, busy: longest, longest }, colour, from, to);
    else if (addWhole(line, tail, end, [colour, edge], from, to) >= line.wideFrom) line.wide.push(index);
  }
}

/** A slice that is not wide, or many: `busy` ns somewhere from `begin` to `end`. */
interface Part {
  begin: number;
  end: number;
  busy: number;
  longest: number;
}

function addPart(line: Line, part: Part, colour: number, from: number, to: number): void {
  const { start, scale, fill, longest, colours } = line;
  const [left, right] = [(part.begin - start) / scale, (part.end - start) / scale];
  if (part.longest === 0) {
    // A moment takes no time: it stands where nothing else does.
    const column = Math.floor(left);
    if (column < from || column >= to || (longest[column] as number) >= 0) return;
    [fill[column], longest[column], colours[column]] = [1, 0, colour];
    return;
  }
  const density = Math.min(part.busy / (part.end - part.begin), 1);
  const stop = Math.min(Math.ceil(right), to);
  for (let column = Math.max(Math.floor(left), from); column < stop; column++) {
    const share = (Math.min(right, column + 1) - Math.max(left, column)) * density;
    addShare(line, column, share, part.longest, colour);
  }
}

/** A slice takes a share of a column, in which others may be. */
function addShare(
  { fill, rounded, longest, colours }: Line,
  column: number,
  share: number,
  dur: number,
  colour: number,
) {
  const now = longest[column] as number;
  fill[column] = share + (now === 0 ? 0 : (fill[column] as number));
  rounded[column] = -1;
  if (dur > now) [longest[column], colours[column]] = [dur, colour];
}

/**
 * A wide slice. Both ends of all of them are rounded the same way, so touching ones have neither gap nor
 * overlap. Gives the number of columns.
 */
function addWhole(
  line: Line,
  begin: number,
  end: number,
  [colour, edge]: readonly [number, number],
  from: number,
  to: number,
): number {
  const { start, scale, fill, rounded, longest, colours } = line;
  const [left, right] = [(begin - start) / scale, (end - start) / scale];
  const addEnd = (column: number, share: number, isOwn: boolean) => {
    if (share <= 0 || column < from || column >= to) return;
    const isAlone = (longest[column] as number) <= 0;
    addShare(line, column, share, Number.POSITIVE_INFINITY, colour);
    if (isAlone) rounded[column] = Number(isOwn);
  };
  const [first, stop] = [Math.ceil(left), Math.floor(right)];
  addEnd(first - 1, first - left, Math.round(left) < first);
  addEnd(stop, right - stop, Math.round(right) > stop);
  const [low, high] = [Math.max(first, from), Math.min(stop, to)];
  if (low < high) {
    colours.fill(colour, low, high);
    fill.fill(1, low, high);
    longest.fill(Number.POSITIVE_INFINITY, low, high);
  }
  const [own, next] = [Math.round(left), Math.round(right)];
  if (own >= from && own < to) colours[own] = edge;
  return Math.min(next, to) - Math.max(own, from);
}

/** How columns become heights. */
export interface Steps {
  /** Heights are multiples of it, device pixels. */
  grain: number;
  /** Each column in which something is has at least this height; 0: what is too low adds up, see heightsOf. */
  least: number;
}

/**
 * Heights of the columns of a row that is `height` pixels high. What a column has too much or too little of a whole
 * step goes on to the next one, so that the whole row shows as much as it holds.
 */
export function heightsOf(line: Line, height: number, { grain, least }: Steps = { grain: 1, least: 0 }): Uint16Array {
  const { fill, rounded } = line;
  const heights = new Uint16Array(fill.length);
  let owed = 0;
  let empty = LONELY;
  for (let column = 0; column < heights.length; column++) {
    const share = (rounded[column] as number) < 0 ? (fill[column] as number) : (rounded[column] as number);
    if (share === 0) {
      empty += 1;
      if (empty >= LONELY) owed = 0;
      continue;
    }
    if (share * height >= height - 0.5) heights[column] = height;
    else if (least > 0) heights[column] = Math.max(Math.round(share * height), least);
    else {
      owed += share * height;
      const pixels = Math.max(Math.floor(owed / grain) * grain, empty >= LONELY ? grain : 0);
      heights[column] = pixels;
      owed -= pixels;
    }
    empty = 0;
  }
  return heights;
}

/** Draws the columns of `line` on rows [top, bottom) of an image, as far as they are within [clipTop, clipBottom). */
export function stampColumns(
  image: Uint32Array,
  line: Line,
  [top, bottom]: readonly [number, number],
  [clipTop, clipBottom]: readonly [number, number],
  steps?: Steps,
): void {
  const { colours } = line;
  const width = colours.length;
  const heights = heightsOf(line, bottom - top, steps);
  const stop = Math.min(bottom, clipBottom, Math.floor(image.length / width));
  for (let y = Math.max(top, clipTop, 0); y < stop; y++) {
    const needed = bottom - y;
    const offset = y * width;
    for (let column = 0; column < width; column++) {
      if ((heights[column] as number) >= needed) image[offset + column] = colours[column] as number;
    }
  }
}

/** Copies a line of pixels to rows [top, bottom) of an image that is as wide. Rows outside are left out. */
export function stamp(image: Uint32Array, pixels: Uint32Array, top: number, bottom: number): void {
  const width = pixels.length;
  const height = Math.floor(image.length / width);
  for (let y = Math.max(top, 0); y < Math.min(bottom, height); y++) image.set(pixels, y * width);
}
