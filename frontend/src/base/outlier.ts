/** A figure well above those of its peers. */
export interface Outlier {
  /** Index among the figures. */
  index: number;
  value: number;
  median: number;
}

/** Least number of peers for a median. */
const PEERS = 3;
/** Least relative excess over the median of an outlier. */
const LEAST = 0.1;
/**
 * The figures well above the median of their peers, the furthest first. Unknown figures are ignored. groups: figures of
 * the same group are peers; a figure with null has none; default: all are peers. least: required number of peers.
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

/** The highest figure, and further ones only if all of them are as far above the rest: at most half of the peers. */
function outliersOf(known: { index: number; value: number }[]): Outlier[] {
  const median = medianOf(known.map((one) => one.value));
  if (median <= 0) return [];
  const sorted = [...known].sort((a, b) => b.value - a.value || a.index - b.index);
  const high = sorted.slice(0, known.length >> 1).filter(({ value }) => value > median * (1 + LEAST));
  const isAbove = ({ value }: { value: number }, at: number) => value > (sorted[at + 1]?.value ?? 0) * (1 + LEAST);
  const count = high.reduce((last, one, at) => (isAbove(one, at) ? at + 1 : last), Math.min(high.length, 1));
  return high.slice(0, count).map((one) => ({ ...one, median }));
}

/** Median; the mean of the middle two for an even count, 0 for none. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const at = (index: number) => sorted[index] ?? 0;
  return sorted.length % 2 === 1 ? at(half) : (at(half - 1) + at(half)) / 2;
}

/** Pipeline stage of a compared rank. */
interface Ranked {
  pipeline_stage: number | null;
}

/**
 * Groups for `outliers` by pipeline stage. Without known stages all ranks form one group, unless they receive from each
 * other (bubble): then stages exist and compute for different times.
 */
export function stagesOf(ranks: readonly Ranked[], bubbles: readonly (number | null | undefined)[]): (number | null)[] {
  const isPipeline = bubbles.some((bubble) => (bubble ?? 0) > 0);
  return ranks.map((rank) => rank.pipeline_stage ?? (isPipeline ? null : 1));
}

/** For each rank: true if its group is too small for `outliers`. */
export function haveFewPeers(groups: readonly (number | null)[]): boolean[] {
  return groups.map((group) => group === null || groups.filter((other) => other === group).length < PEERS);
}

/** True with more than one pipeline stage. */
export function hasStages(ranks: readonly Ranked[]): boolean {
  return ranks.some((rank) => (rank.pipeline_stage ?? 1) > 1);
}
