/** Questions about ranks, and their answers in numbers and times of the page. */

import type { Query } from "../../../api/client";
import type * as json from "../../../api/types.gen";
import { t } from "../../../i18n";
import { type LaneOffset, type LayerId, laneOffset, laneOfTrack } from "../../../timeline/lanes";

/** Most ranks of one search; the server refuses more. */
export const MAX_RANKS = 64;

/** A rank that a search is to cover. */
export interface SearchedRank {
  lane: number;
  span: string;
  /** Version of the reading; "": whichever is complete. */
  version: string;
  /** Epoch time (ns) by the clock of the rank at time 0 of the page; null: not known yet. */
  zero: string | null;
  /** Tracks of a range, in its trace; null or none: all. */
  tracks?: readonly number[] | null;
}

/** What a search found in a rank. */
export interface RankHits {
  lane: number;
  version: string;
  /** null: the rank was not searched. */
  total: number | null;
  /** Times of hits: of all, or the first in each of many equal parts of the trace. */
  marks: readonly number[];
}

/** Slice, start, duration, track, depth, index in `names`. */
export type Hit = [number, number, number, number, number, number];

/** Some of the hits of a search in several ranks, by time. */
export interface SearchAnswer {
  total: number;
  first: number;
  names: readonly string[];
  hits: readonly Hit[];
  ranks: readonly RankHits[];
  kinds: readonly json.KindHitsJson[];
}

/** Those that the server is asked for. */
function askedRanks(ranks: readonly SearchedRank[]): SearchedRank[] {
  return ranks.filter(({ zero }) => zero !== null).slice(0, MAX_RANKS);
}

/** The sources of a question. */
export function sourcesOf(ranks: readonly SearchedRank[]): SourceRef[] {
  return askedRanks(ranks).map(({ span, version, zero, tracks }) => ({
    span,
    version,
    zero: zero ?? "",
    tracks: tracks ?? null,
  }));
}

export function placeSearch(answer: json.SearchJson, ranks: readonly SearchedRank[]): SearchAnswer {
  const asked = askedRanks(ranks);
  const lanes = asked.map(({ lane }) => laneOffset(lane, 0));
  const hits = answer.hits.map(([id, start, dur, track, depth, name, part]): Hit => {
    const lane = lanes[part];
    return [id + (lane?.slice ?? 0), start, dur, track + (lane?.track ?? 0), depth, name];
  });
  const found = ranks.map((rank) => {
    const part = answer.parts[asked.indexOf(rank)];
    return { lane: rank.lane, version: part?.version ?? "", total: part?.total ?? null, marks: part?.marks ?? [] };
  });
  const { total, first, names, kinds } = answer;
  return { total, first, names, hits, ranks: found, kinds };
}

/** A table of hits. Its times are those of the page already. */
export function placeHits(table: json.TableJson, ranks: readonly SearchedRank[]): json.TableJson {
  const asked = askedRanks(ranks);
  const lanes = (table.data.part ?? []).map((part) => laneOffset(asked[Number(part)]?.lane ?? 0, 0));
  const id = (table.data.id ?? []).map((value, row) => Number(value) + (lanes[row]?.slice ?? 0));
  const track = (table.data.track ?? []).map((value, row) => Number(value) + (lanes[row]?.track ?? 0));
  return { ...table, data: { ...table.data, id, track } };
}

/** "486 found in 8 ranks · 3 not searched"; of one rank, what was found. */
export function inRanks(found: string, ranks: readonly RankHits[]): string {
  const missing = unsearched(ranks);
  const searched = ranks.length - missing;
  const text = searched > 1 ? t("trace.search.in_ranks", { found, ranks: searched }) : found;
  return missing > 0 ? `${text} · ${t("trace.search.left_out", { count: missing })}` : text;
}

/** Why ranks are not searched; "" if all are. */
export function unsearchedTip(ranks: readonly RankHits[]): string {
  const count = unsearched(ranks);
  return count > 0 ? t("trace.search.unsearched", { count, most: MAX_RANKS }) : "";
}

/** What the page says of the ranks that a search covers. */
function unsearched(ranks: readonly RankHits[]): number {
  return ranks.filter(({ total }) => total === null).length;
}

/** A rank of the run. `unasked`: more ranks than one request may name. */
export interface CollectiveRank {
  lane: number;
  state: json.CollectiveJson["ranks"][number]["state"] | "unasked";
}

export interface CollectiveTasks {
  ranks: readonly CollectiveRank[];
  isMatched: boolean;
  tasks: json.TableJson;
}

/** The tasks of a collective on all ranks of a run, in numbers and times of the page. */
export function placeCollective(answer: json.CollectiveJson, ranks: readonly SearchedRank[]): CollectiveTasks {
  const asked = askedRanks(ranks);
  const found = ranks.map((rank): CollectiveRank => {
    return { lane: rank.lane, state: answer.ranks[asked.indexOf(rank)]?.state ?? "unasked" };
  });
  return { ranks: found, isMatched: answer.is_matched, tasks: placeHits(answer.tasks, ranks) };
}

/** A rank with rows in a range. */
export interface AreaRank extends SearchedRank {
  /** Numbers of the tracks in its trace; null: all. */
  tracks: readonly number[] | null;
}

/** A row of the statistics: slices of one name, of one track, of one name on one track, or of one rank. */
export interface MembersOf {
  /** "": all names. */
  name: string;
  /** null: all tracks of the range. */
  track: number | null;
  /** null: all ranks of the range. */
  lane: number | null;
  /** Number of the slices. */
  count: number;
}

/** The rows behind a row of the statistics. */
export function rowsOf(ranks: readonly AreaRank[], { track, lane }: MembersOf): AreaRank[] {
  const only = track === null ? lane : laneOfTrack(track);
  const found = only === null ? [...ranks] : ranks.filter((rank) => rank.lane === only);
  return track === null ? found : found.map((rank) => ({ ...rank, tracks: [track - laneOffset(rank.lane, 0).track] }));
}

/** With the lane of each row in the column "part", and tracks of the page. */
export function placeStats(answer: json.StatsJson, ranks: readonly AreaRank[]): json.StatsJson {
  const { data } = answer.table;
  if (!data.part) return answer;
  const lanes = data.part.map((part) => ranks[Number(part)]?.lane ?? 0);
  const track = data.track?.map((one, row) => Number(one) + laneOffset(lanes[row] ?? 0, 0).track);
  return { ...answer, table: { ...answer.table, data: { ...data, part: lanes, ...(track ? { track } : {}) } } };
}

/** Rows of a reading, in its own numbers. */
export interface SourceRef {
  span: string;
  /** "": whichever is complete. */
  version?: string;
  layer?: LayerId;
  /** Epoch time (ns) by the clock of the span at time 0 of the question. */
  zero?: string;
  /** Track, first and last depth. */
  rows?: readonly (readonly [number, number, number])[];
  counters?: readonly number[];
  /** Tracks of a range; null: all. */
  tracks?: readonly number[] | null;
}

/** Route and parameters of a request. */
export type Asked = readonly [route: string, query: Query];

/** The request for a question. */
export function askOf(ask: string, sources: readonly SourceRef[], fields: object = {}): Asked {
  return [`timeline/${ask}`, { query: JSON.stringify({ sources, ...fields }) }];
}

/** Turns numbers and times of a rank in answers into those of the page. */
function placeSlice<T extends Pick<json.SliceJson, "id" | "track" | "start">>(slice: T, lane: LaneOffset): T {
  return { ...slice, id: slice.id + lane.slice, track: slice.track + lane.track, start: slice.start + lane.time };
}

function placeId(id: number | null, lane: LaneOffset): number | null {
  return id === null ? null : id + lane.slice;
}

function placeTime(time: number | null, lane: LaneOffset): number | null {
  return time === null ? null : time + lane.time;
}

/** `trace`: of the rows that derived ones are made from. */
export function placeDetail(detail: json.SliceDetailJson, lane: LaneOffset, trace: LaneOffset): json.SliceDetailJson {
  const { parent, previous, next, derived } = detail;
  return {
    ...placeSlice(detail, lane),
    parent: parent && { ...parent, id: parent.id + lane.slice },
    previous: placeId(previous, lane),
    next: placeId(next, lane),
    derived: derived && {
      ...derived,
      related: derived.related.map((one) => ({ ...one, slice: placeSlice(one.slice, trace) })),
    },
  };
}

export function placeFlow({ kind, from, to }: json.FlowJson, lane: LaneOffset): json.FlowJson {
  return { kind, from: placeSlice(from, lane), to: placeSlice(to, lane) };
}

export function placeChain({ links, forward, backward }: json.ChainJson, lane: LaneOffset): json.ChainJson {
  return {
    links: links.map((link) => placeSlice(link, lane)),
    forward: forward && placeSlice(forward, lane),
    backward: backward && placeSlice(backward, lane),
  };
}

export function placeDescent(descent: json.DescentJson, lane: LaneOffset): json.DescentJson {
  return {
    ...descent,
    nested: placeTable(descent.nested, lane),
    tasks: placeTable(descent.tasks, lane),
    first: placeTime(descent.first, lane),
    last: placeTime(descent.last, lane),
    previous: placeId(descent.previous, lane),
    next: placeId(descent.next, lane),
  };
}

/** A table of slices. */
function placeTable(table: json.TableJson, lane: LaneOffset): json.TableJson {
  const added: Record<string, number> = { id: lane.slice, track: lane.track, start: lane.time };
  const data = Object.entries(table.data).map(([key, values]) => {
    const more = added[key];
    return [key, more === undefined ? values : values.map((value) => (value === null ? null : Number(value) + more))];
  });
  return { ...table, data: Object.fromEntries(data) };
}

/** Processes with the tracks of the page. `span` keeps their keys apart from those of other ranks. */
export function placeProcess(process: json.ProcessJson, span: string, lane: LaneOffset): json.ProcessJson {
  const threads = process.threads.map((thread) => ({ ...thread, track: thread.track + lane.track }));
  return { ...process, pid: `${span}/${process.pid}`, threads };
}
