/** Requests of the timeline (docs/http_api.md). */

import { apiUrl, getBinary, getJson, isStale, type Query } from "../../api/client";
import type {
  ChainJson,
  CountersJson,
  DerivedJson,
  DescentJson,
  FlowJson,
  FlowsJson,
  SearchJson,
  SliceDetailJson,
  StatsJson,
  TableJson,
} from "../../api/types.gen";
import type { Window } from "../../timeline/cache";
import type { TimelineSource } from "../../timeline/loader";
import type { Area } from "../../timeline/scene";

/** What the statistics of a range are grouped by. */
export type Grouping = "name_row" | "name" | "row";

/** A hit of a search. */
export type Hit = SearchJson["hits"][number];

/** Hits per answer; further ones are loaded when the user steps to them. */
export const SEARCH_LIMIT = 10_000;

/**
 * The timeline of one reading of a trace. If the server has a newer reading, `onStale` is called and the request never
 * resolves: the caller asks again for the next reading.
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

  /** Throws an ApiError with status 503 while the server reads what the rows need. */
  derived(): Promise<DerivedJson> {
    return this.json("derived", {});
  }

  slice(id: number, signal?: AbortSignal): Promise<SliceDetailJson> {
    return this.json("slice", { id }, signal);
  }

  async flows(id: number, signal?: AbortSignal): Promise<FlowJson[]> {
    return (await this.json<FlowsJson>("flows", { id }, signal)).flows;
  }

  chain(id: number, signal?: AbortSignal): Promise<ChainJson> {
    return this.json("chain", { id }, signal);
  }

  descent(id: number, signal?: AbortSignal): Promise<DescentJson> {
    return this.json("descent", { id }, signal);
  }

  /** All tasks of a descent as CSV. */
  descentCsvUrl(id: number): string {
    return apiUrl("timeline/descent", { ...this.own, id, format: "csv" });
  }

  /** Id of the slice of this name that starts at or nearest to `at`; null if no slice has the name. */
  async find(name: string, at: number, signal?: AbortSignal): Promise<number | null> {
    return (await this.json<{ id: number | null }>("find", { name, at }, signal)).id;
  }

  /** Hits around the first one that starts at `near` (ns) or later. */
  search(text: string, near: number, signal?: AbortSignal): Promise<SearchJson> {
    return this.json("search", { q: text, near: Math.round(near), limit: SEARCH_LIMIT }, signal);
  }

  /** Statistics of all slices of an area. */
  stats(area: Area, by: Grouping, signal?: AbortSignal): Promise<StatsJson> {
    return this.json("stats", { ...areaQuery(area), by }, signal);
  }

  /** A page of the slices of an area; `name` "": of all names. */
  members(area: Area, name: string, query: Query, signal?: AbortSignal): Promise<TableJson> {
    return this.json("members", { ...query, ...areaQuery(area), name }, signal);
  }

  /** All slices of an area as CSV. */
  membersCsvUrl(area: Area, name: string): string {
    return apiUrl("timeline/members", { ...this.own, ...areaQuery(area), name, format: "csv" });
  }

  /** Counters in the time of an area. */
  counters({ start, end }: Area, signal?: AbortSignal): Promise<CountersJson> {
    return this.json("counters", { t0: start, t1: end }, signal);
  }

  /** All rows of the statistics as CSV. */
  csvUrl(area: Area, by: Grouping): string {
    return apiUrl("timeline/stats", { ...this.own, ...areaQuery(area), by, format: "csv" });
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
