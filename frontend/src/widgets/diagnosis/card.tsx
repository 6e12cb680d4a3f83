import { useState } from "preact/hooks";
import type { DiagnosisJson, NeedJson, UncheckedJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { addStyle } from "../../base/style";
import { t, textOf, tOf } from "../../i18n";
import { freshJobs } from "../../state/progress";
import type { ViewState } from "../../state/use_view";
import { TextButton } from "../button";
import { Card } from "../card";
import { Pages } from "../pages";
import { message, say } from "../parts";
import { ProblemList } from "../problem_list";
import { RunProgress } from "../progress";
import { ticks } from "../scale";
import { StackedBar } from "../stacked_bar";
import { TableHead } from "../table_head";
import css from "./diagnosis.css?inline";
import { ExcessCard } from "./excess";
import { withCode } from "./finding";
import { barParts, chosenLedger, judgedLedger, ledgerKey, type NamedLedger, splitRows, useDiagnosis } from "./ledger";
import { LedgerTable } from "./ledger_table";
import { isPreliminary, Preliminary, readingText } from "./preliminary";

addStyle(css);

/** Shows all findings, also those without a cost. */
export const ALL_FINDINGS = Number.POSITIVE_INFINITY;
/** Findings that are shown at first: without and with the ledger. */
const MOST = 3;
const MOST_IN_LEDGER = 10;

interface CardProps {
  run: string;
  /** Findings that are shown at first. */
  most?: number;
  /** Shows what an awaited pipeline stage computes longer, too. */
  hasExcess?: boolean;
}

/** What holds the run up: the verdict, the findings by cost, and what could not be checked. */
export function DiagnosisCard({ run, most = MOST, hasExcess = false }: CardProps) {
  const view = useDiagnosis(run);
  return (
    <>
      <Content key={run} view={view} most={most} hasLedger={false} />
      {hasExcess && view.data?.excess?.stage != null && <ExcessCard excess={view.data.excess} />}
    </>
  );
}

/** The same with the ledger of a rank: where each ms of its step went. */
export function LedgerCard({ view }: { view: ViewState<DiagnosisJson> }) {
  return <Content key={view.query.run} view={view} most={MOST_IN_LEDGER} hasLedger />;
}

interface ContentProps {
  view: ViewState<DiagnosisJson>;
  /** Findings that are shown at first. */
  most: number;
  hasLedger: boolean;
}

function Content({ view: { answer, data, error }, most, hasLedger }: ContentProps) {
  if (answer && data) return <Diagnosis data={data} answer={answer} most={most} hasLedger={hasLedger} />;
  if (error || answer?.state === "missing") return null;
  return (
    <Card class="diagnosis unknown">
      <p class="verdict muted" role="status">
        {t("diagnosis.reading")}
      </p>
      {answer && <RunProgress jobs={freshJobs(answer.progress)} />}
      {answer && <ProblemList problems={answer.problems} />}
    </Card>
  );
}

interface DiagnosisProps {
  data: DiagnosisJson;
  answer: ViewJson;
  most: number;
  hasLedger: boolean;
}

function Diagnosis({ data, answer, most, hasLedger }: DiagnosisProps) {
  const [isOpen, setOpen] = useState(most === ALL_FINDINGS);
  const { findings, verdict } = data;
  const costly = findings.filter((one) => one.ms_per_step > 0 && one.severity !== "low").slice(0, most);
  const shown = isOpen ? findings : costly;
  const ledger = hasLedger ? chosenLedger(data) : null;
  const unit = format.unitFor(format.TIME_UNITS, ledger?.window_ns ?? data.mean_step_ms * 1e6);
  return (
    <Card class={`diagnosis ${isPreliminary(data.ranks) ? "unknown" : verdict.kind}`}>
      <Sentence data={data} />
      {ledger && <Subject data={data} ledger={ledger} />}
      <Preliminary ranks={data.ranks} jobs={freshJobs(answer.progress)} />
      {ledger && <LedgerBar ledger={ledger} unit={unit} />}
      <Pages items={shown}>{(page) => <LedgerTable data={data} ledger={ledger} shown={page} unit={unit} />}</Pages>
      {ledger && !isPreliminary(data.ranks) && <Needs needs={ledger.needs} />}
      <div class="row small muted">
        {findings.length > costly.length && most !== ALL_FINDINGS && (
          <TextButton onClick={() => setOpen(!isOpen)}>
            {isOpen ? t("diagnosis.less") : t("diagnosis.more", { count: findings.length })}
          </TextButton>
        )}
        {!ledger && findings.length > 1 && <span data-tip={t("diagnosis.stake.help")}>{stakeText(data)}</span>}
      </div>
      <Checks data={data} />
    </Card>
  );
}

/** The verdict, its first sentence bold; while ranks are read, how far that is. */
function Sentence({ data }: { data: DiagnosisJson }) {
  const { verdict, ranks } = data;
  const reading = readingText(ranks);
  const isEarly = isPreliminary(ranks) && verdict.kind === "healthy";
  const text = isEarly ? t("diagnosis.so_far") : textOf(verdict, "conclusion");
  const [first = ""] = /^.+?(?:\.(?=\s|$)|。)/s.exec(text) ?? [text];
  return (
    <p class="verdict" role="status">
      {reading && <strong>{reading} </strong>}
      {reading ? first : <strong>{first}</strong>}
      {text.slice(first.length)}
      {reading && ` ${t("diagnosis.can_change")}`}
    </p>
  );
}

/** Whose step the ledger is about. */
function Subject({ data, ledger }: { data: DiagnosisJson; ledger: NamedLedger }) {
  const judged = judgedLedger(data);
  const isOther = judged !== null && ledgerKey(judged) !== ledgerKey(ledger);
  return (
    <p class="small muted">
      {`${ledger.name} · ${say(data.layout.step)}`}
      {isOther && <strong> · {t("diagnosis.other_rank", { rank: judged.name })}</strong>}
    </p>
  );
}

/** Number of rules that ran; the others with their reason, those that do not apply last. */
function Checks({ data: { checked, unchecked } }: { data: DiagnosisJson }) {
  const open = unchecked.filter(({ reason }) => reason === "not_recorded");
  const others = unchecked.filter(({ reason }) => reason === "not_applicable");
  const text = t("diagnosis.checks", { count: checked, open: open.length, others: others.length });
  if (unchecked.length === 0) return <p class="small muted">{text}</p>;
  return (
    <details class="small muted">
      <summary>{text}</summary>
      <CheckList checks={open} />
      {others.length > 0 && <p>{t("diagnosis.inapplicable")}</p>}
      <CheckList checks={others} />
    </details>
  );
}

function CheckList({ checks }: { checks: readonly UncheckedJson[] }) {
  return (
    <ul>
      {checks.map((one) => (
        <li key={one.rule}>
          {textOf(one, "title")}: {textOf(one, "missing")}
          {one.option && (
            <>
              {" "}
              {t("state.option")} <code>{textOf(one, "option")}</code>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function stakeText({ at_stake_ms_per_step: ms, mean_step_ms: step, period }: DiagnosisJson): string {
  const time = format.duration(ms * 1e6, 2);
  return tOf(period, "diagnosis.stake", { time, share: format.percentOfRatio(step > 0 ? ms / step : 0, 0) });
}

/** Largest part of the width for the time before the first task; a longer time is cut. */
const MOST_BEFORE = 0.2;
/** A shorter time before the first task is not drawn. */
const LEAST_BEFORE = 0.003;
const MOST_TICKS = 8;
/** A tick closer to the end of the bar has no room. */
const LAST_TICK = 0.97;

/** The step of a rank as one bar with its scale. The time before its first task stands in front, on the same scale. */
function LedgerBar({ ledger, unit }: { ledger: NamedLedger; unit: format.Unit }) {
  const [rows, outside] = splitRows(ledger);
  const before = outside.find(({ kind }) => kind === "before");
  const share = before ? Math.min(MOST_BEFORE, before.ns / (before.ns + ledger.window_ns)) : 0;
  const flat = rows.flatMap((row) => (row.kind === "waiting" && row.parts.length > 0 ? row.parts : [row]));
  const marks = ticks(0, ledger.window_ns, unit, MOST_TICKS).filter(
    ({ value }) => value <= LAST_TICK * ledger.window_ns,
  );
  const isDrawn = before !== undefined && share >= LEAST_BEFORE;
  return (
    <div class="ledger-bar" style={isDrawn ? { gridTemplateColumns: `${share}fr ${1 - share}fr` } : undefined}>
      {isDrawn && <StackedBar parts={barParts([before], unit).map((part) => ({ ...part, outside: true }))} />}
      <div>
        <StackedBar parts={barParts(flat, unit)} />
        <div class="ledger-axis mono" aria-hidden="true">
          {marks.map(({ value, label }) => (
            <span key={label} style={{ left: `${(100 * value) / ledger.window_ns}%` }}>
              {value === 0 ? `${label} ${unit.name}` : label}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}

const COLUMNS = ["decide", "missing", "how"] as const;

/** What would decide the entries that the data at hand leave open. */
function Needs({ needs }: { needs: readonly NeedJson[] }) {
  if (needs.length === 0) return null;
  return (
    <table class="ledger needs">
      <TableHead cells={COLUMNS.map((column) => [message(`ledger.need.column.${column}`)])} />
      <tbody>
        {needs.map((need) => (
          <tr key={say(need.missing)}>
            {COLUMNS.map((column) => (
              <td key={column}>{withCode(say(need[column]))}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
