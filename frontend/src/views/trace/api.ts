/** Requests of the timeline (docs/http_api.md). */

import { apiUrl, getBinary, getJson } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import type { TimelineSource } from "../../timeline/loader";
import type { Area } from "../../timeline/scene";

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
  kernel: KernelFacts | null;
}

/** What kernel_details.csv says of a device slice; null where unknown. */
export interface KernelFacts {
  source: string;
  step: string | null;
  type: string | null;
  core: string | null;
  wait_ns: number | null;
  block_dim: number | null;
  mix_block_dim: number | null;
  input_shapes: string | null;
  input_types: string | null;
  input_formats: string | null;
  output_shapes: string | null;
  output_types: string | null;
  output_formats: string | null;
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

export interface ChainLink extends FlowEnd {
  category: string;
  /** Kind of the flow to the next link; "" for a call. */
  via: string;
}

/** How a slice came to be: from the outermost caller to the slice itself. */
export interface ChainJson {
  links: ChainLink[];
  forward: FlowEnd | null;
  backward: FlowEnd | null;
}

/** Slice id, start, dur, track, depth, name index. */
export type Hit = [number, number, number, number, number, number];

export interface SearchAnswer {
  total: number;
  /** Number of the first hit that is here. */
  first: number;
  names: string[];
  hits: Hit[];
}

export interface StatsAnswer {
  table: TableJson;
  wall: number;
  slices: number;
}

/** Hits that one answer brings; others come when they are stepped to. */
export const SEARCH_LIMIT = 10_000;

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

export function getChain(span: string, id: number, signal?: AbortSignal): Promise<ChainJson> {
  return getJson("timeline/chain", { span, id }, signal);
}

/** Id of the slice of this name that starts at `at` or is nearest to it; null where no slice has the name. */
export async function findSlice(span: string, name: string, at: number, signal?: AbortSignal): Promise<number | null> {
  return (await getJson<{ id: number | null }>("timeline/find", { span, name, at }, signal)).id;
}

/** Hits around the first that starts at `near` (ns) or later. */
export function searchSlices(span: string, text: string, near: number, signal?: AbortSignal): Promise<SearchAnswer> {
  return getJson("timeline/search", { span, q: text, near: Math.round(near), limit: SEARCH_LIMIT }, signal);
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

/** All rows of the statistics as CSV. */
export function rangeCsvUrl(span: string, { start, end, tracks }: Area): string {
  return apiUrl("timeline/stats", { span, t0: start, t1: end, tracks: tracks?.join(",") ?? null, format: "csv" });
}

export function downloadUrl(span: string): string {
  return apiUrl("trace/download", { span });
}
