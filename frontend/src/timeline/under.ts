/** The bar under the pointer, found among the drawn bars. */

import { levelOf } from "./cache";
import { busyOf, endOf, longestOf, startOf } from "./decode";
import { barAt, type Place, placeAt } from "./hit";
import { threadRow } from "./rows";
import { type HoverBar, type Scene, shownRange } from "./scene";
import { timeAt } from "./viewport";

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
      x,
      y,
    };
    return { place, bar };
  }
  return { place, bar: null };
}
