/** The data of the timeline, the callbacks to its view, and the initial view. */

import type { SliceLabels } from "./lanes";
import type { TimelineSource } from "./loader";
import type { LayoutState, RowProcess, TrackItem } from "./rows";
import type { Area, HoverBar, Range } from "./scene";
import { clamp, fit, sameView, show, type View } from "./viewport";

/** Callbacks from the engine to its view. */
export interface TimelineEvents {
  /** The view has stopped moving. */
  settled(): void;
  /** The rows were drawn: the view may have changed. */
  drawn(): void;
  /** A bar was clicked; null: empty space. */
  picked(bar: HoverBar | null): void;
  /** A bar was clicked with Shift. */
  pickedSecond(bar: HoverBar): void;
  /** An area was dragged; null: it was cleared. */
  area(area: Area | null): void;
  /** The bar under the pointer, at client coordinates. */
  hovered(bar: HoverBar | null, x: number, y: number): void;
  /** The menu of a row was asked for, at client coordinates. */
  menu(item: TrackItem, x: number, y: number): void;
  /** Rows were folded or pinned by a click. */
  layout(state: LayoutState): void;
  failed(error: unknown): void;
  loading(busy: boolean): void;
}

export interface TimelineData {
  processes: readonly RowProcess[];
  labels: SliceLabels;
  flowKinds: readonly string[];
  limits: Range;
  /** The times of what the view shows beside the trace; null: nothing. */
  beside: Range | null;
  /** The zero of displayed times. */
  zero: number;
  /** From the first to the last slice: the initial view. Counters may extend beyond it. */
  home: Range;
  /** Epoch time (ns) of time 0. */
  base: string;
  source: TimelineSource;
}

/** The times that the view may show. */
export function boundsOf({ limits, beside }: Pick<TimelineData, "limits" | "beside">): Range {
  if (!beside) return limits;
  return { start: Math.min(limits.start, beside.start), end: Math.max(limits.end, beside.end) };
}

/** Margin at the first and last slice, as a share. */
const MARGIN = 0.02;

type Extent = Pick<TimelineData, "home" | "limits">;

/** The initial view. */
export function homeView({ home, limits }: Extent, width: number): View {
  return clamp(show(home.start, home.end, width, MARGIN), limits, width);
}

/**
 * Transfers `view` to another reading of the trace: a view of everything keeps showing everything while the data grow;
 * any other view stays where it is. `shift`: offset to add to a time of the previous reading.
 */
export function viewAfter(view: View, before: Extent, after: Extent, shift: number, width: number): View {
  if (sameView(view, homeView(before, width))) return homeView(after, width);
  if (sameView(view, fit(before.limits, width))) return fit(after.limits, width);
  return clamp({ start: view.start + shift, scale: view.scale }, after.limits, width);
}
