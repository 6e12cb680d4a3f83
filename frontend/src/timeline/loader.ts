/** Asks for the pieces that a view lacks: one request for slices at a time, newest wish first. */

import { levelOf, type Piece, PieceCache, rowRanges, type Window, windowOf } from "./cache";
import { type ArrowSet, type CounterSeries, decodeArrows, decodeCounter, decodeSlices, type SliceRow } from "./decode";
import type { Caches } from "./scene";
import type { Limits, View } from "./viewport";

export interface TimelineSource {
  slices(rows: string, window: Window, signal: AbortSignal): Promise<ArrayBuffer>;
  counter(track: number, window: Window, signal: AbortSignal): Promise<ArrayBuffer>;
  /** `kind`: index among the trace's kinds of flows. */
  arrows(kind: number, window: Window, signal: AbortSignal): Promise<ArrayBuffer>;
}

export interface Wish {
  view: View;
  /** Width of the time axis in CSS pixels, and device pixels per CSS pixel. */
  width: number;
  ratio: number;
  rows: number[];
  counters: number[];
  /** Kinds of flows whose arrows are all shown. */
  arrows: readonly number[];
}

/** A request for all there is of one counter, or of one kind of arrows. */
interface SingleFlight {
  window: Window;
  controller: AbortController;
}

interface Flight {
  window: Window;
  rows: ReadonlySet<number>;
  controller: AbortController;
}

const SLICE_BYTES = 64 * 2 ** 20;
const COUNTER_BYTES = 16 * 2 ** 20;
const ARROW_BYTES = 16 * 2 ** 20;
/** While the view moves, at most one request starts in this time. */
const PACE_MS = 60;
const BYTES_PER_BAR = 24;
const BYTES_PER_POINT = 32;
const BYTES_PER_ARROW = 28;

export class Loader {
  readonly caches: Caches = {
    slices: new PieceCache<SliceRow>(SLICE_BYTES),
    counters: new PieceCache<CounterSeries[]>(COUNTER_BYTES),
    arrows: new PieceCache<ArrowSet>(ARROW_BYTES),
  };
  private wish: Wish | null = null;
  private flight: Flight | null = null;
  private overviewFlight: AbortController | null = null;
  private isOverviewPending = false;
  private readonly singleFlights = new Map<string, SingleFlight>();
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
    return this.flight !== null || this.singleFlights.size > 0;
  }

  /** Nothing is under way or about to be. */
  get idle(): boolean {
    return !this.loading && this.timer === undefined && !this.isOverviewPending;
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
    for (const { controller } of this.singleFlights.values()) controller.abort();
    this.singleFlights.clear();
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
    this.isOverviewPending = true;
    this.fetchRows(rows, window, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.overviewFlight = null; // it may be asked for again
        this.onError(error);
      })
      .finally(() => {
        this.isOverviewPending = false;
        if (!signal.aborted) this.onData();
      });
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
    for (const kind of wish.arrows) {
      if (!this.caches.arrows.has(kind, start, end, level)) this.askArrows(kind, window);
    }
    const wanted = new Set([...wish.counters.map(counterName), ...wish.arrows.map(arrowsName)]);
    for (const [name, flight] of this.singleFlights) if (!wanted.has(name)) this.giveUp(name, flight);
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
    this.askSingle(counterName(track), window, async (signal) => {
      const data = decodeCounter(await this.source.counter(track, window, signal), this.spanBase);
      const bytes = data.reduce((sum, series) => sum + series.time.length * BYTES_PER_POINT, 256);
      const pieces = new Map([[track, { window, exact: false, data }]]);
      if (!signal.aborted) this.caches.counters.add(pieces, bytes, this.whole(window));
    });
  }

  private askArrows(kind: number, window: Window): void {
    this.askSingle(arrowsName(kind), window, async (signal) => {
      const data = decodeArrows(await this.source.arrows(kind, window, signal), this.spanBase);
      const bytes = data.count.length * BYTES_PER_ARROW + 256;
      const pieces = new Map([[kind, { window, exact: false, data }]]);
      if (!signal.aborted) this.caches.arrows.add(pieces, bytes);
    });
  }

  /** One request at a time for each name; one for another window takes its place. */
  private askSingle(name: string, window: Window, fetch: (signal: AbortSignal) => Promise<void>): void {
    const key = `${keyOf(window)} ${name}`;
    const before = this.singleFlights.get(name);
    if (this.failed.has(key) || (before && keyOf(before.window) === keyOf(window))) return;
    before?.controller.abort();
    const mine: SingleFlight = { window, controller: new AbortController() };
    const { signal } = mine.controller;
    this.singleFlights.set(name, mine);
    this.lastStart = performance.now();
    fetch(signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.failed.add(key);
        this.onError(error);
      })
      .finally(() => {
        if (this.singleFlights.get(name) === mine) this.singleFlights.delete(name);
        if (!signal.aborted) this.onData();
      });
  }

  private giveUp(name: string, flight: SingleFlight): void {
    flight.controller.abort();
    this.singleFlights.delete(name);
  }
}

function counterName(track: number): string {
  return `counter ${track}`;
}

function arrowsName(kind: number): string {
  return `arrows ${kind}`;
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
