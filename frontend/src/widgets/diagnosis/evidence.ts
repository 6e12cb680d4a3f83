import {
  type Evidence,
  type FindingJson,
  type LedgerJson,
  VIEW_IDS,
  type ViewId,
  type WorkerJson,
} from "../../api/types.gen";
import { places } from "../../state/catalog";
import { selection } from "../../state/selection";
import { formatState } from "../table/state";

/** Parameter that chooses the table of a view, if it shows one at a time. */
const TABS: Readonly<Record<string, string>> = { kernel: "kernel.tab", operator: "operator.tab", memory: "m.tab" };

/** Parameter that chooses the step of a view. */
const STEPS: Readonly<Record<string, string>> = { distributed: "d.step", idle: "idle.step" };

/** A place that shows a finding: a view and its parameters. */
export interface EvidenceLink {
  view: ViewId;
  state: Readonly<Record<string, string>>;
}

/** Links to the places of a finding that this page can open, one for each view. `ledgers`: of all ranks. */
export function evidenceLinks(finding: FindingJson, ledgers: readonly LedgerJson[]): EvidenceLink[] {
  const known = finding.evidence.filter(isAvailable);
  const first = known.filter(({ view }, at) => known.findIndex((one) => one.view === view) === at);
  const ranks = finding.category === "ranks" ? spansOf(finding, ledgers) : [];
  return first.map((one) => {
    const strips = one.view === "trace" && ranks.length > 1 ? { "trace.ranks": ranks.join(".") } : {};
    return { view: one.view as ViewId, state: { ...stateOf(one), ...strips } };
  });
}

/** A rank that others wait for, and the one that waits longest: what the first does to it shows beside it only. */
function spansOf({ evidence, subject }: FindingJson, ledgers: readonly LedgerJson[]): string[] {
  const waiting = ({ entries }: LedgerJson) =>
    entries.reduce((sum, { culprit, ns }) => sum + (culprit !== null && culprit === subject.rank ? ns : 0), 0);
  const [longest] = [...ledgers].filter((one) => waiting(one) > 0).sort((a, b) => waiting(b) - waiting(a));
  const spans = [...evidence.map(({ span }) => span), spanOfRank(subject.rank), spanOfRank(longest?.rank)];
  return [...new Set(spans)].filter((span) => span !== null);
}

/** False if the span has no data for the view. */
function isAvailable({ view, span }: Evidence): boolean {
  if (!VIEW_IDS.some((id) => id === view)) return false;
  const place = places.value.get(span ?? selection.value.span);
  return place?.span.views.find(({ id }) => id === view)?.available !== false;
}

/** The span of a rank in the run on screen; null if it was not profiled. */
function spanOfRank(rank: unknown): string | null {
  const { run, span } = selection.value;
  const shown = places.value.get(span)?.worker;
  const at = shown?.spans.findIndex(({ id }) => id === span) ?? 0;
  const isMeant = (one: WorkerJson) => rank != null && one.rank === rank && one.role === shown?.role;
  const worker = [...places.value.values()].find((one) => one.run.id === run && isMeant(one.worker))?.worker;
  return (worker?.spans[at] ?? worker?.spans[0])?.id ?? null;
}

/** Parameters of a place: a time range of the trace, a row of a table, or the whole view. */
function stateOf({ view, span, table, row, step, start_ns: start, end_ns: end }: Evidence): Record<string, string> {
  return { ...placeOf(span), ...tableOf(view, table, row), ...stepOf(view, step), ...rangeOf(start, end) };
}

function placeOf(span: string | null): Record<string, string> {
  const found = places.value.get(span ?? "");
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
