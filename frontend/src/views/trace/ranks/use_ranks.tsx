import { useEffect } from "preact/hooks";
import type { TraceRanksJson } from "../../../api/types.gen";
import { useView } from "../../../state/use_view";
import type { TraceSession } from "../session";

/** Loads what is known of the ranks of the run. */
export function useRanks({ ranks, span }: TraceSession): void {
  const view = useView<TraceRanksJson>("trace_ranks", { run: ranks.run, span });
  useEffect(() => {
    if (!view.data || !view.answer) return;
    ranks.base.value = view.answer.base_ns;
    ranks.data.value = view.data;
  }, [view.data]);
}

/** Loads what is known of the ranks of the other run. */
export function OtherRun({ session: { ranks }, run }: { session: TraceSession; run: string }) {
  const view = useView<TraceRanksJson>("trace_ranks", { run });
  useEffect(() => {
    if (!view.data || !view.answer) return;
    ranks.otherBase.value = view.answer.base_ns;
    ranks.otherData.value = view.data;
  }, [view.data]);
  useEffect(
    () => () => {
      ranks.otherData.value = null;
    },
    [],
  );
  return null;
}
