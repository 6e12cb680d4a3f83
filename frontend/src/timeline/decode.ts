/** Binary answers of /api/timeline (docs/http_api.md, "Binary answers"). */

import type { SearchedJson } from "../api/types.gen";
import { firstIndex } from "../base/search";
import { type LaneOffset, laneOffset, ROWS_PER_TRACK } from "./lanes";

const MAGIC = 0x5542504e;
const SATURATED = 0xffffffff;

type Column = Uint32Array | Float64Array;

interface FrameHeader {
  base: string;
  unit?: number;
  /** Type, offset, number of values; of packed ones, the columns that they are sent less of. */
  columns: Record<string, [string, number, number, string[]?]>;
  names?: string[];
  categories?: string[];
  meanings?: string[];
  series?: string[];
  /** Width of a bin, ns: slices that start in the same bin form one bar. */
  bin?: number;
  /** Track, depth, first bar, number of bars. */
  rows?: [number, number, number, number][];
  /** State of each source of an answer about rows. */
  parts?: SourceState[];
  far?: [number, number, number][];
}

export type SourceState = SearchedJson["state"];

export interface Frame {
  header: FrameHeader;
  /** Columns, as copies. */
  u32(name: string): Uint32Array;
  f64(name: string): Float64Array;
  /** A column that is the whole answer about one span; not a copy. */
  part(name: string): Uint32Array;
}

/** Bars of one row, by start. Times are `origin + value * unit`, in ns after the span's base. */
export interface SliceRow {
  row: number;
  origin: number;
  unit: number;
  /** Width of a bin, ns: slices that start in the same bin form one bar. */
  bin: number;
  /** Index into the answer's names and categories, shared by all rows of one answer. */
  name: Uint32Array;
  names: readonly string[];
  /** Category of the slices of this name ("": none); a name with several categories is there several times. */
  categories: readonly string[];
  /** What the slices of this name do; "" where that is not known. */
  meanings: readonly string[];
  start: Uint32Array;
  /** Duration of the longest slice of the bar. */
  dur: Uint32Array;
  /** End of the last slice of the bar. */
  end: Uint32Array;
  /** Slice id less `firstId`. */
  id: Uint32Array;
  firstId: number;
  count: Uint32Array;
  /** Time of all slices of the bar, in steps of `unit`. */
  busy: Uint32Array;
  /** As `name`, of the longest slice that does not wait, else of the longest. */
  work: Uint32Array;
  /** Time of the slices that wait, in steps of `unit`; empty: none in this row. */
  wait: Uint32Array;
  /** Start and end (ns after the span's base) of bars that the columns cannot represent, by index. */
  far: ReadonlyMap<number, readonly [number, number]>;
}

/** One curve of a counter, by time; a value holds until the next one. */
export interface CounterSeries {
  name: string;
  time: Float64Array;
  min: Float64Array;
  max: Float64Array;
  last: Float64Array;
}

/** Arrows of one kind of flow; arrows between the same two pixels are joined. Times are ns after the span's base. */
export interface ArrowSet {
  fromRow: Uint32Array;
  fromTime: Float64Array;
  toRow: Uint32Array;
  toTime: Float64Array;
  /** Arrows joined into this one. */
  count: Uint32Array;
}

function fail(what: string): never {
  throw new Error(`timeline answer: ${what}`);
}

/** Checks the container and returns its columns. Throws an Error that describes the defect. */
export function parseFrame(bytes: ArrayBufferLike | Uint32Array): Frame {
  const { buffer, byteOffset, byteLength } = bytes instanceof Uint32Array ? bytes : new Uint8Array(bytes);
  if (byteLength < 8) fail(`${byteLength} bytes, expected at least 8`);
  const prefix = new DataView(buffer, byteOffset);
  const magic = prefix.getUint32(0, true);
  if (magic !== MAGIC) fail(`magic 0x${magic.toString(16)}, expected 0x${MAGIC.toString(16)}`);
  const headerLength = prefix.getUint32(4, true);
  const [body, end] = [byteOffset + 8 + headerLength, byteOffset + byteLength];
  if (body > end) fail(`header of ${headerLength} bytes runs past the end`);
  const header = JSON.parse(
    new TextDecoder().decode(new Uint8Array(buffer, byteOffset + 8, headerLength)),
  ) as FrameHeader;

  function column(name: string, type: "u32" | "f64"): Column {
    const entry = header.columns[name];
    if (!entry) fail(`no column ${name}`);
    const [given, offset, count, less = []] = entry;
    const size = type === "u32" ? 4 : 8;
    const isPacked = given === "packed" && type === "u32";
    if (given !== type && !isPacked) fail(`column ${name} is ${given}, expected ${type}`);
    if (body + offset + count * size > end) fail(`column ${name} runs past the end`);
    if (isPacked) return unpack(name, new Uint8Array(buffer, body + offset, count * size), less);
    return type === "u32"
      ? new Uint32Array(buffer, body + offset, count)
      : new Float64Array(buffer, body + offset, count);
  }
  /** Values from their remainders modulo 2^32, all lowest bytes first. */
  function unpack(name: string, bytes: Uint8Array, less: string[]): Uint32Array {
    const count = bytes.length / 4;
    const out = new Uint32Array(count);
    for (let index = 0; index < count; index++) {
      out[index] =
        (bytes[index] as number) |
        ((bytes[count + index] as number) << 8) |
        ((bytes[2 * count + index] as number) << 16) |
        ((bytes[3 * count + index] as number) << 24);
    }
    for (const other of less) {
      if (other === name) {
        for (let index = 1; index < count; index++) (out[index] as number) += out[index - 1] as number;
      } else {
        const values = u32(other);
        for (let index = 0; index < count; index++) (out[index] as number) += values[index] as number;
      }
    }
    return out;
  }
  const copied = (values: Uint32Array) => (values.buffer === buffer ? values.slice() : values);
  const found = new Map<string, Uint32Array>();
  function u32(name: string): Uint32Array {
    const values = found.get(name) ?? copied(column(name, "u32") as Uint32Array);
    found.set(name, values);
    return values;
  }
  return {
    header,
    u32,
    f64: (name) => (column(name, "f64") as Float64Array).slice(),
    part: (name) => column(name, "u32") as Uint32Array,
  };
}

/** Difference of two epoch times given as decimal strings, ns. Exact below 2^53. */
export function originOf(base: string, spanBase: string): number {
  return Number(BigInt(base) - BigInt(spanBase));
}

const OPEN_RANK = laneOffset(0, 0);

const BAR_COLUMNS = ["start", "dur", "end", "id", "name", "count", "busy"] as const;
type BarColumn = (typeof BAR_COLUMNS)[number];

/** The columns of bars by name. */
function barColumns(of: (name: BarColumn) => Uint32Array): Record<BarColumn, Uint32Array> {
  return Object.fromEntries(BAR_COLUMNS.map((name) => [name, of(name)])) as Record<BarColumn, Uint32Array>;
}

const NO_WAITS = new Uint32Array(0);

/** The columns of what waits in the bars [first, first + name.length), which the answer has for bars that wait alone. */
function waitColumns(frame: Frame, first: number, name: Uint32Array): Pick<SliceRow, "work" | "wait"> {
  const [at, wait, work] = [frame.u32("waiting"), frame.u32("wait"), frame.u32("work")];
  const place = (bar: number) => firstIndex(at.length, (index) => (at[index] as number) < bar);
  const [from, to] = [place(first), place(first + name.length)];
  if (from === to) return { work: name, wait: NO_WAITS };
  const found = { work: name.slice(), wait: new Uint32Array(name.length) };
  for (let index = from; index < to; index++) {
    const bar = (at[index] as number) - first;
    found.work[bar] = work[index] as number;
    found.wait[bar] = wait[index] as number;
  }
  return found;
}

/** Decodes the bars of an answer to "rows". Rows without bars are included, with empty columns. */
export function decodeSlices(
  bytes: ArrayBufferLike | Uint32Array,
  spanBase: string,
  lane: LaneOffset = OPEN_RANK,
): SliceRow[] {
  const frame = parseFrame(bytes);
  const { header } = frame;
  const columns = barColumns((name) => frame.u32(name));
  const names = header.names ?? fail("no names");
  const categories = header.categories ?? fail("no categories");
  const meanings = header.meanings ?? fail("no meanings");
  const rows = header.rows ?? fail("no rows");
  const origin = originOf(header.base, spanBase) + lane.time;
  const unit = header.unit ?? 1;
  const far = header.far ?? [];
  return rows.map(([track, depth, first, count]) => {
    if (first + count > columns.start.length) fail(`row ${depth} of track ${track} runs past the columns`);
    return {
      row: lane.row + track * ROWS_PER_TRACK + depth,
      origin,
      unit,
      bin: header.bin ?? 1,
      names,
      categories,
      meanings,
      ...barColumns((name) => columns[name].subarray(first, first + count)),
      ...waitColumns(frame, first, columns.name.subarray(first, first + count)),
      firstId: lane.slice,
      far: new Map(
        far
          .filter(([index]) => index >= first && index < first + count)
          .map(([index, start, end]) => [index - first, [start + lane.time, end + lane.time]]),
      ),
    };
  });
}

/** Decodes a counter of such an answer: series with times in ns after the span's base. */
export function decodeCounter(
  bytes: ArrayBufferLike | Uint32Array,
  spanBase: string,
  lane: LaneOffset = OPEN_RANK,
): CounterSeries[] {
  const frame = parseFrame(bytes);
  const origin = originOf(frame.header.base, spanBase) + lane.time;
  const unit = frame.header.unit ?? 1;
  return (frame.header.series ?? fail("no series")).map((name, index) => ({
    name,
    time: Float64Array.from(frame.u32(`t${index}`), (value) => origin + value * unit),
    min: frame.f64(`min${index}`),
    max: frame.f64(`max${index}`),
    last: frame.f64(`last${index}`),
  }));
}

/** Decodes an answer to "arrows". */
export function decodeArrows(buffer: ArrayBuffer, spanBase: string): ArrowSet {
  const frame = parseFrame(buffer);
  const origin = originOf(frame.header.base, spanBase);
  const unit = frame.header.unit ?? 1;
  const times = (name: string) => Float64Array.from(frame.u32(name), (value) => origin + value * unit);
  const rows = (end: string) => {
    const depth = frame.u32(`${end}_depth`);
    return frame.u32(`${end}_track`).map((track, index) => track * ROWS_PER_TRACK + (depth[index] as number));
  };
  return {
    fromRow: rows("from"),
    fromTime: times("from_time"),
    toRow: rows("to"),
    toTime: times("to_time"),
    count: frame.u32("count"),
  };
}

/** A row without bars. */
export function emptyRow(row: number): SliceRow {
  const columns = barColumns(() => new Uint32Array(0));
  return {
    row,
    origin: 0,
    unit: 1,
    bin: 1,
    names: [],
    categories: [],
    meanings: [],
    ...columns,
    work: NO_WAITS,
    wait: NO_WAITS,
    firstId: 0,
    far: new Map(),
  };
}

export function startOf(row: SliceRow, index: number): number {
  const start = row.start[index] as number;
  if (start === 0 && row.far.size > 0) return row.far.get(index)?.[0] ?? row.origin;
  return row.origin + start * row.unit;
}

export function endOf(row: SliceRow, index: number): number {
  const end = row.end[index] as number;
  if ((end === SATURATED || end === 0) && row.far.size > 0)
    return row.far.get(index)?.[1] ?? row.origin + end * row.unit;
  return row.origin + end * row.unit;
}

/** Duration of the longest slice of a bar, ns. */
export function longestOf(row: SliceRow, index: number): number {
  const dur = row.dur[index] as number;
  return dur === SATURATED ? endOf(row, index) - startOf(row, index) : dur * row.unit;
}

/** Total time of the slices of a bar, ns. */
export function busyOf(row: SliceRow, index: number): number {
  if (row.count[index] === 1) return longestOf(row, index);
  const busy = row.busy[index] as number;
  return busy === SATURATED ? endOf(row, index) - startOf(row, index) : busy * row.unit;
}

/** Time of the slices of a bar that wait, ns. */
export function waitOf(row: SliceRow, index: number): number {
  const wait = row.wait[index] ?? 0;
  return wait === row.busy[index] ? busyOf(row, index) : wait * row.unit;
}
