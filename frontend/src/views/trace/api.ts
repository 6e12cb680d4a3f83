/** Questions about the timelines on the page, and their answers in numbers and times of the page. */

import { ApiError, apiUrl, getBinary, getJson, isStale, type Query } from "../../api/client";
import type * as json from "../../api/types.gen";
import { t } from "../../i18n";
import type { Window } from "../../timeline/cache";
import type { SourceState } from "../../timeline/decode";
import { DERIVED, type LaneOffset, laneOffset, laneOfSlice, laneOfTrack, layerOfSlice } from "../../timeline/lanes";
import type { TimelineSource } from "../../timeline/loader";
import type { Area, Range } from "../../timeline/scene";
import type { Lanes } from "./ranks/lanes";
import {
  type AreaRank,
  type Asked,
  askOf,
  type CollectiveTasks,
  MAX_RANKS,
  type MembersOf,
  placeChain,
  placeCollective,
  placeDescent,
  placeDetail,
  placeFlow,
  placeHits,
  placeSearch,
  placeStats,
  rowsOf,
  type SearchAnswer,
  type SearchedRank,
  type SourceRef,
  sourcesOf,
} from "./ranks/placement";
import { type LaneTimeline, requestRows, zeroOf } from "./ranks/row_source";

/** What the statistics of a range are grouped by. */
export type Grouping = "name_row" | "name" | "row" | "rank";

/** Hits per answer; further ones are loaded when the user steps to them. */
const SEARCH_LIMIT = 10_000;

/**
 * The timeline of one reading of a trace, and those of other ranks on the page. If the server has a newer reading,
 * `onStale` is called and the request never resolves: the caller asks again for the next reading. Numbers and times are
 * those of the page; arrows and counters are of the open rank. `least`: shorter slices (ns) are left out of the rows.
 */
export class TimelineApi {
  constructor(
    readonly span: string,
    private readonly version: string,
    private readonly onStale: () => void,
    /** Epoch time (ns) of time 0. */
    private readonly base = "0",
    private readonly lanes: Pick<
      Lanes,
      "timelineOf" | "load" | "reload" | "beside" | "peersOf" | "below"
    > | null = null,
    private readonly least: () => number = () => 0,
    /** The packings that are shown of a reading of a span. */
    private readonly packingsOf: (span: string, version: string) => readonly string[] = () => [],
  ) {}

  get source(): TimelineSource {
    const range = ({ level, start, end }: Window) => ({ t0: start, t1: end, px: 2 ** level });
    return {
      rows: (query, needle, signal) =>
        requestRows(
          query,
          needle || this.shown,
          (lane) => this.timelineOf(lane),
          (lane, state) => this.lose(lane, state),
          signal,
        ),
      arrows: (kind, window, signal) => {
        const shown = this.packingsOf(this.span, this.version);
        const query = askOf("arrows", [this.own], { kind, ...range(window), shown });
        return this.current(getBinary(...query, signal));
      },
    };
  }

  /** The derived rows of a rank. Throws an ApiError with status 503 while the server reads what the rows need. */
  async derived(lane: number): Promise<json.LayerJson> {
    const { span, version } = this.timelineOf(lane) ?? this.open;
    return this.current(getJson<json.LayerJson>(...askOf("layer", [{ span, version, layer: DERIVED }])), lane);
  }

  /** Steps on the device. Throws an ApiError with status 503 while the server reads what they need. */
  async steps(): Promise<json.StepMarkJson[]> {
    return (await this.json<json.StepMarksJson>("steps")).steps;
  }

  async slice(id: number): Promise<json.SliceDetailJson> {
    const lane = await this.laneOf(id);
    const detail = await this.ofSlice<json.SliceDetailJson>("slice", id, lane, { shown: this.shownOf(lane) });
    return placeDetail(detail, offsetOf(id, lane), lane.offset);
  }

  async flows(id: number): Promise<json.FlowJson[]> {
    const lane = await this.laneOf(id);
    const { flows } = await this.ofSlice<json.FlowsJson>("flows", id, lane, { shown: this.shownOf(lane) });
    return flows.map((flow) => placeFlow(flow, lane.offset));
  }

  async chain(id: number, signal?: AbortSignal): Promise<json.ChainJson> {
    const lane = await this.laneOf(id);
    return placeChain(await this.ofSlice<json.ChainJson>("chain", id, lane, {}, signal), offsetOf(id, lane));
  }

  async descent(id: number): Promise<json.DescentJson> {
    const lane = await this.laneOf(id);
    return placeDescent(await this.ofSlice<json.DescentJson>("descent", id, lane), offsetOf(id, lane));
  }

  /** The tasks of collective `id` on all ranks of its run. */
  async collective(id: number, signal?: AbortSignal): Promise<CollectiveTasks> {
    const lane = await this.laneOf(id);
    const ranks = this.ranksOf(lane, laneOfSlice(id));
    const query = askOf("collective", sourcesOf(ranks), { id: id - lane.offset.slice });
    const answer = getJson<json.CollectiveJson>(...query, signal);
    return placeCollective(await this.current(answer, laneOfSlice(id)), ranks);
  }

  /** The same tasks as CSV. */
  collectiveCsvUrl(id: number): string {
    const lane = this.timelineOf(laneOfSlice(id)) ?? this.open;
    const sources = sourcesOf(this.ranksOf(lane, laneOfSlice(id)));
    return apiUrl(...askOf("collective", sources, { id: id - lane.offset.slice, format: "csv" }));
  }

  /** A rank, then the others of its run. */
  private ranksOf(timeline: LaneTimeline, lane: number): SearchedRank[] {
    const { span, version } = timeline;
    return [{ lane, span, version, zero: zeroOf(timeline) }, ...(this.lanes?.peersOf(lane) ?? [])];
  }

  /** All tasks of a descent as CSV. */
  descentCsvUrl(id: number): string {
    const lane = this.timelineOf(laneOfSlice(id)) ?? this.open;
    return apiUrl(...askOf("descent", [sourceOf(id, lane)], { id: idOf(id, lane), format: "csv" }));
  }

  /** Id of the slice of this name that starts at or nearest to `at`; null if no slice has the name. */
  async find(name: string, at: number, signal?: AbortSignal): Promise<number | null> {
    const layer = name.startsWith(DERIVED) ? DERIVED : "trace";
    const { id } = await this.json<json.FoundJson>("find", { name, at }, signal, { layer });
    return id === null ? null : id + laneOffset(0, 0, layer).slice;
  }

  /** Hits in all ranks that the page shows, around the first one that starts at `near` (ns) or later. */
  async search(text: string, near: number, signal?: AbortSignal): Promise<SearchAnswer> {
    const ranks = this.searched;
    const query = askOf("search", sourcesOf(ranks), { q: text, near: Math.round(near), limit: SEARCH_LIMIT });
    const answer = await getJson<json.SearchJson>(...query, signal);
    if (answer.parts[0]?.state === "stale") {
      this.onStale();
      return new Promise(() => {});
    }
    return placeSearch(answer, ranks);
  }

  /** A page of all hits of a search. */
  async hits(
    text: string,
    kind: json.KindHitsJson["kind"] | null,
    query: Query,
    signal?: AbortSignal,
  ): Promise<json.TableJson> {
    const ranks = this.searched;
    return placeHits(
      await getJson(...askOf("hits", sourcesOf(ranks), { page: pageOf(query), q: text, kind }), signal),
      ranks,
    );
  }

  /** All hits of a search as CSV. */
  hitsCsvUrl(text: string, kind: json.KindHitsJson["kind"] | null): string {
    return apiUrl(...askOf("hits", sourcesOf(this.searched), { q: text, kind, format: "csv" }));
  }

  /** Statistics of all slices of an area, with the lane in the column "part". */
  async stats(area: Area, by: Grouping, signal?: AbortSignal): Promise<json.StatsJson> {
    const ranks = this.areaRanks(area);
    const answer = await getJson<json.StatsJson>(...ofRange("stats", area, ranks, { by }), signal);
    for (const [at, state] of answer.parts.entries())
      if (state !== "ready") await this.lose(ranks[at]?.lane ?? 0, state);
    return placeStats(answer, ranks);
  }

  /** What the statistics of an area are asked by; "" until a rank of it is loaded. */
  statsKey(area: Area): string {
    const ranks = this.areaRanks(area);
    return ranks.length > 0 ? JSON.stringify(sourcesOf(ranks)) : "";
  }

  /** A page of the slices behind a row of the statistics. */
  async members(area: Area, of: MembersOf, query: Query, signal?: AbortSignal): Promise<json.TableJson> {
    const ranks = rowsOf(this.areaRanks(area), of);
    const asked = ofRange("members", area, ranks, { page: pageOf(query), name: of.name });
    return placeHits(await getJson(...asked, signal), ranks);
  }

  /** All slices behind a row of the statistics as CSV. */
  membersCsvUrl(area: Area, of: MembersOf): string {
    const ranks = rowsOf(this.areaRanks(area), of);
    return apiUrl(...ofRange("members", area, ranks, { name: of.name, format: "csv" }));
  }

  /** The loaded ranks with rows in an area. Without tracks: the open one, and those whose rows are below it. */
  private areaRanks({ tracks, lanes: chosen }: Area): AreaRank[] {
    const shown = [0, ...(this.lanes?.below() ?? [])].filter((lane) => chosen?.includes(lane) !== false);
    const lanes = tracks ? new Set(tracks.map(laneOfTrack)) : shown;
    const ranks = [...lanes].flatMap((lane): AreaRank[] => {
      const found = this.timelineOf(lane);
      if (!found) return [];
      const { span, version, offset } = found;
      const own = tracks?.filter((track) => laneOfTrack(track) === lane).map((track) => track - offset.track) ?? null;
      return [{ lane, span, version, zero: zeroOf(found), tracks: own }];
    });
    return ranks.slice(0, MAX_RANKS);
  }

  /** Counters in the time of an area. */
  counters({ start, end }: Area, signal?: AbortSignal): Promise<json.CountersJson> {
    return this.json("counters", { t0: start, t1: end }, signal);
  }

  /** All rows of the statistics as CSV. */
  csvUrl(area: Area, by: Grouping): string {
    return apiUrl(...ofRange("stats", area, this.areaRanks(area), { by, format: "csv" }));
  }

  /** A range as a Chrome trace: of the open rank, or of all ranks that the page shows. */
  chromeTrace(range: Range, ofRanks: boolean): Promise<ArrayBuffer> {
    return this.current(getBinary(...this.exported(range, ofRanks)));
  }

  chromeTraceUrl(range: Range, ofRanks: boolean): string {
    return apiUrl(...this.exported(range, ofRanks));
  }

  private exported({ start, end }: Range, ofRanks: boolean): Asked {
    const sources = ofRanks ? sourcesOf(this.searched) : [this.own];
    return askOf("export", sources, { t0: start, t1: end });
  }

  /** The search for the slices that the rows show; "": all. */
  private get shown(): string {
    const least = this.least();
    return least > 0 ? `dur>=${least}ns` : "";
  }

  /** The open rank first. */
  private get searched(): SearchedRank[] {
    const { span, version, base: zero } = this;
    return [{ lane: 0, span, version, zero }, ...(this.lanes?.beside() ?? [])];
  }

  private get own(): SourceRef {
    return { span: this.span, version: this.version };
  }

  private get open(): LaneTimeline {
    return { span: this.span, version: this.version, base: this.base, offset: laneOffset(0, 0) };
  }

  private timelineOf(lane: number): LaneTimeline | null {
    return lane === 0 ? this.open : (this.lanes?.timelineOf(lane) ?? null);
  }

  /** The timeline of a slice, once it is loaded. */
  private async laneOf(id: number): Promise<LaneTimeline> {
    const lane = laneOfSlice(id);
    if (lane > 0) await this.lanes?.load(lane);
    const found = this.timelineOf(lane);
    if (!found) throw new ApiError("not_found", t("trace.ranks.unreadable"), "", 404);
    return found;
  }

  private ofSlice<T>(ask: string, id: number, lane: LaneTimeline, fields = {}, signal?: AbortSignal): Promise<T> {
    const query = askOf(ask, [sourceOf(id, lane)], { id: idOf(id, lane), ...fields });
    return this.current(getJson<T>(...query, signal), laneOfSlice(id));
  }

  /** Layers that are shown in place of rows of a trace. */
  private shownOf({ span, version }: LaneTimeline): readonly string[] {
    return this.packingsOf(span, version);
  }

  /** Reacts to a rank that the server cannot show as requested. */
  private async lose(lane: number, state: SourceState): Promise<void> {
    if (lane > 0) this.lanes?.reload(lane);
    else if (state !== "stale") throw new ApiError(state, t("trace.ranks.unreadable"), "", 0);
    else {
      this.onStale();
      await new Promise(() => {});
    }
  }

  private json<T>(ask: string, fields = {}, signal?: AbortSignal, of: Partial<SourceRef> = {}): Promise<T> {
    return this.current(getJson<T>(...askOf(ask, [{ ...this.own, ...of }], fields), signal));
  }

  private async current<T>(answer: Promise<T>, lane = 0): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!isStale(error)) throw error;
      if (lane > 0) this.lanes?.reload(lane);
      else this.onStale();
      return new Promise(() => {});
    }
  }
}

/** A question about a range of some ranks. */
function ofRange(ask: string, { start, end }: Range, ranks: readonly AreaRank[], fields: object): Asked {
  return askOf(ask, sourcesOf(ranks), { t0: start, t1: end, ...fields });
}

/** The page that a table asks for. */
function pageOf({ sort, desc, offset, limit }: Query): object {
  return { sort: sort ?? "", desc: Number(desc ?? 0) === 1, offset: Number(offset ?? 0), limit: Number(limit) };
}

/** Offset of the layer of a slice. */
function offsetOf(id: number, { offset }: LaneTimeline): LaneOffset {
  return laneOffset(laneOfSlice(id), offset.time, layerOfSlice(id));
}

/** Number of a slice in its layer. */
function idOf(id: number, lane: LaneTimeline): number {
  return id - offsetOf(id, lane).slice;
}

/** The rows of a slice. */
function sourceOf(id: number, { span, version }: LaneTimeline): SourceRef {
  return { span, version, layer: layerOfSlice(id) };
}

export function downloadUrl(span: string): string {
  return apiUrl("trace/download", { span });
}
