/** What the page says of the ranks that a search covers. */

import { t } from "../../../i18n";
import { MAX_RANKS, type RankHits } from "./rank_hits";

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

function unsearched(ranks: readonly RankHits[]): number {
  return ranks.filter(({ total }) => total === null).length;
}
