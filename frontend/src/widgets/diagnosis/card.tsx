import { useState } from "preact/hooks";
import type { DiagnosisJson, LedgerJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { addStyle } from "../../base/style";
import { sayOption, t, textOf } from "../../i18n";
import { freshJobs } from "../../state/progress";
import type { ViewState } from "../../state/use_view";
import { Card } from "../card";
import { Pages } from "../pages";
import { ProblemList } from "../problem_list";
import { RunProgress } from "../run_progress";
import css from "./diagnosis.css?inline";
import { chosenLedger, ledgerKey, ledgerName, ledgerRows } from "./ledger";
import { LedgerBar } from "./ledger_bar";
import { LedgerTable, stepTitle } from "./ledger_table";
import { Needs } from "./needs";
import { isPreliminary, Preliminary, readingText } from "./preliminary";
import { useDiagnosis } from "./use_diagnosis";

addStyle(css);

/** Shows all findings, also those without a cost. */
export const ALL_FINDINGS = Number.POSITIVE_INFINITY;
/** Findings that are shown at first: without and with the ledger. */
const MOST = 3;
const MOST_IN_LEDGER = 10;

/** What holds the run up: the verdict, the findings by cost, and what could not be checked. */
export function DiagnosisCard({ run, most = MOST }: { run: string; most?: number }) {
  const view = useDiagnosis(run);
  return <Content key={run} view={view} most={most} hasLedger={false} />;
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
  const rows = ledger ? ledgerRows(ledger) : [];
  const unit = format.unitFor(format.TIME_UNITS, ledger?.window_ns ?? data.mean_step_ms * 1e6);
  return (
    <Card class={`diagnosis ${isPreliminary(data.ranks) ? "unknown" : verdict.kind}`}>
      <Sentence data={data} />
      {ledger && <Subject data={data} ledger={ledger} />}
      <Preliminary ranks={data.ranks} jobs={freshJobs(answer.progress)} />
      {ledger && <LedgerBar ledger={ledger} rows={rows} unit={unit} />}
      <Pages items={shown}>
        {(page) => <LedgerTable data={data} ledger={ledger} rows={rows} shown={page} unit={unit} />}
      </Pages>
      {ledger && !isPreliminary(data.ranks) && <Needs ledger={ledger} />}
      <div class="row small muted">
        {findings.length > costly.length && most !== ALL_FINDINGS && (
          <button type="button" class="link" onClick={() => setOpen(!isOpen)}>
            {isOpen ? t("diagnosis.less") : t("diagnosis.more", { count: findings.length })}
          </button>
        )}
        {!ledger && findings.length > 1 && <span data-tip={t("diagnosis.stake.help")}>{stakeText(data)}</span>}
      </div>
      <Checks data={data} isCounted={ledger !== null} />
    </Card>
  );
}

/** The verdict, its first sentence bold; while ranks are read, how far that is. */
function Sentence({ data }: { data: DiagnosisJson }) {
  const { verdict, ranks } = data;
  const reading = readingText(ranks);
  const isEarly = isPreliminary(ranks) && verdict.kind === "healthy";
  const text = isEarly ? t("diagnosis.so_far") : textOf(verdict, "message");
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

/** Whose step the ledger is about, and how much was checked. */
function Subject({ data, ledger }: { data: DiagnosisJson; ledger: LedgerJson }) {
  const { ledger: judged, checked } = data;
  const ran = t("diagnosis.ran", { count: checked, all: checked + openChecks(data).length });
  const parts = [ledgerName(ledger, data.ledgers), stepTitle(data), ran];
  const isOther = judged !== null && ledgerKey(judged) !== ledgerKey(ledger);
  return (
    <p class="small muted">
      {parts.join(" · ")}
      {isOther && <strong> · {t("diagnosis.other_rank", { rank: ledgerName(judged, data.ledgers) })}</strong>}
    </p>
  );
}

/** Rules that apply to the run, and lack data. */
const openChecks = ({ unchecked }: DiagnosisJson) => unchecked.filter(({ reason }) => reason === "not_recorded");

/** Number of rules that ran, unless that is said above; the others with their reason. */
function Checks({ data, isCounted }: { data: DiagnosisJson; isCounted: boolean }) {
  const text = isCounted ? "" : t("diagnosis.checked", { count: data.checked });
  const unchecked = openChecks(data);
  if (unchecked.length === 0) return text ? <p class="small muted">{text}</p> : null;
  return (
    <details class="small muted">
      <summary>
        {text} {t("diagnosis.unchecked", { count: unchecked.length })}
      </summary>
      <ul>
        {unchecked.map((one) => (
          <li key={one.rule}>
            {textOf(one, "title")}: {textOf(one, "missing")}
            {one.option && (
              <>
                {" "}
                {t("state.option")} <code>{sayOption(one.option)}</code>
              </>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function stakeText({ at_stake_ms_per_step: ms, mean_step_ms: step }: DiagnosisJson): string {
  const time = format.duration(ms * 1e6, 2);
  return t("diagnosis.stake", { time, share: format.percentOfRatio(step > 0 ? ms / step : 0, 0) });
}
