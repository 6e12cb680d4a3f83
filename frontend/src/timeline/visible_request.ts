/** The data that the scene needs: visible and nearby rows, and the arrows over them. */

import type { VisibleRequest } from "./loader";
import { barsIn, type Item, itemsIn, type TrackItem } from "./rows";
import { type Scene, sections, timeWidth } from "./scene";

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
