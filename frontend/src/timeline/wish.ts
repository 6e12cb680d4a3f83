/** What the scene needs: the rows in sight and some around them. */

import { endOf, startOf } from "./decode";
import type { Wish } from "./loader";
import { barsIn, type Item, itemsIn, type TrackItem } from "./rows";
import { type Range, type Scene, sections, timeWidth } from "./scene";

function isCounter(item: Item): item is TrackItem {
  return item.kind === "track" && item.thread.kind === "counter";
}

/** The rows in sight, and half a screen above and below. */
export function wishOf(scene: Scene): Wish {
  const margin = scene.height / 2;
  const rows = new Set<number>();
  const counters = new Set<number>();
  for (const { items, shift, top, bottom } of sections(scene)) {
    for (const bar of barsIn(items, top - shift - margin, bottom - shift + margin)) rows.add(bar.row);
    for (const item of itemsIn(items, top - shift, bottom - shift))
      if (isCounter(item)) counters.add(item.thread.track);
  }
  const { view, ratio } = scene;
  return { view, width: timeWidth(scene), ratio, rows: [...rows], counters: [...counters] };
}

/** From the first to the last slice of `rows`; null when there is none, or not all rows are loaded. */
export function sliceBounds(scene: Scene, rows: readonly number[]): Range | null {
  const { caches, limits } = scene;
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const row of rows) {
    const pieces = caches.slices.pieces(row, limits.start, limits.end, 0);
    if (pieces.length === 0) return null;
    for (const { data } of pieces) {
      const last = data.start.length - 1;
      if (last < 0) continue;
      start = Math.min(start, startOf(data, 0));
      end = Math.max(end, Math.min(endOf(data, last), limits.end));
    }
  }
  return end > start ? { start, end } : null;
}
