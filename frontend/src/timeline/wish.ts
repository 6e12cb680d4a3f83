/** What the scene needs: the rows in sight and some around them, and the arrows over them. */

import type { Wish } from "./loader";
import { barsIn, type Item, itemsIn, type TrackItem } from "./rows";
import { type Scene, sections, timeWidth } from "./scene";

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
  const { view, ratio, arrows } = scene;
  return { view, width: timeWidth(scene), ratio, rows: [...rows], counters: [...counters], arrows };
}
