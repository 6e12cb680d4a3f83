/** Requests of the timeline (docs/http_api.md). */

import { apiUrl, getBinary, getJson } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import type { TimelineSource } from "../../timeline/loader";

export interface SliceDetail {
  id: number;
  name: string;
  category: string;
  process: string;
  thread: string;
  track: number;
  depth: number;
  start: number;
  dur: number;
  start_epoch_ns: string;
  self: number;
  parent: { id: number; name: string } | null;
  children: number;
  args: Record<string, unknown> | null;
  args_error: string;
  /** Innermost first. */
  stack: string[] | null;
  previous: number | null;
  next: number | null;
}

export interface FlowEnd {
  id: number;
  name: string;
  track: number;
  depth: number;
  start: number;
  dur: number;
  process: string;
  thread: string;
}

export interface FlowJson {
  kind: string;
  from: FlowEnd;
  to: FlowEnd;
}

/** Slice id, start, dur, track, depth, name index. */
export type Hit = [number, number, number, number, number, number];

export interface SearchAnswer {
  total: number;
  names: string[];
  hits: Hit[];
}

export interface StatsAnswer {
  table: TableJson;
  wall: number;
  slices: number;
}

/** Hits that one search brings; more are counted only. */
export const SEARCH_LIMIT = 5000;

export function timelineSource(span: string): TimelineSource {
  return {
    slices: (rows, { level, start, end }, signal) =>
      getBinary("timeline/slices", { span, rows, t0: start, t1: end, px: 2 ** level }, signal),
    counter: (track, { level, start, end }, signal) =>
      getBinary("timeline/counter", { span, track, t0: start, t1: end, px: 2 ** level }, signal),
  };
}

export function getSlice(span: string, id: number, signal?: AbortSignal): Promise<SliceDetail> {
  return getJson("timeline/slice", { span, id }, signal);
}

export async function getFlows(span: string, id: number, signal?: AbortSignal): Promise<FlowJson[]> {
  return (await getJson<{ flows: FlowJson[] }>("timeline/flows", { span, id }, signal)).flows;
}

export function searchSlices(span: string, text: string, signal?: AbortSignal): Promise<SearchAnswer> {
  return getJson("timeline/search", { span, q: text, limit: SEARCH_LIMIT }, signal);
}

/** Statistics of all slices in [start, end) on `tracks` (null: all). */
export function rangeStats(
  span: string,
  start: number,
  end: number,
  tracks: readonly number[] | null,
  signal?: AbortSignal,
): Promise<StatsAnswer> {
  return getJson("timeline/stats", { span, t0: start, t1: end, tracks: tracks?.join(",") ?? null }, signal);
}

export function downloadUrl(span: string): string {
  return apiUrl("trace/download", { span });
}
