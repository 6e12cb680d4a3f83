/**
 * Draws bars into pixels on the CPU. Each row is a line of columns, one per device pixel. The height of a column is the
 * share of its time in which a slice ran. A column that only holds the end of a wide slice is rounded to empty or full,
 * so that such slices have straight ends. A gap of one pixel or more therefore always leaves a column that is at most
 * half full, and the painted area of a row is the share of the time in which something ran. Slices that wait stand behind
 * those that work: the lower part of a column is the share of work.
 */

import { firstIndex } from "../base/search";
import { busyOf, endOf, longestOf, type SliceRow, startOf, waitOf } from "./decode";

/** The columns of one row. */
export interface Line {
  /** First time on the line, ns. */
  start: number;
  /** ns per device pixel. */
  scale: number;
  colours: Uint32Array;
  /** How full each column is, 0 to 1. */
  fill: Float32Array;
  /** Share of the time of each column in which a slice waits; a part of `fill`. */
  wait: Float32Array;
  hasWaits: boolean;
  /** Colours behind work where slices wait. */
  behind: Uint32Array;
  /** Rounded fill, 0 or 1, if the column only holds one end of a wide slice; -1 elsewhere. */
  rounded: Int8Array;
  /** Duration of the longest slice in the column, which sets the colour; infinite for wide ones, -1 without any. */
  longest: Float32Array;
  /** Receives the indices of bars at least `wideFrom` pixels wide: they can have a label. */
  wide: number[];
  wideFrom: number;
  /** The columns that may be drawn. */
  from: number;
  to: number;
  /** Memory of heightsOf and of stampColumns. */
  heights: Uint16Array;
  next: Int32Array;
  nextWait: Int32Array;
}

/** Slices at least this wide (device pixels) get straight ends and an edge that separates neighbours. */
const WHOLE_FROM = 8;
/** As `longest` of a column: every slice that works wins. */
const WAITING = 1e-30;
/** A column below one pixel is still drawn if no other column is near, so that a lone slice stays visible. */
const LONELY = 8;

export function newLine(start: number, scale: number, width: number, wideFrom: number): Line {
  const line = {
    start,
    scale,
    colours: new Uint32Array(width),
    fill: new Float32Array(width),
    wait: new Float32Array(width),
    hasWaits: false,
    behind: new Uint32Array(width),
    rounded: new Int8Array(width),
    longest: new Float32Array(width),
    wide: [],
    wideFrom,
    from: 0,
    to: width,
    heights: new Uint16Array(width),
    next: new Int32Array(width),
    nextWait: new Int32Array(width),
  };
  clearLine(line);
  return line;
}

/** Empties a line, for other times if they are given. */
export function clearLine(line: Line, start = line.start, scale = line.scale): void {
  line.start = start;
  line.scale = scale;
  line.fill.fill(0);
  if (line.hasWaits) line.wait.fill(0);
  line.hasWaits = false;
  line.rounded.fill(-1);
  line.longest.fill(-1);
  line.wide = [];
}

/** Index of the first bar that ends after `time`; bars of a row do not overlap, so ends grow too. */
export function firstAfter(row: SliceRow, time: number): number {
  return firstIndex(row.start.length, (index) => endOf(row, index) <= time && startOf(row, index) < time);
}

/** Pixels by colour number: of slices, and of their left edges. */
export interface BarColours {
  fill: Uint32Array;
  edge: Uint32Array;
  /** Colour numbers by name index, or what gives that of a bar. */
  numbers: Uint8Array | ((row: SliceRow, index: number) => number);
  /** Colour number of slices that wait, where work wins; without it, the longest slice of a bar gives its colour. */
  waits?: number;
}

/** Colour number of a bar. */
export function numberOf(numbers: BarColours["numbers"], row: SliceRow, index: number): number {
  return typeof numbers === "function" ? numbers(row, index) : (numbers[row.name[index] as number] as number);
}

/** Draws the bars of `row` on the columns [from, to) of `line`. */
export function drawRow(row: SliceRow, line: Line, colours: BarColours, from = 0, to = line.fill.length): void {
  const { scale } = line;
  const { numbers, fill, edge } = colours;
  const stop = line.start + to * scale;
  const isFine = row.bin <= scale;
  const hasWaits = colours.waits !== undefined && row.wait.length > 0;
  if (hasWaits) line.behind.fill(fill[colours.waits as number] as number);
  line.hasWaits ||= hasWaits;
  line.from = from;
  line.to = to;
  for (let index = firstAfter(row, line.start + from * scale); index < row.start.length; index++) {
    const begin = startOf(row, index);
    if (begin >= stop) break;
    const end = endOf(row, index);
    const longest = longestOf(row, index);
    // Of the slices that start within one pixel, only the last can be longer than a pixel.
    const isTail = longest >= scale && (isFine || row.count[index] === 1);
    const tail = isTail ? Math.max(end - longest, begin) : end;
    const number = numberOf(numbers, row, index);
    const wait = hasWaits ? waitOf(row, index) : 0;
    const busy = busyOf(row, index);
    const isWait = wait > 0 && (wait === busy || row.work[index] !== row.name[index]);
    const colour = fill[number] as number;
    if (begin < tail || longest === 0) {
      const rest = busy - (isTail ? longest : 0);
      const waiting = wait - (isTail && isWait ? longest : 0);
      const own = wait > 0 ? colourOfPart(row, index, colours, rest > waiting) : colour;
      if (longest === 0 || rest === 0) addInstant(line, begin, colour);
      else addPart(line, begin, tail, rest, rest > waiting ? Math.min(longest, rest - waiting) : WAITING, own, waiting);
    }
    if (!isTail) continue;
    const key = isWait ? WAITING : longest;
    if (longest < WHOLE_FROM * scale) addPart(line, tail, end, longest, key, colour, isWait ? longest : 0);
    else if (addWhole(line, tail, end, colour, edge[number] as number, isWait) >= line.wideFrom) line.wide.push(index);
  }
}

/** Colour of a part of a bar with slices that wait. */
function colourOfPart(row: SliceRow, index: number, { fill, numbers, waits }: BarColours, works: boolean): number {
  const number = works ? (numbers as Uint8Array)[row.work[index] as number] : waits;
  return fill[number as number] as number;
}

/** Draws an event without duration, only where no slice is. */
function addInstant({ start, scale, from, to, fill, longest, colours }: Line, time: number, colour: number): void {
  const column = Math.floor((time - start) / scale);
  if (column < from || column >= to || (longest[column] as number) >= 0) return;
  fill[column] = 1;
  longest[column] = 0;
  colours[column] = colour;
}

/** Draws a narrow slice, or several: `busy` ns between `begin` and `end`, the longest of `longest` ns, `wait` ns of them waiting. */
function addPart(
  line: Line,
  begin: number,
  end: number,
  busy: number,
  longest: number,
  colour: number,
  wait: number,
): void {
  const left = (begin - line.start) / line.scale;
  const right = (end - line.start) / line.scale;
  const density = Math.min(busy / (end - begin), 1);
  const stop = Math.min(Math.ceil(right), line.to);
  for (let column = Math.max(Math.floor(left), line.from); column < stop; column++) {
    const share = (Math.min(right, column + 1) - Math.max(left, column)) * density;
    addShare(line, column, share, longest, colour, share * (wait / busy));
  }
}

/** Adds a slice's share, and how much of it waits, to a column that other slices may share. */
function addShare(line: Line, column: number, share: number, dur: number, colour: number, wait: number): void {
  const { fill, longest } = line;
  const now = longest[column] as number;
  fill[column] = share + (now === 0 ? 0 : (fill[column] as number));
  line.rounded[column] = -1;
  if (wait > 0) (line.wait[column] as number) += wait;
  if (dur <= now) return;
  longest[column] = dur;
  line.colours[column] = colour;
}

/**
 * Draws a wide slice; returns the number of columns. Both ends are rounded the same way for all slices, so adjacent
 * slices have neither gap nor overlap.
 */
function addWhole(line: Line, begin: number, end: number, colour: number, edge: number, isWait: boolean): number {
  const { start, scale, from, to, fill, longest, colours } = line;
  const left = (begin - start) / scale;
  const right = (end - start) / scale;
  const first = Math.ceil(left);
  const stop = Math.floor(right);
  addEnd(line, first - 1, first - left, Math.round(left) < first, colour, isWait);
  addEnd(line, stop, right - stop, Math.round(right) > stop, colour, isWait);
  const low = Math.max(first, from);
  const high = Math.min(stop, to);
  if (low < high) {
    colours.fill(colour, low, high);
    fill.fill(1, low, high);
    longest.fill(Number.POSITIVE_INFINITY, low, high);
  }
  const own = Math.round(left);
  if (own >= from && own < to) colours[own] = edge;
  return Math.min(Math.round(right), to) - Math.max(own, from);
}

/** Draws the column of one end of a wide slice. `isOwn`: the column is full if no other slice is in it, else empty. */
function addEnd(line: Line, column: number, share: number, isOwn: boolean, colour: number, isWait: boolean): void {
  if (share <= 0 || column < line.from || column >= line.to) return;
  const isAlone = (line.longest[column] as number) <= 0;
  addShare(line, column, share, isWait ? WAITING : Number.POSITIVE_INFINITY, colour, isWait ? share : 0);
  if (isAlone) line.rounded[column] = Number(isOwn);
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
 * next one, so that the painted area of the row is correct. The array belongs to the line.
 */
export function heightsOf(line: Line, height: number, { grain, least }: Steps = { grain: 1, least: 0 }): Uint16Array {
  const { fill, rounded, heights } = line;
  let owed = 0;
  let empty = LONELY;
  for (let column = 0; column < heights.length; column++) {
    const end = rounded[column] as number;
    const share = end < 0 ? (fill[column] as number) : end;
    if (share === 0) {
      heights[column] = 0;
      empty += 1;
      if (empty >= LONELY) owed = 0;
      continue;
    }
    if (share * height >= height - 0.5) heights[column] = height;
    else if (least > 0) heights[column] = Math.min(Math.max(Math.round(share * height), least), height);
    else {
      owed += share * height;
      const whole = owed > 0 ? owed | 0 : 0;
      const steps = grain === 1 ? whole : whole - (whole % grain);
      const pixels = Math.max(steps, empty >= LONELY ? grain : 0);
      heights[column] = pixels < height ? pixels : height;
      owed -= pixels;
    }
    empty = 0;
  }
  return heights;
}

/** A line of columns and how they become heights. */
export interface Layer {
  line: Line;
  steps?: Steps;
}

/** The columns of a layer that others do not cover, by height: the first of each, and the next of the same; -1: none. */
interface Columns {
  first: Int32Array;
  next: Int32Array;
  colours: Uint32Array;
}

/** `covered`: heights of the columns of the layers above; those of this layer are added. */
function visibleColumns({ line, steps }: Layer, height: number, covered: Uint16Array): Columns[] {
  const heights = heightsOf(line, height, steps);
  const [work, waits] = [columnsOf(height, line.next, line.colours), columnsOf(height, line.nextWait, line.behind)];
  for (let column = 0; column < heights.length; column++) {
    const own = heights[column] as number;
    if (own <= (covered[column] as number)) continue;
    const below = line.hasWaits ? workHeight(line, column, own) : own;
    if (below > (covered[column] as number)) addColumn(work, column, below);
    if (below < own) addColumn(waits, column, own);
    covered[column] = own;
  }
  return line.hasWaits ? [waits, work] : [work];
}

function columnsOf(height: number, next: Int32Array, colours: Uint32Array): Columns {
  return { first: new Int32Array(height + 1).fill(-1), next, colours };
}

function addColumn({ first, next }: Columns, column: number, height: number): void {
  next[column] = first[height] as number;
  first[height] = column;
}

/** Height of what does not wait in a column of this height; of all of it where everything waits. */
function workHeight({ fill, wait, longest }: Line, column: number, height: number): number {
  const waiting = wait[column] as number;
  if (waiting === 0 || (longest[column] as number) < 2 * WAITING) return height;
  const share = 1 - waiting / (fill[column] as number);
  return Math.max(Math.round(share * height), 1);
}

/** Pixels of an image, row by row from the top. What lies outside is not drawn. */
export class Picture {
  readonly height: number;
  private readonly row: Uint32Array;
  private readonly covered: Uint16Array;

  constructor(
    readonly pixels: Uint32Array,
    readonly width: number,
  ) {
    this.height = pixels.length / width;
    this.row = new Uint32Array(width);
    this.covered = new Uint16Array(width);
  }

  /** Copies a line of pixels to rows [top, bottom). */
  stampLine(line: Uint32Array, top: number, bottom: number): void {
    const stop = Math.min(bottom, this.height);
    for (let y = Math.max(top, 0); y < stop; y++) this.pixels.set(line, y * this.width);
  }

  /**
   * Draws columns over `background` on rows [top, bottom), clipped to [clipTop, clipBottom); the first layer is the top
   * one. A row of pixels is the row above it, and the columns that begin in it.
   */
  stampColumns(
    background: Uint32Array,
    layers: readonly Layer[],
    [top, bottom]: readonly [number, number],
    [clipTop, clipBottom]: readonly [number, number],
  ): void {
    const { row, width } = this;
    row.set(background);
    this.covered.fill(0);
    const shown = layers.flatMap((layer) => visibleColumns(layer, bottom - top, this.covered));
    const stop = Math.min(bottom, clipBottom, this.height);
    for (let y = top; y < stop; y++) {
      for (const { first, next, colours } of shown) {
        const begin = first[bottom - y] as number;
        for (let column = begin; column >= 0; column = next[column] as number) row[column] = colours[column] as number;
      }
      if (y >= clipTop && y >= 0) this.pixels.set(row, y * width);
    }
  }
}
