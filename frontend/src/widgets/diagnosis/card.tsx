import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { setReading } from "../../api/client";
import type { DiagnosisJson, FindingJson, ProgressJson, RankStateJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { addStyle } from "../../base/style";
import { type Key, sayOption, t, textOf, viewTitle } from "../../i18n";
import { places } from "../../state/catalog";
import { freshJobs } from "../../state/progress";
import { Button } from "../button";
import { Card } from "../card";
import { Pages } from "../pages";
import { ProblemList } from "../problem_list";
import { RunProgress } from "../run_progress";
import css from "./diagnosis.css?inline";
import { openable, openEvidence } from "./evidence";
import { useDiagnosis } from "./use_diagnosis";

addStyle(css);

/** Shows all findings, also those without a cost. */
export const ALL_FINDINGS = Number.POSITIVE_INFINITY;

interface Props {
  run: string;
  /** Findings with a cost that are shown at first. */
  most?: number;
}

/** What holds the run up: the verdict, the findings by cost, and what could not be checked. */
export function DiagnosisCard({ run, most = 3 }: Props) {
  const { answer, data, error } = useDiagnosis(run);
  if (answer && data) return <Diagnosis key={run} data={data} answer={answer} most={most} />;
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

interface ContentProps {
  data: DiagnosisJson;
  answer: ViewJson;
  most: number;
}

function Diagnosis({ data, answer, most }: ContentProps) {
  const [isOpen, setOpen] = useState(most === ALL_FINDINGS);
  const { verdict, findings } = data;
  const costly = findings.filter((one) => one.ms_per_step > 0).slice(0, most);
  const shown = isOpen ? findings : costly;
  const top = findings.find((one) => one.rule === verdict.rule);
  return (
    <Card class={`diagnosis ${top?.severity ?? verdict.rule}`}>
      <p class="verdict" role="status">
        {isPreliminary(data.ranks) && verdict.rule === "healthy" ? t("diagnosis.so_far") : textOf(verdict, "message")}
      </p>
      <Preliminary ranks={data.ranks} jobs={freshJobs(answer.progress)} />
      {shown.length > 0 && (
        <Pages items={shown}>
          {(page, first) => (
            <ul class="findings">
              {page.map((one, at) => (
                <Finding key={`${one.rule} ${first + at}`} finding={one} causes={causesOf(one, findings)} />
              ))}
            </ul>
          )}
        </Pages>
      )}
      <div class="row small muted">
        {findings.length > costly.length && most !== ALL_FINDINGS && (
          <button type="button" class="link" onClick={() => setOpen(!isOpen)}>
            {isOpen ? t("diagnosis.less") : t("diagnosis.more", { count: findings.length })}
          </button>
        )}
        {findings.length > 1 && <span data-tip={t("diagnosis.stake.help")}>{stakeText(data)}</span>}
      </div>
      <Checks data={data} />
    </Card>
  );
}

const isUnread = (rank: RankStateJson) => rank.texts.reason?.code === "reason.trace_unread";

/** True while ranks are read, or their traces are left unread. */
const isPreliminary = (ranks: readonly RankStateJson[]) =>
  ranks.some((rank) => rank.state === "reading" || isUnread(rank));

/** Progress while findings may still change, and the offer to read large traces. */
function Preliminary({ ranks, jobs }: { ranks: readonly RankStateJson[]; jobs: readonly ProgressJson[] }) {
  if (ranks.length === 0) return null;
  const unread = ranks.filter(isUnread).map((rank) => rank.span);
  const bytes = unread.reduce((sum, span) => sum + (places.value.get(span)?.span.bytes ?? 0), 0);
  const failed = ranks.filter((rank) => rank.state === "failed" || (rank.state === "missing" && rank.reason !== ""));
  const others = failed.filter((rank) => !unread.includes(rank.span));
  const partly = ranks.filter((rank) => rank.state === "ready");
  return (
    <div class="row small">
      {isPreliminary(ranks) && <strong>{t("diagnosis.preliminary", { count: ranks.length - partly.length })}</strong>}
      {unread.length > 0 && (
        <Button onClick={() => void setReading(unread, "trace", "read")}>
          {t("diagnosis.read", { size: format.bytes(bytes) })}
        </Button>
      )}
      {others.length > 0 && (
        <span data-tip={reasonsOf(others)}>{t("diagnosis.without", { count: others.length })}</span>
      )}
      {partly.length > 0 && <span data-tip={reasonsOf(partly)}>{t("diagnosis.partly", { count: partly.length })}</span>}
      <RunProgress jobs={jobs} />
    </div>
  );
}

function reasonsOf(ranks: readonly RankStateJson[]): string {
  return ranks.map((rank) => `${rank.worker}: ${textOf(rank, "reason")}`).join("\n");
}

/** Titles of the findings that explain one. */
function causesOf({ causes }: FindingJson, findings: readonly FindingJson[]): string[] {
  return causes.flatMap((rule) => {
    const found = findings.find((one) => one.rule === rule);
    return found ? [textOf(found, "title")] : [];
  });
}

function Finding({ finding, causes }: { finding: FindingJson; causes: readonly string[] }) {
  const { severity, confidence, fix, evidence, kind } = finding;
  const cost = format.duration(finding.ms_per_step * 1e6, 2);
  return (
    <li>
      <span class={`severity ${severity}`} data-tip={t(`diagnosis.severity.${severity}`)} />
      <div class="finding">
        <strong>{textOf(finding, "message")}</strong>
        <span class="muted small">
          {confidence.kind === "confirmed"
            ? t("diagnosis.confirmed", { count: confidence.ranks })
            : t(`diagnosis.${confidence.kind}`)}
        </span>
        {causes.length > 0 && <p class="small">{t("diagnosis.causes", { causes: causes.join(", ") })}</p>}
        {fix.map((text, at) => (
          <p key={text} class="small">
            {withCode(fixText(finding, at))}
          </p>
        ))}
        {finding.check && <p class="muted small">{textOf(finding, "check")}</p>}
      </div>
      <span class="mono" data-tip={t(tipOf(finding))}>
        {finding.ms_per_step === 0 ? format.UNKNOWN : kind === "measured" ? cost : `≤ ${cost}`}
      </span>
      <span class="jumps">
        {openable(evidence).map((one) => (
          <button key={one.view} type="button" class="link" onClick={() => openEvidence(one)}>
            {viewTitle(one.view)} →
          </button>
        ))}
      </span>
    </li>
  );
}

function tipOf({ ms_per_step: ms, kind }: FindingJson): Key {
  if (ms === 0) return "diagnosis.cost.none";
  return kind === "measured" ? "diagnosis.cost.measured" : "diagnosis.cost.bound";
}

/** The n-th fix in the current language. */
function fixText({ fix, texts }: FindingJson, at: number): string {
  const message = texts[`fix.${at}`];
  return textOf({ text: fix[at] ?? "", texts: message ? { text: message } : {} }, "text");
}

/** Text with the parts between backticks as code. */
function withCode(text: string): ComponentChildren[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));
}

/** Number of rules that ran; the others with their reason. */
function Checks({ data: { checked, unchecked } }: { data: DiagnosisJson }) {
  const text = t("diagnosis.checked", { count: checked });
  if (unchecked.length === 0) return <p class="small muted">{text}</p>;
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
