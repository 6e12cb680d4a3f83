/** A figure that stands out among those of its peers. */
export interface Outlier {
  /** Its place among the figures. */
  index: number;
  value: number;
  median: number;
}

/** Fewer figures have no middle to be compared with. */
const PEERS = 3;
/** What exceeds the median by less does not stand out. */
const LEAST = 0.1;

/**
 * The figure that is furthest above the median of its peers; null where none is well above it. Unknown ones do not count.
 * groups: peers of each figure have the same; null: nothing tells, it is compared with none. Without it all are peers.
 */
export function highest(
  values: readonly (number | null | undefined)[],
  groups: readonly (number | null)[] = values.map(() => 0),
): Outlier | null {
  const peers = new Map<number, { index: number; value: number }[]>();
  values.forEach((value, index) => {
    const group = groups[index] ?? null;
    if (typeof value !== "number" || group === null) return;
    const found = peers.get(group);
    if (found) found.push({ index, value });
    else peers.set(group, [{ index, value }]);
  });
  const found = [...peers.values()].map(highestOf).filter((one) => one !== null);
  return found.sort((a, b) => b.value / b.median - a.value / a.median)[0] ?? null;
}

function highestOf(known: { index: number; value: number }[]): Outlier | null {
  if (known.length < PEERS) return null;
  known.sort((a, b) => a.value - b.value || b.index - a.index);
  const at = (index: number) => known[index]?.value ?? 0;
  const half = known.length >> 1;
  const median = known.length % 2 === 1 ? at(half) : (at(half - 1) + at(half)) / 2;
  const last = known[known.length - 1];
  return last && median > 0 && last.value > median * (1 + LEAST) ? { ...last, median } : null;
}

/** A rank whose work is compared with that of others. */
interface Ranked {
  pipeline_stage: number | null;
}

/**
 * Ranks that do the same work, as groups of `highest`: those of a pipeline stage. Where nothing tells the stages, all, unless
 * they receive from each other (bubble): then there are stages, and each computes as long as its layers take.
 */
export function stagesOf(ranks: readonly Ranked[], bubbles: readonly (number | null | undefined)[]): (number | null)[] {
  const isPipeline = bubbles.some((bubble) => (bubble ?? 0) > 0);
  return ranks.map((rank) => rank.pipeline_stage ?? (isPipeline ? null : 1));
}

/** There is more than one pipeline stage. */
export function hasStages(ranks: readonly Ranked[]): boolean {
  return ranks.some((rank) => (rank.pipeline_stage ?? 1) > 1);
}
