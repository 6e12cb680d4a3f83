/** The rows of a range by rank, and the statistics of the server in numbers of the page. */

import type { StatsJson } from "../../../api/types.gen";
import { laneOffset, laneOfTrack } from "../../../timeline/lanes";
import type { SearchedRank } from "../search/rank_hits";

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
export function placeStats(answer: StatsJson, ranks: readonly AreaRank[]): StatsJson {
  const { data } = answer.table;
  if (!data.part) return answer;
  const lanes = data.part.map((part) => ranks[Number(part)]?.lane ?? 0);
  const track = data.track?.map((one, row) => Number(one) + laneOffset(lanes[row] ?? 0, 0).track);
  return { ...answer, table: { ...answer.table, data: { ...data, part: lanes, ...(track ? { track } : {}) } } };
}
