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

/** The largest figure where it is well above the median of all; null where none is. Unknown ones do not count. */
export function highest(values: readonly (number | null | undefined)[]): Outlier | null {
  const known = values.filter((value) => typeof value === "number").sort((a, b) => a - b);
  if (known.length < PEERS) return null;
  const half = known.length >> 1;
  const upper = known[half] ?? 0;
  const median = known.length % 2 === 1 ? upper : ((known[half - 1] ?? 0) + upper) / 2;
  const value = known[known.length - 1] ?? 0;
  return median > 0 && value > median * (1 + LEAST) ? { index: values.indexOf(value), value, median } : null;
}
