/** The ranks of a search, and its answers in numbers and times of the page. */

import type { SearchJson, TableJson } from "../../../api/types.gen";
import { laneOffset } from "../../../timeline/lanes";
import type { SourceRef } from "../ask";

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
}

/** Those that the server is asked for. */
export function askedRanks(ranks: readonly SearchedRank[]): SearchedRank[] {
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

export function placeSearch(answer: SearchJson, ranks: readonly SearchedRank[]): SearchAnswer {
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
  const { total, first, names } = answer;
  return { total, first, names, hits, ranks: found };
}

/** A table of hits. Its times are those of the page already. */
export function placeHits(table: TableJson, ranks: readonly SearchedRank[]): TableJson {
  const asked = askedRanks(ranks);
  const lanes = (table.data.part ?? []).map((part) => laneOffset(asked[Number(part)]?.lane ?? 0, 0));
  const id = (table.data.id ?? []).map((value, row) => Number(value) + (lanes[row]?.slice ?? 0));
  const track = (table.data.track ?? []).map((value, row) => Number(value) + (lanes[row]?.track ?? 0));
  return { ...table, data: { ...table.data, id, track } };
}
