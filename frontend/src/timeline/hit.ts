/** What is under the pointer. */

import type { SliceRow } from "./decode";
import { endOf, startOf } from "./decode";
import { isDerivedTrack } from "./derived";
import type { Item, Layout, TrackItem } from "./rows";
import { itemsIn, PITCH } from "./rows";

/** Index of the bar at `time`, or of the nearest one within `slack` ns; -1 when there is none. */
export function barAt(row: SliceRow, time: number, slack: number): number {
  let low = 0;
  let high = row.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (startOf(row, middle) <= time) low = middle + 1;
    else high = middle;
  }
  let best = -1;
  let distance = slack;
  for (const index of [low - 1, low]) {
    if (index < 0 || index >= row.start.length) continue;
    const away = Math.max(startOf(row, index) - time, time - endOf(row, index), 0);
    if (away < distance || (away === 0 && best < 0)) {
      best = index;
      distance = away;
    }
  }
  return best;
}

export interface Place {
  item: Item;
  pinned: boolean;
  /** Depth row under the pointer; -1 on a process header or outside the rows. */
  depth: number;
}

function depthAt(item: Item, y: number): number {
  if (item.kind !== "track") return -1;
  const depth = Math.floor((y - item.y) / PITCH);
  return depth < item.depths ? depth : -1;
}

/** The item at `y` pixels from the top of the canvas when the rows are scrolled by `scroll`. */
export function placeAt(layout: Layout, y: number, scroll: number): Place | null {
  const pinned = y < layout.pinnedHeight;
  const at = pinned ? y : y - layout.pinnedHeight + scroll;
  const items: readonly Item[] = pinned ? layout.pinned : layout.items;
  const item = itemsIn(items, at, at + 1)[0];
  return item ? { item, pinned, depth: depthAt(item, at) } : null;
}

/** Tracks of the trace that the band between two heights touches, each once. */
export function tracksBetween(layout: Layout, y0: number, y1: number, scroll: number): number[] {
  const [top, bottom] = y0 < y1 ? [y0, y1 + 1] : [y1, y0 + 1];
  const split = layout.pinnedHeight;
  const found: Item[] = itemsIn(layout.pinned, top, Math.min(bottom, split));
  if (bottom > split) {
    found.push(...itemsIn(layout.items, Math.max(top, split) - split + scroll, bottom - split + scroll));
  }
  const tracks = found
    .filter((item): item is TrackItem => item.kind === "track" && item.thread.kind === "slices")
    .filter((item) => !isDerivedTrack(item.thread.track))
    .map((item) => item.thread.track);
  return [...new Set(tracks)];
}
