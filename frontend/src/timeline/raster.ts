/**
 * Draws bars into pixels on the CPU. Each row is a line of columns, one per device pixel. The height of a column is the
 * share of its time in which a slice ran. A column that only holds the end of a wide slice is rounded to empty or full,
 * so that such slices have straight ends. A gap of one pixel or more therefore always leaves a column that is at most
 * half full, and the painted area of a row is the share of the time in which something ran.
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
  /** Rounded fill, 0 or 1, if the column only holds one end of a wide slice; -1 elsewhere. */
  rounded: Int8Array;
  /**
   * Duration of the longest slice in the column, which sets the colour; infinite for wide slices, -1 without a slice.
   */
  longest: Float32Array;
  /** Receives the indices of bars at least `wideFrom` pixels wide: they can have a label. */
  wide: number[];
  wideFrom: number;
}

/** Slices at least this wide (device pixels) get straight ends and an edge that separates neighbours. */
const WHOLE_FROM = 8;
/** A column below one pixel is still drawn if no other column is near, so that a lone slice stays visible. */
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

/** Pixels by colour number: of slices, and of their left edges. */
export interface BarColours {
  fill: Uint32Array;
  edge: Uint32Array;
  /** Colour number of a bar; without it, the index of its name. */
  numberOf?: (row: SliceRow, index: number) => number;
}

/** Draws the bars of `row` on the columns [from, to) of `line`. */
export function drawRow(row: SliceRow, line: Line, colours: BarColours, from = 0, to = line.fill.length): void {
  const { scale } = line;
  const { numberOf } = colours;
  const stop = line.start + to * scale;
  const isFine = row.bin <= scale;
  for (let index = firstAfter(row, line.start + from * scale); index < row.start.length; index++) {
    const begin = startOf(row, index);
    if (begin >= stop) break;
    const end = endOf(row, index);
    const longest = longestOf(row, index);
    // Of the slices that start within one pixel, only the last can be longer than a pixel.
    const isTail = longest >= scale && (isFine || row.count[index] === 1);
    const tail = isTail ? Math.max(end - longest, begin) : end;
    const number = numberOf ? numberOf(row, index) : (row.name[index] as number);
    const [colour, edge] = [colours.fill[number] as number, colours.edge[number] as number];
    if (begin < tail || longest === 0) {
      const busy = busyOf(row, index) - (isTail ? longest : 0);
      const part = { begin, end: tail, busy, longest: Math.min(longest, busy) };
      addPart(line, part, colour, from, to);
    }
    if (!isTail) continue;
    if (longest < WHOLE_FROM * scale) addPart(line, { begin: tail, end, busy: longest, longest }, colour, from, to);
    else if (addWhole(line, tail, end, [colour, edge], from, to) >= line.wideFrom) line.wide.push(index);
  }
}

/** Draws a narrow slice, or several: `busy` ns between `begin` and `end`. */
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
    // An instant event has no duration: it is drawn only where no slice is.
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

/** Adds a slice's share to a column that other slices may share. */
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
 * Draws a wide slice; returns the number of columns. Both ends are rounded the same way for all slices, so adjacent
 * slices have neither gap nor overlap.
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
  /** Heights are multiples of this, device pixels. */
  grain: number;
  /** Least height of a column with a slice; 0: low columns accumulate, see heightsOf. */
  least: number;
}

/**
 * Heights of the columns of a row that is `height` pixels high. The rounding error of each column carries over to the
 * next one, so that the painted area of the row is correct.
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

/** Draws the columns of `line` on rows [top, bottom) of an image, clipped to [clipTop, clipBottom). */
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

/** Copies a line of pixels to rows [top, bottom) of an image of the same width. Rows outside are skipped. */
export function stampLine(image: Uint32Array, pixels: Uint32Array, top: number, bottom: number): void {
  const width = pixels.length;
  const height = Math.floor(image.length / width);
  for (let y = Math.max(top, 0); y < Math.min(bottom, height); y++) image.set(pixels, y * width);
}
