/** The set with a key added if it was absent, else removed. */
export function toggled<K>(keys: ReadonlySet<K>, key: K): ReadonlySet<K> {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  return next;
}
