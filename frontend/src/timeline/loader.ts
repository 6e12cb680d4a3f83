/** Asks for the pieces that a view lacks: one request for slices at a time, newest wish first. */

import { levelOf, type Piece, PieceCache, rowRanges, type Window, windowOf } from "./cache";
import { type CounterSeries, decodeCounter, decodeSlices, type SliceRow } from "./decode";
import type { Caches } from "./scene";
import type { Limits, View } from "./viewport";

export interface TimelineSource {
  slices(rows: string, window: Window, signal: AbortSignal): Promise<ArrayBuffer>;
  counter(track: number, window: Window, signal: AbortSignal): Promise<ArrayBuffer>;
}

export interface Wish {
  view: View;
  /** Width of the time axis in CSS pixels, and device pixels per CSS pixel. */
  width: number;
  ratio: number;
  rows: number[];
  counters: number[];
}

interface Flight {
  window: Window;
  rows: ReadonlySet<number>;
  controller: AbortController;
}

const SLICE_BYTES = 64 * 2 ** 20;
const COUNTER_BYTES = 16 * 2 ** 20;
/** While the view moves, at most one request starts in this time. */
const PACE_MS = 60;
const BYTES_PER_BAR = 24;

export class Loader {
  readonly caches: Caches = {
    slices: new PieceCache<SliceRow>(SLICE_BYTES),
    counters: new PieceCache<CounterSeries[]>(COUNTER_BYTES),
  };
  private wish: Wish | null = null;
  private flight: Flight | null = null;
  private overviewFlight: AbortController | null = null;
  private readonly counterFlights = new Map<number, AbortController>();
  private readonly failed = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastStart = 0;

  constructor(
    private readonly source: TimelineSource,
    private readonly spanBase: string,
    private readonly limits: Limits,
    private readonly onData: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Sees to it that what `wish` needs arrives. Cheap when it is there already. */
  want(wish: Wish): void {
    this.wish = wish;
    if (this.timer !== undefined) return;
    const wait = Math.max(0, this.lastStart + PACE_MS - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.start();
    }, wait);
  }

  /** Requests under way, for a sign that something is loading. */
  get loading(): boolean {
    return this.flight !== null || this.counterFlights.size > 0;
  }

  /** Forgets failures and asks again. */
  retry(): void {
    this.failed.clear();
    if (this.wish) this.want(this.wish);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flight?.controller.abort();
    this.overviewFlight?.abort();
    for (const controller of this.counterFlights.values()) controller.abort();
    this.counterFlights.clear();
    this.flight = null;
  }

  /** Asks for some rows over the whole range, and keeps them: for the minimap. */
  overview(rows: number[], width: number, ratio: number): void {
    const { start, end } = this.limits;
    const level = levelOf(Math.max(end - start, 1) / (width * ratio));
    const window = this.clampWindow({ level, start, end: end + 1 });
    if (rows.length === 0 || this.overviewFlight) return;
    this.overviewFlight = new AbortController();
    const { signal } = this.overviewFlight;
    this.fetchRows(rows, window, signal).then(this.onData, (error: unknown) => signal.aborted || this.onError(error));
  }

  private start(): void {
    const wish = this.wish;
    if (!wish || wish.width <= 0) return;
    const window = this.clampWindow(windowOf(wish.view, wish.width, wish.view.scale / wish.ratio));
    const start = Math.max(wish.view.start, this.limits.start);
    const end = Math.min(wish.view.start + wish.view.scale * wish.width, this.limits.end);
    const level = levelOf(wish.view.scale / wish.ratio);
    const missing = wish.rows.filter((row) => !this.caches.slices.has(row, start, end, level));
    if (missing.length > 0) this.askSlices(missing, window);
    for (const track of wish.counters) {
      if (!this.caches.counters.has(track, start, end, level)) this.askCounter(track, window);
    }
  }

  private clampWindow(window: Window): Window {
    return {
      level: window.level,
      start: Math.max(window.start, Math.floor(this.limits.start)),
      end: Math.min(window.end, Math.ceil(this.limits.end) + 1),
    };
  }

  private whole(window: Window): boolean {
    return window.start <= this.limits.start && window.end >= this.limits.end;
  }

  private askSlices(rows: number[], window: Window): void {
    const ranges = rowRanges(rows);
    const key = `${keyOf(window)} ${ranges}`;
    if (this.failed.has(key)) return;
    const flight = this.flight;
    if (flight && keyOf(flight.window) === keyOf(window) && rows.every((row) => flight.rows.has(row))) return;
    flight?.controller.abort();
    const mine: Flight = { window, rows: new Set(rows), controller: new AbortController() };
    this.flight = mine;
    this.lastStart = performance.now();
    this.fetchRows(rows, window, mine.controller.signal)
      .catch((error: unknown) => {
        if (mine.controller.signal.aborted) return;
        this.failed.add(key);
        this.onError(error);
      })
      .finally(() => {
        if (this.flight === mine) this.flight = null;
        if (!mine.controller.signal.aborted) this.onData();
      });
  }

  private async fetchRows(rows: number[], window: Window, signal: AbortSignal): Promise<void> {
    const buffer = await this.source.slices(rowRanges(rows), window, signal);
    if (signal.aborted) return;
    const pieces = new Map(rows.map((row) => [row, emptyPiece(row, window)]));
    for (const row of decodeSlices(buffer, this.spanBase)) pieces.set(row.row, pieceOf(row, window));
    const bytes = [...pieces.values()].reduce((sum, piece) => sum + piece.data.start.length * BYTES_PER_BAR, 0);
    this.caches.slices.add(pieces, bytes + 256, this.whole(window));
  }

  private askCounter(track: number, window: Window): void {
    const key = `${keyOf(window)} counter ${track}`;
    if (this.failed.has(key) || this.counterFlights.has(track)) return;
    const controller = new AbortController();
    this.counterFlights.set(track, controller);
    this.source
      .counter(track, window, controller.signal)
      .then((buffer) => {
        if (controller.signal.aborted) return;
        const data = decodeCounter(buffer, this.spanBase);
        const bytes = data.reduce((sum, series) => sum + series.time.length * 32, 256);
        this.caches.counters.add(new Map([[track, { window, exact: false, data }]]), bytes, this.whole(window));
      })
      .catch((error: unknown) => {
        if (controller.signal.aborted) return;
        this.failed.add(key);
        this.onError(error);
      })
      .finally(() => {
        if (this.counterFlights.get(track) === controller) this.counterFlights.delete(track);
        if (!controller.signal.aborted) this.onData();
      });
  }
}

function keyOf(window: Window): string {
  return `${window.level}:${window.start}:${window.end}`;
}

function pieceOf(row: SliceRow, window: Window): Piece<SliceRow> {
  return { window, exact: row.unit === 1 && row.count.every((count) => count === 1), data: row };
}

/** A row that the answer does not mention has no slices in the window. */
function emptyPiece(row: number, window: Window): Piece<SliceRow> {
  const none = new Uint32Array(0);
  const data = {
    row,
    origin: 0,
    unit: 1,
    names: [],
    name: none,
    start: none,
    dur: none,
    end: none,
    id: none,
    count: none,
    far: new Map(),
  };
  return { window, exact: true, data };
}
