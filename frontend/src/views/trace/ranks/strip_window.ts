/** The window that a request for strips covers. */

import type { View } from "../../../timeline/viewport";

/** Part of the view's width that a request covers on each side of it. */
const MARGIN = 0.3;
/** Most bins of a request (server/strips_api.py). */
const MOST_BINS = 4096;

export interface StripWindow {
  start: number;
  end: number;
  bins: number;
}

/** A window around the view with a bin for each pixel. Bins are whole ns, so that their edges are exact. */
export function windowAround(view: View, width: number): StripWindow {
  const shown = view.scale * width;
  const step = binOf(view, width);
  const start = Math.floor(view.start - shown * MARGIN);
  const bins = Math.max(1, Math.ceil((view.start + shown * (1 + MARGIN) - start) / step));
  return { start, end: start + bins * step, bins };
}

/** Width of a bin for a view, ns. */
function binOf({ scale }: View, width: number): number {
  return Math.max(1, Math.ceil(scale), Math.ceil((scale * width * (1 + 2 * MARGIN) + 1) / (MOST_BINS - 1)));
}

/** Whether an answer shows a view as sharply as its own request would. */
export function covers({ start, end, bins }: StripWindow, view: View, width: number): boolean {
  const isWithin = start <= view.start && view.start + view.scale * width <= end;
  return isWithin && (end - start) / bins <= binOf(view, width);
}
