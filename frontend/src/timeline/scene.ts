/** Everything that is drawn, as plain data. Times are ns after the span's base, sizes CSS pixels. */

import type { PieceCache } from "./cache";
import type { MarkColour } from "./colours";
import type { ArrowSet, CounterSeries, SliceRow } from "./decode";
import type { ColourMode } from "./display";
import { isDerivedTrack, laneOfTrack, type SliceLabels } from "./lanes";
import {
  HEADER_HEIGHT,
  type Item,
  itemsIn,
  type Layout,
  type LayoutState,
  layOut,
  PITCH,
  type RowProcess,
  rowNumber,
  type TrackItem,
} from "./rows";
import type { Theme } from "./theme";
import type { Range, View } from "./viewport";

export type { Range } from "./viewport";

const MINIMAP_LANES = 4;
/** Pinned rows stay in place up to this share of the height; more of them scroll with the others. */
const MOST_PINNED = 0.7;

/** A slice and its position. */
export interface SliceMark extends Range {
  id: number;
  name: string;
  track: number;
  depth: number;
}

/** A range, or a flag (start = end), that the user named. */
export interface Mark extends Range {
  name: string;
  /** Without one: blue. */
  colour?: MarkColour;
}

/** A bar under the pointer: a slice, or several merged into one. */
export interface HoverBar extends SliceMark {
  merged: number;
  /** Total time of the slices, and duration of the longest, ns. */
  busy: number;
  longest: number;
}

export interface FlowCurve {
  kind: string;
  from: SliceMark;
  to: SliceMark;
}

/** A dragged area. `tracks` null: all. `lanes`: the ranks whose strips were dragged over; without it, all. */
export interface Area extends Range {
  tracks: number[] | null;
  lanes?: readonly number[];
}

/** A step on a device, with its text on the ruler. `device` "": the result has one device. */
export interface StepMark extends Range {
  name: string;
  device: string;
}

export interface Caches {
  slices: PieceCache<SliceRow>;
  /** Bars of the slices that match the newest search. */
  hits: PieceCache<SliceRow>;
  counters: PieceCache<CounterSeries[]>;
  arrows: PieceCache<ArrowSet>;
}

export interface Scene {
  processes: readonly RowProcess[];
  limits: Range;
  /** The zero of the ruler. */
  zero: number;
  labels: SliceLabels;
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
  /** A slice to align with the selected one. */
  second: SliceMark | null;
  hover: HoverBar | null;
  /** Row item under the pointer, for its pin button. */
  hoverItem: TrackItem | null;
  pointer: { x: number; y: number } | null;
  area: Area | null;
  marks: readonly Mark[];
  /** By start. */
  steps: readonly StepMark[];
  /** Flows of the selected slice. */
  flows: readonly FlowCurve[];
  /** Kinds of flows of the trace, and the indices of those with all arrows shown. */
  flowKinds: readonly string[];
  arrows: readonly number[];
  /** The search, whose hits the server determines; other bars are dimmed. Empty: no search. */
  needle: string;
  /** Times of the hits, for the minimap. */
  hits: readonly number[];
  colours: ColourMode;
  /** Rows whose bars the minimap shows. */
  minimapRows: number[];
}

/** Width of the column of names. */
export const GUTTER = 210;

/** The fields of a scene that come from the trace. */
export type TraceParts = Pick<Scene, "processes" | "limits" | "zero" | "labels" | "flowKinds" | "caches">;

/** The part of a scene that another reading of the trace replaces. */
export function partsOfTrace(trace: TraceParts, layoutState: LayoutState) {
  const { processes, limits, zero, labels, flowKinds, caches } = trace;
  const layout = layOut(processes, layoutState);
  const rows = minimapRows(processes);
  return { processes, limits, zero, labels, flowKinds, layoutState, layout, caches, minimapRows: rows };
}

/** A scene without a size yet. */
export function newScene(trace: TraceParts, layoutState: LayoutState, theme: Theme): Scene {
  return {
    ...partsOfTrace(trace, layoutState),
    theme,
    ratio: 1,
    gutter: GUTTER,
    width: 0,
    height: 0,
    scroll: 0,
    view: { start: trace.limits.start, scale: 1 },
    selected: null,
    second: null,
    hover: null,
    hoverItem: null,
    pointer: null,
    area: null,
    marks: [],
    steps: [],
    flows: [],
    arrows: [],
    needle: "",
    hits: [],
    colours: "name",
  };
}

/** Rows of the open rank for the minimap: Overlap Analysis if the trace has it, else the fullest tracks. */
function minimapRows(all: readonly RowProcess[]): number[] {
  const processes = all.filter(({ threads }) => laneOfTrack(threads[0]?.track ?? 0) === 0);
  const overlap = processes.find((process) => process.name === "Overlap Analysis");
  const threads = (overlap ? overlap.threads : processes.flatMap((process) => process.threads)).filter(
    (thread) => thread.kind === "slices" && thread.slices > 0 && !isDerivedTrack(thread.track),
  );
  const chosen = overlap ? threads : threads.sort((a, b) => b.slices - a.slices);
  return chosen.slice(0, MINIMAP_LANES).map((thread) => rowNumber(thread.track, 0));
}

/** Width of the time axis. */
export function timeWidth(scene: Scene): number {
  return Math.max(scene.width - scene.gutter, 0);
}

/** The part of the view that has data. */
export function shownRange(scene: Scene): Range {
  const end = scene.view.start + scene.view.scale * timeWidth(scene);
  return { start: Math.max(scene.view.start, scene.limits.start), end: Math.min(end, scene.limits.end) };
}

/** Items that share a scroll position. `shift`: offset to add to an item's y; drawn within [top, bottom). */
export interface Section {
  items: readonly Item[];
  shift: number;
  top: number;
  bottom: number;
}

/** What determines the sections. */
export type SectionScene = Pick<Scene, "layout" | "height" | "scroll">;

/** The pinned rows, then the others. */
export function sections(scene: SectionScene): Section[] {
  const { layout, height, scroll } = scene;
  const split = layout.pinnedHeight;
  const isMoving = split > height * MOST_PINNED;
  const edge = isMoving ? Math.min(Math.max(split - scroll, 0), height) : split;
  return [
    { items: layout.pinned, shift: isMoving ? -scroll : 0, top: 0, bottom: edge },
    { items: layout.items, shift: split - scroll, top: edge, bottom: height },
  ];
}

/** The items in sight, each with its section and its top on the canvas. */
export function itemsInSight(scene: SectionScene): { item: Item; section: Section; y: number }[] {
  return sections(scene).flatMap((section) =>
    itemsOf(section).map((item) => ({ item, section, y: item.y + section.shift })),
  );
}

/** The items of a section that are in sight. */
export function itemsOf({ items, shift, top, bottom }: Section): Item[] {
  return itemsIn(items, top - shift, bottom - shift);
}

/** Position of a row on the canvas; the header of its process if that is collapsed. */
export interface RowPlace {
  y: number;
  height: number;
  section: Section;
  inner: boolean;
}

/** Positions of a row: in its process and among the pinned rows. */
export function rowPlaces(scene: Scene, track: number, depth: number): RowPlace[] {
  const found: RowPlace[] = [];
  for (const section of sections(scene)) {
    for (const item of section.items) {
      const y = item.y + section.shift;
      if (item.kind === "track" && item.thread.track === track) {
        const shown = Math.min(depth, Math.max(item.depths - 1, 0));
        found.push({ y: y + shown * PITCH, height: PITCH - 1, section, inner: shown === depth });
      } else if (item.kind === "process" && item.collapsed) {
        const here = item.process.threads.some((thread) => thread.track === track);
        if (here) found.push({ y, height: HEADER_HEIGHT, section, inner: false });
      }
    }
  }
  return found;
}
