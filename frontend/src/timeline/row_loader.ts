/**
 * Loads the bars of rows, and the curves of counters with them: first all rows in one request, with bins as wide as the
 * answer's size limit demands; then the visible rows again, a few at a time, until each has one bin per pixel.
 */

import { type Piece, PieceCache, rowRanges, type Window } from "./cache";
import type { CounterSeries, SliceRow } from "./decode";
import type { Range } from "./viewport";

/** Rows and counters (tracks) of one request. */
export interface RowQuery {
  rows: readonly number[];
  counters: readonly number[];
  window: Window;
  /** The server keeps the requested bin width and returns as many rows of each rank, from the first, as fit. */
  isExact: boolean;
}

/** Answer of a request. A row or counter that is missing cannot be shown; without `isExact`, empty rows are included. */
export interface RowAnswer {
  rows: readonly SliceRow[];
  counters: ReadonlyMap<number, CounterSeries[]>;
}

export type AskRows = (query: RowQuery, signal: AbortSignal) => Promise<RowAnswer>;

export interface RowRequest {
  /** Rows on screen, from the top. */
  inSight: readonly number[];
  /** Rows just above and below the visible rows. */
  around: readonly number[];
  /** Tracks of the counters on screen. */
  counters: readonly number[];
  /** Window of a request. */
  window: Window;
  /** The visible part of the time axis. */
  start: number;
  end: number;
}

interface Flight extends RowQuery {
  controller: AbortController;
}

/** With half of it, rows of a large screen at two device pixels a CSS pixel evict each other and are loaded without end. */
const ROW_BYTES = 32 * 2 ** 20;
const COUNTER_BYTES = 16 * 2 ** 20;
const BYTES_PER_BAR = 28;
/** Of a string without its characters, and of its place in an array. */
const BYTES_PER_NAME = 24;
const BYTES_PER_POINT = 32;

export class RowLoader {
  readonly cache = new PieceCache<SliceRow>(ROW_BYTES);
  readonly counters = new PieceCache<CounterSeries[]>(COUNTER_BYTES);
  private flight: Flight | null = null;
  private readonly failed = new Set<string>();

  /** `limits`: of the data, which may change. */
  constructor(
    private readonly ask: AskRows,
    private readonly limits: () => Range,
    private readonly onData: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  get loading(): boolean {
    return this.flight !== null;
  }

  /** Sends the next request that this view needs. False if nothing is missing. */
  want({ inSight, around, counters, window, start, end }: RowRequest): boolean {
    const { level } = window;
    const blank = [...inSight, ...around].filter((row) => !this.cache.wasAsked(row, start, end, level));
    const missing = counters.filter((track) => !this.counters.has(track, start, end, level));
    if (blank.length > 0) return this.send({ rows: blank, counters: missing, window, isExact: false });
    const blurred = inSight.filter((row) => !this.cache.has(row, start, end, level));
    const isNeeded = blurred.length + missing.length > 0;
    return isNeeded && this.send({ rows: blurred, counters: missing, window, isExact: true });
  }

  /** Clears the list of failed requests. */
  retry(): void {
    this.failed.clear();
  }

  stop(): void {
    this.flight?.controller.abort();
    this.flight = null;
  }

  /** Clears all state. */
  clear(): void {
    this.stop();
    this.failed.clear();
    this.cache.clear();
    this.counters.clear();
  }

  private send(query: RowQuery): boolean {
    const key = keyOf(query);
    if (this.failed.has(key)) return false;
    if (this.flight && holds(this.flight, query)) return false;
    this.flight?.controller.abort();
    const next: Flight = { ...query, controller: new AbortController() };
    this.flight = next;
    this.fetch(query, next.controller.signal)
      .catch((error: unknown) => {
        if (next.controller.signal.aborted) return;
        this.failed.add(key);
        this.onError(error);
      })
      .finally(() => {
        if (this.flight === next) this.flight = null;
        if (!next.controller.signal.aborted) this.onData();
      });
    return true;
  }

  async fetch(query: RowQuery, signal: AbortSignal): Promise<void> {
    const { window, isExact } = query;
    const answer = await this.ask(query, signal);
    if (signal.aborted) return;
    const { start, end } = this.limits();
    const isWhole = window.start <= start && window.end >= end;
    const rows = new Map(answer.rows.map((row) => [row.row, pieceOf(row, window, isExact)]));
    if (rows.size > 0) this.cache.add(rows, bytesOf(answer.rows), isWhole);
    const asked = window.level;
    const curves = new Map([...answer.counters].map(([track, data]) => [track, { window, asked, exact: false, data }]));
    const points = [...answer.counters.values()].flat().reduce((sum, { time }) => sum + time.length, 0);
    if (curves.size > 0) this.counters.add(curves, points * BYTES_PER_POINT + 256, isWhole);
  }
}

/** Rows of one rank share their names. */
function bytesOf(rows: readonly SliceRow[]): number {
  const bars = rows.reduce((sum, row) => sum + row.start.length, 0);
  let bytes = bars * BYTES_PER_BAR + 256;
  for (const names of new Set(rows.map((row) => row.names))) {
    for (const name of names) bytes += name.length + BYTES_PER_NAME;
  }
  return bytes;
}

function keyOf({ rows, counters, window, isExact }: RowQuery): string {
  return [window.level, window.start, window.end, isExact, rowRanges(rows), rowRanges(counters)].join(" ");
}

/** Whether a request in flight answers a query. */
function holds(flight: RowQuery, { rows, counters, window, isExact }: RowQuery): boolean {
  const { level, start, end } = flight.window;
  const isSame = level === window.level && start === window.start && end === window.end && flight.isExact === isExact;
  return isSame && isSubset(rows, flight.rows) && isSubset(counters, flight.counters);
}

function isSubset(some: readonly number[], all: readonly number[]): boolean {
  const known = new Set(all);
  return some.every((one) => known.has(one));
}

/** The answer to an exact request is final, even if the server used wider bins. */
function pieceOf(row: SliceRow, window: Window, isExact: boolean): Piece<SliceRow> {
  const level = isExact ? window.level : Math.max(window.level, Math.log2(row.bin));
  const exact = row.unit === 1 && row.count.every((count) => count === 1);
  return { window: { ...window, level }, asked: window.level, exact, data: row };
}
