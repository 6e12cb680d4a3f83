/** Vertical layout: processes, their threads, and the depth rows of each. Pixels are CSS pixels. */

import type { ProcessJson, ThreadJson } from "../api/types.gen";
import { firstIndex } from "../base/search";
import { DERIVED, isDerivedProcess, ROWS_PER_TRACK } from "./lanes";

export const HEADER_HEIGHT = 22;
export const PITCH = 14;
export const BAR = 13;
const PAD = 3;
const COUNTER_HEIGHT = 42;

/** A thread in the rows. */
export interface RowThread extends ThreadJson {
  /** Number of the track in requests for rows, where the server packed the slices again. */
  rowTrack?: number;
  /** The tracks of the trace that it shows; without them, its own. */
  tracks?: readonly number[];
}

/** A process in the rows. */
export interface RowProcess extends ProcessJson {
  threads: RowThread[];
  /** The rank, where the page shows rows of several. */
  rank?: string;
  /** Place of the rank among those of the page, the same whichever is open. */
  rankPlace?: number;
  /** Only pinned rows are shown. */
  isHidden?: boolean;
}

export interface LayoutState {
  /** Keys of collapsed processes. */
  collapsedProcesses: ReadonlySet<string>;
  /** Tracks that are folded to one row. */
  collapsedTracks: ReadonlySet<number>;
  /** Pinned tracks, in this order. */
  pinned: readonly number[];
  /** Words, any of which must be in "process thread"; empty: no filter. */
  filter: string;
  arrangement: Arrangement;
}

export interface ProcessItem {
  kind: "process";
  key: string;
  /** See foldKey. */
  fold: string;
  process: RowProcess;
  collapsed: boolean;
  /** Threads that pass the filter. */
  threads: number;
  y: number;
  height: number;
}

export interface TrackItem {
  kind: "track";
  process: RowProcess;
  thread: RowThread;
  collapsed: boolean;
  pinned: boolean;
  /** Visible depth rows. */
  depths: number;
  y: number;
  height: number;
}

export type Item = ProcessItem | TrackItem;

export interface Layout {
  pinned: TrackItem[];
  pinnedHeight: number;
  items: Item[];
  height: number;
}

/** One depth row on the screen. `y` counts from the top of its section. */
export interface Bar {
  item: TrackItem;
  row: number;
  y: number;
}

/** Identifies a process; that of derived rows without its name, which depends on the language. */
export function processKey(process: RowProcess): string {
  return isDerivedProcess(process.pid) ? process.pid : `${process.name}:${process.pid}`;
}

/** Identifies what folds as one: a process; the derived rows of all ranks. */
export function foldKey(process: RowProcess): string {
  return isDerivedProcess(process.pid) ? DERIVED : processKey(process);
}

/** The tracks of the trace that a thread shows. */
export function tracksOf(thread: RowThread): readonly number[] {
  return thread.tracks ?? [thread.track];
}

/** The pinned tracks with a thread added to them, or removed. */
export function togglePinned(pinned: readonly number[], thread: RowThread): number[] {
  const others = pinned.filter((track) => !tracksOf(thread).includes(track));
  return others.length < pinned.length ? others : [...pinned, thread.track];
}

/** Number of a depth row of a thread in requests. */
export function threadRow(thread: RowThread, depth: number): number {
  return rowNumber(thread.rowTrack ?? thread.track, depth);
}

export function rowNumber(track: number, depth: number): number {
  return track * ROWS_PER_TRACK + depth;
}

function matches(filter: string, process: RowProcess, thread: RowThread): boolean {
  const words = filter
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  if (words.length === 0) return true;
  const text =
    `${process.rank ?? ""} ${process.name} ${process.label} ${process.pid} ${thread.name} ${thread.tid}`.toLowerCase();
  return words.some((word) => text.includes(word));
}

function trackItem(process: RowProcess, thread: RowThread, state: LayoutState, y: number): TrackItem {
  const collapsed = state.collapsedTracks.has(thread.track);
  const counter = thread.kind === "counter";
  const depths = counter ? 1 : collapsed ? Math.min(1, thread.rows) : thread.rows;
  const height = counter ? (collapsed ? PITCH + PAD : COUNTER_HEIGHT) : Math.max(depths, 1) * PITCH + PAD;
  const pinned = tracksOf(thread).some((track) => state.pinned.includes(track));
  return { kind: "track", process, thread, collapsed, pinned, depths, y, height };
}

/** Lays out all rows from the top down. Pinned tracks are in `pinned`, also hidden ones, and also in their process. */
export function layOut(processes: readonly RowProcess[], state: LayoutState): Layout {
  const items: Item[] = [];
  let y = 0;
  const { hiddenProcesses, hiddenTracks, processOrder, trackOrder } = state.arrangement;
  for (const process of inOrder(processes, processKey, processOrder)) {
    if (process.isHidden) continue;
    const key = processKey(process);
    if (hiddenProcesses.has(key)) continue;
    const threads = inOrder(process.threads, (thread) => thread.track, trackOrder).filter(
      (thread) => !hiddenTracks.has(thread.track) && matches(state.filter, process, thread),
    );
    if (threads.length === 0) continue;
    const fold = foldKey(process);
    const collapsed = state.collapsedProcesses.has(fold);
    items.push({ kind: "process", key, fold, process, collapsed, threads: threads.length, y, height: HEADER_HEIGHT });
    y += HEADER_HEIGHT;
    if (collapsed) continue;
    for (const thread of threads) {
      const item = trackItem(process, thread, state, y);
      items.push(item);
      y += item.height;
    }
    y += PAD;
  }
  const pinned: TrackItem[] = [];
  let top = 0;
  for (const track of state.pinned) {
    const found = findTrack(processes, track);
    if (!found || pinned.some((item) => item.thread === found.thread)) continue;
    const item = trackItem(found.process, found.thread, state, top);
    pinned.push(item);
    top += item.height;
  }
  return { pinned, pinnedHeight: top, items, height: y };
}

const endOf = ({ y, height }: Item) => y + height;

/** Items that touch [top, bottom). */
export function itemsIn<T extends Item>(items: readonly T[], top: number, bottom: number): T[] {
  const first = firstIndex(items.length, (index) => endOf(items[index] as T) <= top);
  const last = firstIndex(items.length, (index) => (items[index] as T).y < bottom);
  return items.slice(first, last);
}

/** Depth rows of slice tracks that touch [top, bottom). */
export function barsIn(items: readonly Item[], top: number, bottom: number): Bar[] {
  const result: Bar[] = [];
  for (const item of itemsIn(items, top, bottom)) {
    if (item.kind !== "track" || item.thread.kind === "counter") continue;
    const first = Math.max(0, Math.floor((top - item.y) / PITCH));
    const last = Math.min(item.depths, Math.ceil((bottom - item.y) / PITCH));
    for (let depth = first; depth < last; depth++) {
      result.push({ item, row: threadRow(item.thread, depth), y: item.y + depth * PITCH });
    }
  }
  return result;
}

/** Key of a thread that is the same in every reading of the trace: track numbers differ, and names may arrive later. */
export function threadKey(process: RowProcess, thread: ThreadJson): string {
  return `${process.pid}\n${thread.kind}\n${thread.kind === "counter" ? thread.name : thread.tid}`;
}

/** True for the same process or thread in two layouts. */
export function sameItem(a: Item, b: Item): boolean {
  if (a.kind === "process") return b.kind === "process" && a.process.pid === b.process.pid;
  return b.kind === "track" && threadKey(a.process, a.thread) === threadKey(b.process, b.thread);
}

/** The thread that shows a track, also a collapsed or filtered one. */
export function findTrack(
  processes: readonly RowProcess[],
  track: number,
): { process: RowProcess; thread: RowThread } | null {
  for (const process of processes) {
    for (const thread of process.threads)
      if (thread.track === track || thread.tracks?.includes(track)) return { process, thread };
  }
  return null;
}

export function trackLabel(thread: ThreadJson): string {
  return thread.name || `${thread.tid}`;
}

export function processLabel(process: RowProcess): string {
  return [process.rank, process.name, process.label].filter(Boolean).join(" · ");
}

/** Rows that the user hid or moved. Pure functions. */

export interface Arrangement {
  /** Keys of hidden processes, and hidden tracks. */
  hiddenProcesses: ReadonlySet<string>;
  hiddenTracks: ReadonlySet<number>;
  /** Moved processes and tracks: the listed ones come first, in this order. */
  processOrder: readonly string[];
  trackOrder: readonly number[];
}

/** All rows, in the order of the trace. */
export const AS_RECORDED: Arrangement = {
  hiddenProcesses: new Set(),
  hiddenTracks: new Set(),
  processOrder: [],
  trackOrder: [],
};

export function isArranged({ hiddenProcesses, hiddenTracks, processOrder, trackOrder }: Arrangement): boolean {
  return hiddenProcesses.size + hiddenTracks.size + processOrder.length + trackOrder.length > 0;
}

/** The items whose keys are listed, in that order, then the others in theirs. */
export function inOrder<T, K>(items: readonly T[], keyOf: (item: T) => K, order: readonly K[]): readonly T[] {
  if (order.length === 0) return items;
  const places = new Map(order.map((key, place) => [key, place]));
  const placeOf = (item: T) => places.get(keyOf(item)) ?? order.length;
  return [...items].sort((a, b) => placeOf(a) - placeOf(b));
}

/** The keys with one of them a place further up (-1) or down (1). */
export function moved<K>(keys: readonly K[], key: K, step: 1 | -1): readonly K[] {
  const from = keys.indexOf(key);
  const to = from + step;
  if (from < 0 || to < 0 || to >= keys.length) return keys;
  return keys.map((one, place) => (place === from ? (keys[to] as K) : place === to ? key : one));
}
