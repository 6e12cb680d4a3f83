/** What the scene needs: the rows in sight and some around them. */

import type { ProcessJson } from "../api/types.gen";
import type { Wish } from "./loader";
import { barsIn, type Item, itemsIn, ROWS_PER_TRACK, type TrackItem } from "./rows";
import { type Scene, sections, timeWidth } from "./scene";

const MINIMAP_LANES = 4;

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

/** Rows that tell most at a glance: Overlap Analysis where there is one, else the fullest tracks. */
export function minimapRows(processes: readonly ProcessJson[]): number[] {
  const overlap = processes.find((process) => process.name === "Overlap Analysis");
  const threads = (overlap ? overlap.threads : processes.flatMap((process) => process.threads)).filter(
    (thread) => thread.kind === "slices" && thread.slices > 0,
  );
  const chosen = overlap ? threads : threads.sort((a, b) => b.slices - a.slices);
  return chosen.slice(0, MINIMAP_LANES).map((thread) => thread.track * ROWS_PER_TRACK);
}
