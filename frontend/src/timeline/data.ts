/** What the timeline shows, what it tells its view, and where it begins. */

import type { ProcessJson } from "../api/types.gen";
import type { TimelineSource } from "./loader";
import type { LayoutState } from "./rows";
import type { Area, HoverBar, Range } from "./scene";
import { clamp, fit, type Limits, sameView, show, type View } from "./viewport";

/** What the engine tells its view. */
export interface TimelineEvents {
  /** The view came to rest. */
  settled(view: View): void;
  /** A bar was clicked; null: empty space. */
  picked(bar: HoverBar | null): void;
  /** An area was dragged; null: it was given up. */
  area(area: Area | null): void;
  /** The bar under the pointer, at client coordinates. */
  hovered(bar: HoverBar | null, x: number, y: number): void;
  /** Rows were folded or pinned by a click. */
  layout(state: LayoutState): void;
  failed(error: unknown): void;
  loading(busy: boolean): void;
}

export interface TimelineData {
  processes: readonly ProcessJson[];
  flowKinds: readonly string[];
  limits: Limits;
  /** The time that people's times count from. */
  zero: number;
  /** From the first to the last slice: the view to begin with. Counters may run longer. */
  home: Range;
  /** Epoch time (ns) that all times count from. */
  base: string;
  source: TimelineSource;
}

/** Room beside the first and last slice, as a share. */
const MARGIN = 0.02;

type Extent = Pick<TimelineData, "home" | "limits">;

/** The view to begin with. */
export function homeView({ home, limits }: Extent, width: number): View {
  return clamp(show(home.start, home.end, width, MARGIN), limits, width);
}

/**
 * The view of another reading of the trace in the place of `view` of the one before: all stays all while the data grow;
 * a view that the user chose stays where it is. `shift`: what to add to a time of the one before.
 */
export function viewAfter(view: View, before: Extent, after: Extent, shift: number, width: number): View {
  if (sameView(view, homeView(before, width))) return homeView(after, width);
  if (sameView(view, fit(before.limits, width))) return fit(after.limits, width);
  return clamp({ start: view.start + shift, scale: view.scale }, after.limits, width);
}
