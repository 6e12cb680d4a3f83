/** What is under the pointer. */

import { firstIndex } from "../base/search";
import { levelOf } from "./cache";
import { busyOf, endOf, longestOf, type SliceRow, startOf } from "./decode";
import { isDerivedTrack } from "./lanes";
import { type Item, itemsIn, PITCH, type TrackItem, threadRow, tracksOf } from "./rows";
import { type HoverBar, type Scene, type Section, type SectionScene, sections, shownRange } from "./scene";
import { timeAt } from "./viewport";

/** Index of the bar at `time`, or of the nearest one within `slack` ns; -1 when there is none. */
export function barAt(row: SliceRow, time: number, slack: number): number {
  const next = firstIndex(row.start.length, (index) => startOf(row, index) <= time);
  let best = -1;
  let distance = slack;
  for (const index of [next - 1, next]) {
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

/** The item at `y` pixels from the top of the canvas. */
export function placeAt(scene: SectionScene, y: number): Place | null {
  const [pinned, rest] = sections(scene) as [Section, Section];
  const section = y < pinned.bottom ? pinned : rest;
  const at = y - section.shift;
  const item = itemsIn(section.items, at, at + 1)[0];
  return item ? { item, pinned: section === pinned, depth: depthAt(item, at) } : null;
}

/** Tracks with recorded slices that the band between two heights touches, each once. */
export function tracksBetween(scene: SectionScene, y0: number, y1: number): number[] {
  const [top, bottom] = y0 < y1 ? [y0, y1 + 1] : [y1, y0 + 1];
  const found = sections(scene).flatMap(({ items, shift, top: from, bottom: to }) =>
    itemsIn(items, Math.max(top, from) - shift, Math.min(bottom, to) - shift),
  );
  const tracks = found
    .filter((item): item is TrackItem => item.kind === "track" && item.thread.kind === "slices")
    .flatMap((item) => tracksOf(item.thread))
    .filter((track) => !isDerivedTrack(track));
  return [...new Set(tracks)];
}

/** Largest distance (px) at which the pointer hits a bar thinner than a pixel. */
const SLACK = 2;

export interface Under {
  place: Place | null;
  bar: HoverBar | null;
}

/** The bar under a point of the canvas, and the item there. */
export function barUnder(scene: Scene, x: number, y: number): Under {
  const place = placeAt(scene, y);
  if (place?.item.kind !== "track" || place.depth < 0 || x < scene.gutter) return { place, bar: null };
  const track = place.item.thread.track;
  const time = timeAt(scene.view, x - scene.gutter);
  const range = shownRange(scene);
  const level = levelOf(scene.view.scale / scene.ratio);
  const row = threadRow(place.item.thread, place.depth);
  for (const { data } of scene.caches.slices.pieces(row, range.start, range.end, level).reverse()) {
    const index = barAt(data, time, SLACK * scene.view.scale);
    if (index < 0) continue;
    const bar: HoverBar = {
      id: data.firstId + (data.id[index] as number),
      name: data.names[data.name[index] as number] ?? "",
      track,
      depth: place.depth,
      start: startOf(data, index),
      end: endOf(data, index),
      merged: data.count[index] as number,
      busy: busyOf(data, index),
      longest: longestOf(data, index),
    };
    return { place, bar };
  }
  return { place, bar: null };
}
