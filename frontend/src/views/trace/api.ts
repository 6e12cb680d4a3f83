/** Requests of the timeline (docs/http_api.md). */

import { apiUrl, getBinary, getJson, isStale, type Query } from "../../api/client";
import type { MessageJson, TableJson } from "../../api/types.gen";
import type { Window } from "../../timeline/cache";
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
  texts: Record<string, MessageJson>;
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
  /** Starts of hits for marks: the first in each of some thousand parts of the whole time, of all hits. */
  marks: number[];
}

export interface StatsAnswer {
  table: TableJson;
  wall: number;
  slices: number;
}

/** Hits that one answer brings; others come when they are stepped to. */
export const SEARCH_LIMIT = 10_000;

/**
 * The timeline of one reading of a trace. Where the server has another reading by now, `onStale` is called and the
 * answer never comes: what asked is asked again of the next reading.
 */
export class TimelineApi {
  constructor(
    readonly span: string,
    private readonly version: string,
    private readonly onStale: () => void,
  ) {}

  get source(): TimelineSource {
    const range = ({ level, start, end }: Window) => ({ t0: start, t1: end, px: 2 ** level });
    return {
      slices: (rows, window, exact, signal) =>
        this.binary("slices", { rows, ...range(window), exact: Number(exact) }, signal),
      hits: (q, rows, window, exact, signal) =>
        this.binary("slices", { q, rows, ...range(window), exact: Number(exact) }, signal),
      counter: (track, window, signal) => this.binary("counter", { track, ...range(window) }, signal),
      arrows: (kind, window, signal) => this.binary("arrows", { kind, ...range(window) }, signal),
    };
  }

  slice(id: number, signal?: AbortSignal): Promise<SliceDetail> {
    return this.json("slice", { id }, signal);
  }

  async flows(id: number, signal?: AbortSignal): Promise<FlowJson[]> {
    return (await this.json<{ flows: FlowJson[] }>("flows", { id }, signal)).flows;
  }

  chain(id: number, signal?: AbortSignal): Promise<ChainJson> {
    return this.json("chain", { id }, signal);
  }

  /** Id of the slice of this name that starts at `at` or is nearest to it; null where no slice has the name. */
  async find(name: string, at: number, signal?: AbortSignal): Promise<number | null> {
    return (await this.json<{ id: number | null }>("find", { name, at }, signal)).id;
  }

  /** Hits around the first that starts at `near` (ns) or later. */
  search(text: string, near: number, signal?: AbortSignal): Promise<SearchAnswer> {
    return this.json("search", { q: text, near: Math.round(near), limit: SEARCH_LIMIT }, signal);
  }

  /** Statistics of all slices of an area. */
  stats(area: Area, signal?: AbortSignal): Promise<StatsAnswer> {
    return this.json("stats", areaQuery(area), signal);
  }

  /** All rows of the statistics as CSV. */
  csvUrl(area: Area): string {
    return apiUrl("timeline/stats", { ...this.own, ...areaQuery(area), format: "csv" });
  }

  private get own(): Query {
    return { span: this.span, version: this.version };
  }

  private json<T>(route: string, query: Query, signal?: AbortSignal): Promise<T> {
    return this.current(getJson<T>(`timeline/${route}`, { ...this.own, ...query }, signal));
  }

  private binary(route: string, query: Query, signal: AbortSignal): Promise<ArrayBuffer> {
    return this.current(getBinary(`timeline/${route}`, { ...this.own, ...query }, signal));
  }

  private async current<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!isStale(error)) throw error;
      this.onStale();
      return new Promise(() => {});
    }
  }
}

/** All tracks where `tracks` is null. */
function areaQuery({ start, end, tracks }: Area): Query {
  return { t0: start, t1: end, tracks: tracks?.join(",") ?? null };
}

export function downloadUrl(span: string): string {
  return apiUrl("trace/download", { span });
}
