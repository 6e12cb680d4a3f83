import { type Evidence, VIEW_IDS, type ViewId } from "../../api/types.gen";
import { places } from "../../state/catalog";
import { openView } from "../../state/selection";
import { formatState } from "../table/state";

/** Parameter that chooses the table of a view, if it shows one at a time. */
const TABS: Readonly<Record<string, string>> = { kernel: "kernel.tab", operator: "operator.tab", memory: "m.tab" };

/** Parameter that chooses the step of a view. */
const STEPS: Readonly<Record<string, string>> = { distributed: "d.step", idle: "idle.step" };

/** Places that this page can open, one for each view. */
export function openable(evidence: readonly Evidence[]): Evidence[] {
  const known = evidence.filter(({ view }) => VIEW_IDS.some((id) => id === view));
  return known.filter((one, at) => known.findIndex(({ view }) => view === one.view) === at);
}

/** Opens the place that shows a finding: a time range of the trace, a row of a table, or the whole view. */
export function openEvidence(evidence: Evidence): void {
  const { view, span, table, row, step, start_ns: start, end_ns: end } = evidence;
  const places = { ...placeOf(span), ...tableOf(view, table, row) };
  openView(view as ViewId, { ...places, ...stepOf(view, step), ...rangeOf(start, end) });
}

function placeOf(span: string | null): Record<string, string> {
  const found = places.peek().get(span ?? "");
  return found ? { run: found.run.id, worker: found.worker.id, span: found.span.id } : {};
}

function tableOf(view: string, table: string | null, row: string | null): Record<string, string> {
  if (table === null) return {};
  const state = formatState({ filter: row ?? "", order: null, columns: null, widths: {} });
  const tab = TABS[view];
  return { [`t.${view}.${table}`]: state, ...(tab ? { [tab]: table } : {}) };
}

function stepOf(view: string, step: string | null): Record<string, string> {
  const parameter = STEPS[view];
  return parameter && step !== null ? { [parameter]: step } : {};
}

function rangeOf(start: number | null, end: number | null): Record<string, string> {
  return start === null || end === null ? {} : { at: `${BigInt(start)},${end - start}` };
}
