import type { DiagnosisJson, LedgerJson, LedgerRowJson, LedgerTableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import type { Place } from "../../state/catalog";
import { param } from "../../state/params";
import { STEP, WITHIN } from "../../state/period";
import { place } from "../../state/selection";
import { type PeriodView, usePeriodView } from "../../state/use_view";
import { message, partColor, say } from "../parts";
import type { BarPart } from "../stacked_bar";

/** A ledger with its table. */
export type NamedLedger = LedgerJson & LedgerTableJson;

/** Key of a ledger in the URL. */
export const ledgerKey = ({ worker, device_id: device }: LedgerJson) =>
  device === null ? worker : `${worker} ${device}`;

/** All ledgers, by rank. */
export function ledgersOf({ ledgers, layout }: DiagnosisJson): NamedLedger[] {
  return ledgers.flatMap((one, at) => ({ ...one, ...(layout.tables[at] as LedgerTableJson) }));
}

/** The ledger of the verdict; null without step times. */
export function judgedLedger(data: DiagnosisJson): NamedLedger | null {
  const judged = data.ledger && ledgerKey(data.ledger);
  return ledgersOf(data).find((one) => ledgerKey(one) === judged) ?? null;
}

/** The ledger of the URL, else that of the verdict. */
export function chosenLedger(data: DiagnosisJson): NamedLedger | null {
  const all = ledgersOf(data);
  return all.find((one) => ledgerKey(one) === param("overview.ledger")) ?? judgedLedger(data) ?? all[0] ?? null;
}

/** True for time beside the step. */
export const isOutside = ({ kind }: LedgerRowJson) => ["before", "after", "outside", "between"].includes(kind);

/** The rows of the step, and those beside it. */
export function splitRows({ rows }: LedgerTableJson): [LedgerRowJson[], LedgerRowJson[]] {
  return [rows.filter((row) => !isOutside(row)), rows.filter(isOutside)];
}

/** True if the time is bounded or unexplained, or no fix is known for it: it is hatched. */
export const isHatched = ({ kind, part }: Pick<LedgerRowJson, "kind" | "part">) =>
  kind === "unexplained" || kind === "communication" || part === "waiting_idle";

export const colorOf = ({ part }: LedgerRowJson) =>
  partColor("ledger", part as Parameters<typeof partColor<"ledger">>[1]);

/** Parts of the bar. What is bounded is solid up to its lower bound. */
export function barParts(rows: readonly LedgerRowJson[], unit: format.Unit): BarPart[] {
  return rows.flatMap((row) => {
    const { ns, low_ns: low } = row;
    const [label, color, value] = [say(row.title), colorOf(row), rangeText(row, unit)];
    const labels = [`${label} ${value}`, value];
    const solid = isHatched(row) ? 0 : Math.min(low, ns);
    const open = solid > 0 ? [message("ledger.need.waiting")] : labels;
    const parts: BarPart[] = [
      { id: label, label, labels, color, value: solid },
      { id: `${label} ?`, label, labels: open, color, value: ns - solid, isHatched: true },
    ];
    return parts.filter((part) => part.value !== 0);
  });
}

/** The time of a row; its bounds if they differ. */
function rangeText({ ns, low_ns, high_ns }: LedgerRowJson, unit: format.Unit): string {
  const [low, high] = [format.inUnit(low_ns, unit), format.inUnit(high_ns, unit)];
  return low === high ? format.inUnit(ns, unit) : message("ledger.range", { low, high });
}

/** The diagnosis of a run. The server reads what it needs; findings are preliminary until then. */
export function useDiagnosis(run: string): PeriodView<DiagnosisJson> {
  const span = laterSpan(place.value);
  return usePeriodView<DiagnosisJson>("diagnosis", { run, span }, [STEP]);
}

/** The span if it is not the first of its worker: the diagnosis is about the n-th span of each worker. */
function laterSpan(at: Place | undefined): string {
  return at && at.worker.spans.indexOf(at.span) > 0 ? at.span.id : "";
}

/** Parameters of the view that lists what a row counts; null: none does. */
export function countedState(row: LedgerRowJson, ledger: NamedLedger, data: DiagnosisJson) {
  const { counted } = row;
  const found = spanOfLedger(ledger);
  if (!counted || !found) return null;
  const period = { [STEP]: data.step, [WITHIN]: null };
  if (counted.view === "distributed") {
    const line = ledger.device_id === null ? found.span : `${found.span} ${ledger.device_id}`;
    return { ...period, "d.rank": line, "d.late": (counted.late ?? []).map((rank) => rank ?? "").join(".") || null };
  }
  // Idle shows all steps, also one that the mean leaves out.
  if (data.step === null && data.mean_steps < data.steps.length) return null;
  return { ...period, ...found, "idle.launch": counted.launch, "idle.device": ledger.device_id?.toString() ?? null };
}

/** Run, worker and span of a ledger: the capture of that worker at the place of the shown one; null if it is not in the catalog. */
export function spanOfLedger(ledger: LedgerJson): { run: string; worker: string; span: string } | null {
  const { run, worker: here, span } = place.peek() ?? {};
  const worker = run?.workers.find(({ label, id }) => label === ledger.worker || id === ledger.worker);
  const at = here?.spans.findIndex(({ id }) => id === span?.id) ?? 0;
  const found = worker?.spans[at] ?? worker?.spans[0];
  return run && worker && found ? { run: run.id, worker: worker.id, span: found.id } : null;
}
