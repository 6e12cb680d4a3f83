/** Loads the pieces that a view lacks: one request of a kind at a time, for the newest view first. */

import { levelOf, PieceCache, type Window, windowOf } from "./cache";
import { type ArrowSet, decodeArrows } from "./decode";
import { isDerivedRow } from "./lanes";
import { type RowAnswer, RowLoader, type RowQuery, type RowRequest } from "./row_loader";
import { barsIn, type Item, itemsIn, type TrackItem } from "./rows";
import { type Caches, type Scene, sections, timeWidth } from "./scene";
import type { Range, View } from "./viewport";

export interface TimelineSource {
  /** Bars of rows and curves of counters. `needle`: only slices that match it; "": all. */
  rows(query: RowQuery, needle: string, signal: AbortSignal): Promise<RowAnswer>;
  /** `kind`: index among the trace's kinds of flows. */
  arrows(kind: number, window: Window, signal: AbortSignal): Promise<ArrayBuffer>;
}

export interface VisibleRequest {
  view: View;
  /** Width of the time axis in CSS pixels, and device pixels per CSS pixel. */
  width: number;
  ratio: number;
  /** Visible rows, and those just above and below. */
  rows: readonly number[];
  around: readonly number[];
  counters: readonly number[];
  /** Kinds of flows with all arrows shown. */
  arrows: readonly number[];
  /** Search text; "": no search. */
  needle: string;
}

/** Rows of the minimap, and the level of its bins. */
interface Overview {
  rows: readonly number[];
  level: number;
}

/** A request for one kind of arrows. */
interface ArrowFlight {
  window: Window;
  controller: AbortController;
}

const ARROW_BYTES = 16 * 2 ** 20;
/** Least time (ms) between two requests for rows. */
const PACE_MS = 60;
const BYTES_PER_ARROW = 28;

export class Loader {
  readonly caches: Caches;
  private request: VisibleRequest | null = null;
  private readonly slices: RowLoader;
  private readonly hits: RowLoader;
  private needle = "";
  private wantedOverview: Overview | null = null;
  private overviewFlight: AbortController | null = null;
  private readonly arrowFlights = new Map<number, ArrowFlight>();
  private readonly failed = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastStart = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly source: TimelineSource,
    private readonly spanBase: string,
    private limits: Range,
    private readonly onData: () => void,
    private readonly onError: (error: unknown) => void,
  ) {
    const rowsLoaded = () => {
      this.askOverview();
      onData();
    };
    const rest = [() => this.limits, rowsLoaded, onError] as const;
    this.slices = new RowLoader((query, signal) => source.rows(query, "", signal), ...rest);
    this.hits = new RowLoader((query, signal) => source.rows(query, this.needle, signal), ...rest);
    this.caches = {
      slices: this.slices.cache,
      hits: this.hits.cache,
      counters: this.slices.counters,
      arrows: new PieceCache<ArrowSet>(ARROW_BYTES),
    };
  }

  /** Requests everything that a view lacks. Cheap if nothing is missing. */
  want(request: VisibleRequest): void {
    this.request = request;
    if (this.timer !== undefined) return;
    const wait = this.lastStart + PACE_MS - performance.now();
    if (wait <= 0) {
      this.start();
      return;
    }
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.start();
    }, wait);
  }

  /** Number of active requests, for the loading indicator. */
  get loading(): boolean {
    return this.slices.loading || this.hits.loading || this.arrowFlights.size > 0;
  }

  /** True if no request is active or scheduled. */
  get idle(): boolean {
    return !this.loading && this.timer === undefined && !this.wantedOverview;
  }

  /** Requests cover times in `limits`. */
  setLimits(limits: Range): void {
    this.limits = limits;
    this.overviewFlight?.abort();
    this.overviewFlight = null;
    this.wantedOverview = null;
  }

  /** Forgets all bars, curves and arrows: the times of some rows changed, or which slices they hold. */
  clearRows(): void {
    this.caches.arrows.clear();
    this.slices.clear();
    this.hits.clear();
  }

  /** Clears failures and retries. */
  retry(): void {
    this.failed.clear();
    this.slices.retry();
    this.hits.retry();
    if (this.request) this.want(this.request);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.slices.stop();
    this.hits.stop();
    this.overviewFlight?.abort();
    for (const { controller } of this.arrowFlights.values()) controller.abort();
    this.arrowFlights.clear();
  }

  /** Loads rows over the full range and keeps them, for the minimap: once, after the next rows in sight. */
  overview(rows: readonly number[], width: number, ratio: number): void {
    if (rows.length === 0 || this.wantedOverview || this.overviewFlight) return;
    const { start, end } = this.limits;
    this.wantedOverview = { rows, level: levelOf(Math.max(end - start, 1) / (width * ratio)) };
  }

  private askOverview(): void {
    const { wantedOverview, limits } = this;
    if (!wantedOverview || this.overviewFlight) return;
    const { rows, level } = wantedOverview;
    const { start, end } = limits;
    if (rows.every((row) => this.slices.cache.has(row, start, end, level))) {
      this.wantedOverview = null;
      return;
    }
    const flight = new AbortController();
    this.overviewFlight = flight;
    const window = this.clampWindow({ level, start, end: end + 1 });
    this.slices
      .fetch({ rows, counters: [], window, isExact: false }, flight.signal)
      .catch((error: unknown) => {
        if (flight.signal.aborted) return;
        this.overviewFlight = null; // allow a retry
        this.onError(error);
      })
      .finally(() => {
        if (flight.signal.aborted) return;
        this.wantedOverview = null;
        this.onData();
      });
  }

  private start(): void {
    const { request } = this;
    if (!request || request.width <= 0) return;
    const window = this.clampWindow(windowOf(request.view, request.width, request.view.scale / request.ratio));
    const start = Math.max(request.view.start, this.limits.start);
    const end = Math.min(request.view.start + request.view.scale * request.width, this.limits.end);
    if (end < start) {
      this.askOverview(); // the view is beside the trace
      return;
    }
    const { around, counters } = request;
    const rows: RowRequest = { inSight: request.rows, around, counters, window, start, end };
    const hasAsked = this.slices.want(rows);
    if (hasAsked || this.wantHits(request.needle, rows)) this.lastStart = performance.now();
    if (!this.slices.loading) this.askOverview();
    for (const kind of request.arrows) {
      if (!this.caches.arrows.has(kind, start, end, window.level)) this.askArrows(kind, window);
    }
    for (const [kind, { controller }] of this.arrowFlights) {
      if (request.arrows.includes(kind)) continue;
      controller.abort();
      this.arrowFlights.delete(kind);
    }
  }

  private wantHits(needle: string, rows: RowRequest): boolean {
    if (needle !== this.needle) this.hits.clear();
    this.needle = needle;
    const isRecorded = (row: number) => !isDerivedRow(row); // a search is of the trace
    const recorded = {
      ...rows,
      inSight: rows.inSight.filter(isRecorded),
      around: rows.around.filter(isRecorded),
      counters: [],
    };
    return needle !== "" && this.hits.want(recorded);
  }

  private clampWindow(window: Window): Window {
    return {
      level: window.level,
      start: Math.max(window.start, Math.floor(this.limits.start)),
      end: Math.min(window.end, Math.ceil(this.limits.end) + 1),
    };
  }

  /** Allows one request per kind; a request for another window replaces it. */
  private askArrows(kind: number, window: Window): void {
    const key = `${keyOf(window)} ${kind}`;
    const before = this.arrowFlights.get(kind);
    if (this.failed.has(key) || (before && keyOf(before.window) === keyOf(window))) return;
    before?.controller.abort();
    const mine: ArrowFlight = { window, controller: new AbortController() };
    const { signal } = mine.controller;
    this.arrowFlights.set(kind, mine);
    this.lastStart = performance.now();
    this.source
      .arrows(kind, window, signal)
      .then((answer) => {
        const data = decodeArrows(answer, this.spanBase);
        const pieces = new Map([[kind, { window, asked: window.level, exact: false, data }]]);
        if (!signal.aborted) this.caches.arrows.add(pieces, data.count.length * BYTES_PER_ARROW + 256);
      })
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.failed.add(key);
        this.onError(error);
      })
      .finally(() => {
        if (this.arrowFlights.get(kind) === mine) this.arrowFlights.delete(kind);
        if (!signal.aborted) this.onData();
      });
  }
}

function keyOf(window: Window): string {
  return `${window.level}:${window.start}:${window.end}`;
}

/** The data that the scene needs: visible and nearby rows, and the arrows over them. */
function isCounter(item: Item): item is TrackItem {
  return item.kind === "track" && item.thread.kind === "counter";
}

/** The visible rows, and those up to half a screen above and below. */
export function visibleRequest(scene: Scene): VisibleRequest {
  const margin = scene.height / 2;
  const [inSight, around, counters] = [new Set<number>(), new Set<number>(), new Set<number>()];
  for (const { items, shift, top, bottom } of sections(scene)) {
    const [from, to] = [top - shift, bottom - shift];
    for (const bar of barsIn(items, from, to)) inSight.add(bar.row);
    for (const bar of barsIn(items, from - margin, to + margin)) around.add(bar.row);
    for (const item of itemsIn(items, from, to)) if (isCounter(item)) counters.add(item.thread.track);
  }
  const { view, ratio, arrows, needle } = scene;
  return {
    view,
    width: timeWidth(scene),
    ratio,
    rows: [...inSight],
    around: [...around].filter((row) => !inSight.has(row)),
    counters: [...counters],
    arrows,
    needle,
  };
}
