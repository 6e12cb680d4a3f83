import type { ComponentChildren } from "preact";
import {
  type Evidence,
  type FindingJson,
  type LedgerJson,
  VIEW_IDS,
  type ViewId,
  type WorkerJson,
} from "../../api/types.gen";
import * as format from "../../base/format";
import { type Key, type Period, t, textAt, textOf, tOf, viewTitle } from "../../i18n";
import { places } from "../../state/catalog";
import { STEP, WITHIN } from "../../state/period";
import { selection } from "../../state/selection";
import { formatState } from "../table/state";
import { ViewLink } from "../view_link";

interface Props {
  finding: FindingJson;
  /** All findings: some explain others. */
  findings: readonly FindingJson[];
}

/** What was found, how sure it is, and what explains it. */
export function FindingText({ finding, findings }: Props) {
  const { confidence } = finding;
  const causes = finding.causes.flatMap((rule) => findings.find((one) => one.rule === rule) ?? []);
  const sure =
    confidence.kind === "confirmed"
      ? t("diagnosis.confirmed", { count: confidence.ranks })
      : t(`diagnosis.${confidence.kind}`);
  return (
    <div>
      {textOf(finding, "message")} <span class="muted">{sure}</span>
      {causes.length > 0 && (
        <p>{t("diagnosis.causes", { causes: [...new Set(causes.map((one) => textOf(one, "title")))].join(", ") })}</p>
      )}
    </div>
  );
}

/** What to do, and how to see that it helped. */
export function FindingFix({ finding }: { finding: FindingJson }) {
  return (
    <>
      {finding.fix.map((text, at) => (
        <p key={text}>{withCode(textAt(finding, "fix", at))}</p>
      ))}
      {finding.check && <p class="muted">{textOf(finding, "check")}</p>}
    </>
  );
}

/** What it would save in a unit. */
export function Saving({ finding, unit, period }: { finding: FindingJson; unit: format.Unit; period: Period }) {
  const { ms_per_step: ms, kind } = finding;
  const time = ms === 0 ? format.UNKNOWN : format.inUnit(ms * 1e6, unit);
  return <span data-tip={tOf(period, tipOf(finding))}>{ms > 0 && kind !== "measured" ? `≤ ${time}` : time}</span>;
}

function tipOf({ ms_per_step: ms, kind }: FindingJson): Key {
  if (ms === 0) return "diagnosis.cost.none";
  return kind === "measured" ? "diagnosis.cost.measured" : "diagnosis.cost.bound";
}

/** Links to what shows it. */
export function EvidenceLinks({ finding, ledgers }: { finding: FindingJson; ledgers: readonly LedgerJson[] }) {
  return (
    <span class="jumps">
      {evidenceLinks(finding, ledgers).map(({ view, state }) => (
        <ViewLink key={view} view={view} state={state}>
          {viewTitle(view)} →
        </ViewLink>
      ))}
    </span>
  );
}

/** Text with the parts between backticks as code. */
export function withCode(text: string): ComponentChildren[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));
}

/** Parameter that chooses the table of a view, if it shows one at a time. */
const TABS: Readonly<Record<string, string>> = { kernel: "kernel.tab", operator: "operator.tab", memory: "m.tab" };

/** A place that shows a finding: a view and its parameters. */
interface EvidenceLink {
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
  return { ...placeOf(span), ...tableOf(view, table, row), [STEP]: step ?? "", [WITHIN]: "", ...rangeOf(start, end) };
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

function rangeOf(start: number | null, end: number | null): Record<string, string> {
  return start === null || end === null ? {} : { at: `${BigInt(start)},${end - start}` };
}
