import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Query } from "../../../api/client";
import type { TraceRanksJson } from "../../../api/types.gen";
import { useView } from "../../../state/use_view";
import type { TraceSession } from "../session";

/** Loads what is known of the ranks of a run. */
function useRanksOf(query: Query, data: Signal<TraceRanksJson | null>, base: Signal<string>): void {
  const view = useView<TraceRanksJson>("trace_ranks", query);
  useEffect(() => {
    if (!view.data || !view.answer) return;
    base.value = view.answer.base_ns;
    data.value = view.data;
  }, [view.data]);
}

export function useRanks({ ranks, span }: TraceSession): void {
  useRanksOf({ run: ranks.run, span }, ranks.data, ranks.base);
}

/** Loads the same of the other run, for as long as it is on the page. */
export function OtherRun({ session: { ranks }, run }: { session: TraceSession; run: string }) {
  useRanksOf({ run }, ranks.otherData, ranks.otherBase);
  useEffect(() => () => (ranks.otherData.value = null), []);
  return null;
}
