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
 * The figures that are well above the median of their peers, the furthest first. Unknown ones do not count.
 * groups: peers of each figure have the same; null: nothing tells, it is compared with none. Without it all are peers.
 * least: peers that are needed.
 */
export function outliers(
  values: readonly (number | null | undefined)[],
  groups: readonly (number | null)[] = values.map(() => 0),
  least = PEERS,
): Outlier[] {
  const peers = new Map<number, { index: number; value: number }[]>();
  values.forEach((value, index) => {
    const group = groups[index] ?? null;
    if (typeof value !== "number" || group === null) return;
    const found = peers.get(group);
    if (found) found.push({ index, value });
    else peers.set(group, [{ index, value }]);
  });
  const judged = [...peers.values()].filter((known) => known.length >= least);
  return judged.flatMap(outliersOf).sort((a, b) => b.value / b.median - a.value / a.median);
}

/** The highest, and others only where all of them are as far above the rest: half of the peers at most. */
function outliersOf(known: { index: number; value: number }[]): Outlier[] {
  const median = medianOf(known.map((one) => one.value));
  if (median <= 0) return [];
  const sorted = [...known].sort((a, b) => b.value - a.value || a.index - b.index);
  const high = sorted.slice(0, known.length >> 1).filter(({ value }) => value > median * (1 + LEAST));
  const isAbove = ({ value }: { value: number }, at: number) => value > (sorted[at + 1]?.value ?? 0) * (1 + LEAST);
  const count = high.reduce((last, one, at) => (isAbove(one, at) ? at + 1 : last), Math.min(high.length, 1));
  return high.slice(0, count).map((one) => ({ ...one, median }));
}

/** The middle one; of an even number the mean of the two in the middle. 0 of none. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const at = (index: number) => sorted[index] ?? 0;
  return sorted.length % 2 === 1 ? at(half) : (at(half - 1) + at(half)) / 2;
}

/** A rank whose work is compared with that of others. */
interface Ranked {
  pipeline_stage: number | null;
}

/**
 * Ranks that do the same work, as groups of `outliers`: those of a pipeline stage. Where nothing tells the stages, all, unless
 * they receive from each other (bubble): then there are stages, and each computes as long as its layers take.
 */
export function stagesOf(ranks: readonly Ranked[], bubbles: readonly (number | null | undefined)[]): (number | null)[] {
  const isPipeline = bubbles.some((bubble) => (bubble ?? 0) > 0);
  return ranks.map((rank) => rank.pipeline_stage ?? (isPipeline ? null : 1));
}

/** Of each place, whether too few have the same group for `outliers` to compare it. */
export function haveFewPeers(groups: readonly (number | null)[]): boolean[] {
  return groups.map((group) => group === null || groups.filter((other) => other === group).length < PEERS);
}

/** There is more than one pipeline stage. */
export function hasStages(ranks: readonly Ranked[]): boolean {
  return ranks.some((rank) => (rank.pipeline_stage ?? 1) > 1);
}
