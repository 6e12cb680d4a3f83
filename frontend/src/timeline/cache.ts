/** Cache of row pieces by level of detail. Until a piece arrives, another level is drawn instead. */

import { endOfView, type View } from "./viewport";

/** Window of one request: [start, end) ns at 2^level ns per bin. */
export interface Window {
  level: number;
  start: number;
  end: number;
}

/** One row of one answer. */
export interface Piece<T> {
  /** Window of the piece, at the level that the server returned. */
  window: Window;
  /** The requested level: the server's bins may be wider. */
  asked: number;
  /** True if nothing was merged: finer levels would be the same. */
  exact: boolean;
  data: T;
}

interface Batch<T> {
  pieces: Map<number, Piece<T>>;
  /** What the windows of the pieces cover together: most batches are beside the view. */
  start: number;
  end: number;
  bytes: number;
  used: number;
  keep: boolean;
}

/** Level whose bin is at most one device pixel. */
export function levelOf(nsPerPixel: number): number {
  return Math.max(0, Math.floor(Math.log2(nsPerPixel) + 1e-9));
}

/** The window to request: the view and up to its width on each side, on a grid that small moves do not change. */
export function windowOf(view: View, width: number, nsPerPixel: number): Window {
  const length = Math.max(view.scale * width, 1);
  const grid = 2 ** Math.max(0, Math.ceil(Math.log2(length)) - 1);
  return {
    level: levelOf(nsPerPixel),
    start: Math.floor(view.start / grid) * grid,
    end: (Math.floor(endOfView(view, width) / grid) + 1) * grid,
  };
}

function isCovering(window: Pick<Window, "start" | "end">, start: number, end: number): boolean {
  return window.start <= start && window.end >= end;
}

/** Each row in sight looks through all batches in each frame. */
const MOST_BATCHES = 256;

/** Least-recently-used batches (one answer each) up to a size in bytes. */
export class PieceCache<T> {
  private batches: Batch<T>[] = [];
  private bytes = 0;
  private clock = 0;

  constructor(private readonly limit: number) {}

  /** `keep`: protects batches that cover the full range; they are evicted only if they exceed half of the limit. */
  add(pieces: Map<number, Piece<T>>, bytes: number, keep = false): void {
    const windows = [...pieces.values()].map((piece) => piece.window);
    const start = Math.min(...windows.map((window) => window.start));
    const end = Math.max(...windows.map((window) => window.end));
    this.batches.push({ pieces, start, end, bytes, used: ++this.clock, keep });
    this.bytes += bytes;
    this.evict();
  }

  clear(): void {
    this.batches = [];
    this.bytes = 0;
  }

  get size(): number {
    return this.bytes;
  }

  /** True if `row` can be drawn over [start, end) at `level` without loss. */
  has(row: number, start: number, end: number, level: number): boolean {
    return this.full(row, start, end, level) !== null;
  }

  /** True if `row` was requested over [start, end) at `level`; its bins may be wider. */
  wasAsked(row: number, start: number, end: number, level: number): boolean {
    return this.batches.some((batch) => {
      if (!isCovering(batch, start, end)) return false;
      const piece = batch.pieces.get(row);
      return piece !== undefined && isCovering(piece.window, start, end) && (piece.asked <= level || piece.exact);
    });
  }

  /**
   * Pieces to draw, in order: a single piece if one suffices; else the closest coarser piece that covers the range,
   * then finer pieces that cover parts of it.
   */
  pieces(row: number, start: number, end: number, level: number): Piece<T>[] {
    const full = this.full(row, start, end, level);
    if (full) return [full];
    let under: Piece<T> | null = null;
    let over: Piece<T> | null = null;
    for (const batch of this.batches) {
      if (batch.end <= start || batch.start >= end) continue;
      const piece = batch.pieces.get(row);
      if (!piece || piece.window.end <= start || piece.window.start >= end) continue;
      if (isCovering(piece.window, start, end)) {
        if (!under || piece.window.level < under.window.level) under = piece;
      } else if (!over || overlap(piece.window, start, end) > overlap(over.window, start, end)) over = piece;
    }
    const found = [under, over].filter((piece): piece is Piece<T> => piece !== null);
    if (under && over && over.window.level >= under.window.level) return [under];
    return found;
  }

  private full(row: number, start: number, end: number, level: number): Piece<T> | null {
    let best: Piece<T> | null = null;
    for (const batch of this.batches) {
      if (!isCovering(batch, start, end)) continue;
      const piece = batch.pieces.get(row);
      if (!piece || !isCovering(piece.window, start, end)) continue;
      if (piece.window.level > level && !piece.exact) continue;
      batch.used = ++this.clock;
      if (!best || piece.window.level > best.window.level) best = piece;
    }
    return best;
  }

  private evict(): void {
    while (this.bytes > this.limit || this.batches.length > MOST_BATCHES) {
      const kept = this.batches.filter((batch) => batch.keep);
      const keptBytes = kept.reduce((sum, batch) => sum + batch.bytes, 0);
      const isCrowded = keptBytes > this.limit / 2 || kept.length > MOST_BATCHES / 2;
      const last = this.batches[this.batches.length - 1];
      const old = this.batches.filter((batch) => batch.keep === isCrowded && batch !== last);
      const oldest = old.reduce<Batch<T> | null>((a, b) => (!a || b.used < a.used ? b : a), null);
      if (!oldest) return;
      this.batches.splice(this.batches.indexOf(oldest), 1);
      this.bytes -= oldest.bytes;
    }
  }
}

/** The part of [start, end) that each piece of `pieces` draws; finer pieces take precedence. */
export function partsOf<T>(pieces: readonly Piece<T>[], start: number, end: number): [Piece<T>, number, number][] {
  const [under, over] = pieces;
  if (!under) return [];
  if (!over) return [[under, start, end]];
  const [from, to] = [Math.max(over.window.start, start), Math.min(over.window.end, end)];
  const parts: [Piece<T>, number, number][] = [
    [under, start, from],
    [over, from, to],
    [under, to, end],
  ];
  return parts.filter(([, low, high]) => low < high);
}

function overlap(window: Window, start: number, end: number): number {
  return Math.min(window.end, end) - Math.max(window.start, start);
}

/** Row numbers as the parameter `rows`: sorted, neighbours as ranges ("4096-4099,8192"). */
export function rowRanges(rows: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const row of [...rows].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && row <= last[1] + 1) last[1] = row;
    else found.push([row, row]);
  }
  return found;
}
