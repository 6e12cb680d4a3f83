import type { DiagnosisJson } from "../../api/types.gen";
import type { Place } from "../../state/catalog";
import { place } from "../../state/selection";
import { useView, type ViewState } from "../../state/use_view";

/** The diagnosis of a run. The server reads what it needs; findings are preliminary until then. */
export function useDiagnosis(run: string): ViewState<DiagnosisJson> {
  const span = laterSpan(place.value);
  return useView<DiagnosisJson>("diagnosis", { run, span });
}

/** The span if it is not the first of its worker: the diagnosis is about the n-th span of each worker. */
function laterSpan(at: Place | undefined): string {
  return at && at.worker.spans.indexOf(at.span) > 0 ? at.span.id : "";
}
