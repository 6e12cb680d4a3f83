/** Everything that is drawn, as plain data. Times are ns after the span's base, sizes CSS pixels. */

import type { ProcessJson } from "../api/types.gen";
import type { PieceCache } from "./cache";
import type { CounterSeries, SliceRow } from "./decode";
import type { Layout, LayoutState, TrackItem } from "./rows";
import type { Theme } from "./theme";
import type { Limits, View } from "./viewport";

export interface Range {
  start: number;
  end: number;
}

/** A slice and where it stands. */
export interface SliceMark extends Range {
  id: number;
  name: string;
  track: number;
  depth: number;
}

/** A bar under the pointer: a slice, or several merged into one. */
export interface HoverBar extends SliceMark {
  merged: number;
  x: number;
  y: number;
}

export interface FlowCurve {
  kind: string;
  from: SliceMark;
  to: SliceMark;
}

/** A dragged area. `tracks` null: all. */
export interface Area extends Range {
  tracks: number[] | null;
}

export interface Caches {
  slices: PieceCache<SliceRow>;
  counters: PieceCache<CounterSeries[]>;
}

export interface Scene {
  processes: readonly ProcessJson[];
  limits: Limits;
  layoutState: LayoutState;
  layout: Layout;
  caches: Caches;
  theme: Theme;
  /** Device pixels per CSS pixel. */
  ratio: number;
  gutter: number;
  width: number;
  height: number;
  scroll: number;
  view: View;
  selected: SliceMark | null;
  hover: HoverBar | null;
  /** Row item under the pointer, for its pin button. */
  hoverItem: TrackItem | null;
  pointer: { x: number; y: number } | null;
  area: Area | null;
  marks: Range[];
  flows: FlowCurve[];
  /** Lower-case text that names must contain; others are dimmed. Empty: no search. */
  needle: string;
  /** Starts of the hits, for the minimap. */
  hits: number[];
  /** Rows whose bars the minimap shows. */
  minimapRows: number[];
}

/** Width of the part that shows time. */
export function timeWidth(scene: Scene): number {
  return Math.max(scene.width - scene.gutter, 0);
}

/** The part of the view that has data. */
export function shownRange(scene: Scene): Range {
  const end = scene.view.start + scene.view.scale * timeWidth(scene);
  return { start: Math.max(scene.view.start, scene.limits.start), end: Math.min(end, scene.limits.end) };
}
