/** Repeats the search when other ranks are shown, moved or read. */

import { effect, untracked } from "@preact/signals";
import type { TraceSession } from "../session";

/** Returns what stops it. */
export function followRanks(session: TraceSession): () => void {
  const { lanes, ranks, search } = session;
  let before: string | null = null;
  return effect(() => {
    const now = JSON.stringify(lanes.beside());
    const loaded = lanes.loaded.value;
    const traced = new Set(ranks.lines().flatMap(({ span, is_traced }) => (is_traced ? [span] : [])));
    const isOutdated = search.ranks.peek().some(({ lane, version, total }) => {
      const span = ranks.all.peek()[lane - 1]?.span ?? "";
      const read = loaded.get(lane)?.data.version;
      return lane > 0 && (total === null ? traced.has(span) || read !== undefined : (read ?? version) !== version);
    });
    const isChanged = before !== null && before !== now;
    before = now;
    if (isChanged || isOutdated) untracked(() => void session.finder.again());
  });
}
