import type { DistributedJson, LatePeer } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { budgetParts, wholeOf } from "../../widgets";
import { isInStep, stepId } from "./ranks";

/** Waits below this share of the longest step are ignored. */
const LEAST_WAIT = 0.1;
/** Largest number of reported ranks. */
const NAMED = 3;

/** A rank that was not profiled and that profiled ranks wait for. */
export interface NamedPeer {
  /** The longest wait for it. */
  longest: LatePeer;
  /** Number of profiled ranks that wait for it. */
  seenBy: number;
}

/** Late ranks of the chosen step or steps, the longest wait first. */
export function latePeers(data: DistributedJson, step: string): NamedPeer[] {
  const lengths = new Map<string, number>();
  for (const budget of data.budgets) {
    const id = stepId(budget.step);
    lengths.set(id, Math.max(lengths.get(id) ?? 0, wholeOf(budgetParts(budget))));
  }
  const found = new Map<string, LatePeer[]>();
  for (const wait of data.late_peers) {
    const length = lengths.get(stepId(wait.step)) ?? 0;
    if (!isInStep(wait.step, step) || length === 0 || wait.wait <= LEAST_WAIT * length) continue;
    const key = wait.peer_rank === null ? `${wait.group} ${wait.peer}` : String(wait.peer_rank);
    found.set(key, [...(found.get(key) ?? []), wait]);
  }
  return [...found.values()]
    .map((waits) => ({
      longest: waits.reduce((one, other) => (other.wait > one.wait ? other : one)),
      seenBy: new Set(waits.map((one) => one.rank)).size,
    }))
    .sort((a, b) => b.longest.wait - a.longest.wait)
    .slice(0, NAMED);
}

/** One sentence per late rank. With several groups, the rank may be late because it waits in another group. */
export function latePeerTexts(data: DistributedJson, step: string): string[] {
  return latePeers(data, step).map(({ longest, seenBy }) =>
    t(data.groups.length > 1 ? "distributed.late_peer.groups" : "distributed.late_peer", {
      rank: nameOf(longest),
      observer: longest.rank === null ? format.UNKNOWN : `rank ${longest.rank}`,
      time: format.duration(longest.wait, 2),
      operator: longest.operator,
      count: seenBy,
    }),
  );
}

function nameOf({ peer_rank, peer, group }: LatePeer): string {
  if (peer_rank !== null) return `rank ${peer_rank}`;
  return t("distributed.late_peer.local", { peer, group: group ?? format.UNKNOWN });
}
