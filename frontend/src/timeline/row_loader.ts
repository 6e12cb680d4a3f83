/**
 * Loads the bars of rows: first all rows in one request, with bins as wide as the answer's size limit demands; then the
 * visible rows again, a few at a time, until each has one bin per pixel.
 */

import { type Piece, PieceCache, rowRanges, type Window } from "./cache";
import { decodeSlices, type SliceRow } from "./decode";
import { ofOneTimeline } from "./derived";
import type { Limits } from "./viewport";

/** `isExact`: the server keeps the requested bin width and returns as many rows, from the first, as fit. */
export type AskRows = (rows: string, window: Window, isExact: boolean, signal: AbortSignal) => Promise<ArrayBuffer>;

export interface RowRequest {
  /** Rows on screen, from the top. */
  inSight: readonly number[];
  /** Rows just above and below the visible rows. */
  around: readonly number[];
  /** Window of a request. */
  window: Window;
  /** The visible part of the time axis. */
  start: number;
  end: number;
}

interface Flight {
  window: Window;
  isExact: boolean;
  rows: ReadonlySet<number>;
  controller: AbortController;
}

const BYTES = 64 * 2 ** 20;
const BYTES_PER_BAR = 28;

export class RowLoader {
  readonly cache = new PieceCache<SliceRow>(BYTES);
  private flight: Flight | null = null;
  private readonly failed = new Set<string>();

  constructor(
    private readonly ask: AskRows,
    private readonly spanBase: string,
    private readonly limits: Limits,
    private readonly onData: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  get loading(): boolean {
    return this.flight !== null;
  }

  /** Sends the next request that this view needs. False if nothing is missing. */
  want({ inSight, around, window, start, end }: RowRequest): boolean {
    const { level } = window;
    const blank = [...inSight, ...around].filter((row) => !this.cache.wasAsked(row, start, end, level));
    const blurred = inSight.filter((row) => !this.cache.has(row, start, end, level));
    if (blank.length > 0) return this.send(ofOneTimeline(blank), window, false);
    return blurred.length > 0 && this.send(ofOneTimeline(blurred), window, true);
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
  }

  private send(rows: number[], window: Window, isExact: boolean): boolean {
    const key = `${keyOf(window)} ${isExact} ${rowRanges(rows)}`;
    if (this.failed.has(key)) return false;
    const { flight } = this;
    const isSame = flight && keyOf(flight.window) === keyOf(window) && flight.isExact === isExact;
    if (isSame && rows.every((row) => flight.rows.has(row))) return false;
    flight?.controller.abort();
    const next: Flight = { window, isExact, rows: new Set(rows), controller: new AbortController() };
    this.flight = next;
    this.fetch(rows, window, isExact, next.controller.signal)
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

  async fetch(rows: readonly number[], window: Window, isExact: boolean, signal: AbortSignal): Promise<void> {
    const buffer = await this.ask(rowRanges(rows), window, isExact, signal);
    if (signal.aborted) return;
    const pieces = new Map<number, Piece<SliceRow>>();
    // A row that a complete answer lacks has no slices in the window.
    if (!isExact) for (const row of rows) pieces.set(row, emptyPiece(row, window));
    for (const row of decodeSlices(buffer, this.spanBase)) pieces.set(row.row, pieceOf(row, window, isExact));
    const bytes = [...pieces.values()].reduce((sum, piece) => sum + piece.data.start.length * BYTES_PER_BAR, 0);
    const isWhole = window.start <= this.limits.start && window.end >= this.limits.end;
    this.cache.add(pieces, bytes + 256, isWhole);
  }
}

function keyOf(window: Window): string {
  return `${window.level}:${window.start}:${window.end}`;
}

/** The answer to an exact request is final, even if the server used wider bins. */
function pieceOf(row: SliceRow, window: Window, isExact: boolean): Piece<SliceRow> {
  const level = isExact ? window.level : Math.max(window.level, Math.log2(row.bin));
  const exact = row.unit === 1 && row.count.every((count) => count === 1);
  return { window: { ...window, level }, asked: window.level, exact, data: row };
}

function emptyPiece(row: number, window: Window): Piece<SliceRow> {
  const none = new Uint32Array(0);
  const columns = { name: none, start: none, dur: none, end: none, id: none, count: none, busy: none };
  const data = { row, origin: 0, unit: 1, bin: 1, names: [], categories: [], ...columns, far: new Map() };
  return { window, asked: window.level, exact: true, data };
}
