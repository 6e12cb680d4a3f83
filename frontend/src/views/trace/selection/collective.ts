/** The tasks of a collective on all ranks of a run, in numbers and times of the page. */

import type { CollectiveJson, TableJson } from "../../../api/types.gen";
import { laneOffset } from "../../../timeline/lanes";
import { askedRanks, placeHits, type SearchedRank } from "../search/rank_hits";

/** A rank of the run. `unasked`: more ranks than one request may name. */
export interface CollectiveRank {
  lane: number;
  state: CollectiveJson["ranks"][number]["state"] | "unasked";
  /** The collective on this rank. */
  slice: number | null;
}

export interface CollectiveTasks {
  ranks: readonly CollectiveRank[];
  isMatched: boolean;
  tasks: TableJson;
}

export function placeCollective(answer: CollectiveJson, ranks: readonly SearchedRank[]): CollectiveTasks {
  const asked = askedRanks(ranks);
  const found = ranks.map((rank): CollectiveRank => {
    const one = answer.ranks[asked.indexOf(rank)];
    const slice = one?.slice ?? null;
    const placed = slice === null ? null : slice + laneOffset(rank.lane, 0).slice;
    return { lane: rank.lane, state: one?.state ?? "unasked", slice: placed };
  });
  return { ranks: found, isMatched: answer.is_matched, tasks: placeHits(answer.tasks, ranks) };
}
