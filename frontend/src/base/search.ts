/** The first index that is not before what is sought, by binary search; `length` if all are. */
export function firstIndex(length: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The set with a key added if it was absent, else removed. */
export function toggled<K>(keys: ReadonlySet<K>, key: K): ReadonlySet<K> {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** The words of a filter, lower case; "" has none and matches everything. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** True if every word is in one of the texts, ignoring case; different words may be in different texts. */
export function holdsAll(texts: readonly unknown[], words: readonly string[]): boolean {
  return words.every((word) => texts.some((text) => typeof text === "string" && text.toLowerCase().includes(word)));
}
