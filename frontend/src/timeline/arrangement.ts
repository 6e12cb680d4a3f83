/** Rows that the user hid or moved. Pure functions. */

export interface Arrangement {
  /** Keys of hidden processes, and hidden tracks. */
  hiddenProcesses: ReadonlySet<string>;
  hiddenTracks: ReadonlySet<number>;
  /** Moved processes and tracks: the listed ones come first, in this order. */
  processOrder: readonly string[];
  trackOrder: readonly number[];
}

/** All rows, in the order of the trace. */
export const AS_RECORDED: Arrangement = {
  hiddenProcesses: new Set(),
  hiddenTracks: new Set(),
  processOrder: [],
  trackOrder: [],
};

export function isArranged({ hiddenProcesses, hiddenTracks, processOrder, trackOrder }: Arrangement): boolean {
  return hiddenProcesses.size + hiddenTracks.size + processOrder.length + trackOrder.length > 0;
}

/** The items whose keys are listed, in that order, then the others in theirs. */
export function inOrder<T, K>(items: readonly T[], keyOf: (item: T) => K, order: readonly K[]): readonly T[] {
  if (order.length === 0) return items;
  const places = new Map(order.map((key, place) => [key, place]));
  const placeOf = (item: T) => places.get(keyOf(item)) ?? order.length;
  return [...items].sort((a, b) => placeOf(a) - placeOf(b));
}

/** The keys with one of them a place further up (-1) or down (1). */
export function moved<K>(keys: readonly K[], key: K, step: 1 | -1): readonly K[] {
  const from = keys.indexOf(key);
  const to = from + step;
  if (from < 0 || to < 0 || to >= keys.length) return keys;
  return keys.map((one, place) => (place === from ? (keys[to] as K) : place === to ? key : one));
}
