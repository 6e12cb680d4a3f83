import { useState } from "preact/hooks";
import type { ProgressJson } from "../api/types.gen";
import * as format from "../base/format";
import { t, textOf } from "../i18n";
import { places, workerName } from "../state/catalog";
import { control, controlError } from "../state/progress";
import { isActive, isResumable, jobKey, shareDone, sortJobs, type Totals, totalsOf } from "../state/reading";
import { TextButton } from "./button";
import { Popover } from "./popover";
import { Cut } from "./text";

/** Reading progress: bars, figures, buttons to cancel and resume. Fixed widths: nothing moves with the figures. */

/** Largest number of listed jobs; the others are counted. */
const MOST = 40;

interface BarProps {
  /** Name of the job. */
  label: string;
  done: number;
  total: number;
  /** True if it is stopped. */
  stopped?: boolean;
}

export function ProgressBar({ label, done, total, stopped = false }: BarProps) {
  const share = shareDone({ done, total });
  return (
    <div
      class={`progress ${stopped ? "stopped" : ""}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      {share > 0 && <div style={{ width: `${share * 100}%` }} />}
    </div>
  );
}

/** Time left (s) below which the server only builds levels of detail: no bytes are left to read. */
const FINISHING = 0.5;

/** "412.3 MiB of 1.0 GiB", "240.1 MiB/s", "3 s left": three columns; unknown ones stay empty. */
function Figures({ done, total, rate, left }: Pick<Totals, "done" | "total" | "rate" | "left">) {
  return (
    <span class="job-figures mono muted">
      <span>{t("state.bytes", { done: format.bytes(done, 1), total: format.bytes(total, 1) })}</span>
      <Pace rate={rate} left={left} />
    </span>
  );
}

/** The last two of these columns. */
export function Pace({ rate, left }: Pick<Totals, "rate" | "left">) {
  const isFinishing = left !== null && left < FINISHING;
  const time = left === null ? "" : t("state.left", { time: format.timeLeft(left) });
  return (
    <>
      <span class="job-rate">{rate === null || isFinishing ? "" : format.rate(rate)}</span>
      <span>{isFinishing ? t("progress.finishing") : time}</span>
    </>
  );
}

/** Cancels or resumes the jobs, whichever is possible. */
export function JobControl({ jobs }: { jobs: readonly ProgressJson[] }) {
  const [isBusy, setBusy] = useState(false);
  const going = jobs.filter(isActive);
  const stopped = jobs.filter(isResumable);
  const act = (action: "cancel" | "resume") => {
    setBusy(true);
    void control(action, jobs).finally(() => setBusy(false));
  };
  const isMany = jobs.length > 1;
  const isFailure = stopped.length > 0 && stopped.every((job) => job.state === "failed");
  return (
    <span class="job-control">
      {stopped.length > 0 && (
        <TextButton disabled={isBusy} onClick={() => act("resume")}>
          {t(isFailure ? "state.retry" : isMany ? "progress.resume.all" : "progress.resume")}
        </TextButton>
      )}
      {going.length > 0 && (
        <TextButton disabled={isBusy} onClick={() => act("cancel")}>
          {t(isMany ? "progress.cancel.rest" : "progress.cancel")}
        </TextButton>
      )}
    </span>
  );
}

/** One job. `named`: with its rank, for lists of several. */
function JobLine({ job, named = false }: { job: ProgressJson; named?: boolean }) {
  const what = job.file.split("/").pop() || t(`state.reading.${job.stage}`);
  const name = named ? t("progress.name", { rank: rankName(job.span), what }) : what;
  const figures = { done: job.bytes_done, total: job.bytes_total, rate: job.rate, left: job.eta_s };
  return (
    <div class="job" data-job={job.state}>
      <div class="job-head">
        <Cut class="grow">{name}</Cut>
        {job.state === "reading" ? <Figures {...figures} /> : <span class="muted">{stateText(job)}</span>}
        <JobControl jobs={[job]} />
      </div>
      <ProgressBar
        label={name}
        done={job.state === "ready" ? job.bytes_total : job.bytes_done}
        total={job.bytes_total}
        stopped={isResumable(job)}
      />
      {job.state === "failed" && job.message && <div class="small muted">{textOf(job, "message")}</div>}
    </div>
  );
}

/** The rank of a span, with the span's label if the rank has several. */
function rankName(span: string): string {
  const place = places.value.get(span);
  if (!place) return "";
  const name = workerName(place.worker);
  return place.worker.spans.length > 1 ? `${name} ▸ ${place.span.label}` : name;
}

function stateText(job: ProgressJson): string {
  const total = format.bytes(job.bytes_total, 1);
  if (job.state === "cancelled") return t("progress.cancelled", { total });
  return t(`progress.${job.state}`, { total });
}

/** Total of several jobs in one line, with a button that cancels the rest. */
function TotalsLine({ jobs, label }: { jobs: readonly ProgressJson[]; label: string }) {
  const totals = totalsOf(jobs);
  return (
    <div class="job" data-job="totals">
      <div class="job-head">
        <span class="ellipsis grow">{countText(totals)}</span>
        {totals.count.waiting + totals.count.reading > 0 && <Figures {...totals} />}
        <JobControl jobs={jobs} />
      </div>
      <ProgressBar label={label} done={totals.done} total={totals.total} stopped={totals.rate === null} />
    </div>
  );
}

/** "3 of 8 read · 2 cancelled · 1 failed". */
function countText({ count }: Totals): string {
  const all = Object.values(count).reduce((sum, one) => sum + one, 0);
  const parts = [
    t("progress.count", { count: count.ready, all }),
    count.cancelled > 0 && t("progress.count.cancelled", { count: count.cancelled }),
    count.failed > 0 && t("progress.count.failed", { count: count.failed }),
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Jobs of one or more spans: the total first, then the jobs by urgency. */
export function JobList({ jobs }: { jobs: readonly ProgressJson[] }) {
  const open = sortJobs(jobs.filter((job) => job.state !== "ready"));
  const hasRanks = new Set(jobs.map((job) => job.span)).size > 1;
  return (
    <div class="jobs">
      {hasRanks && <TotalsLine jobs={jobs} label={t("progress.all")} />}
      {jobs.length === 0 && <p class="muted">{t("state.reading.start")}</p>}
      {open.slice(0, MOST).map((job) => (
        <JobLine key={jobKey(job)} job={job} named={hasRanks} />
      ))}
      {open.length > MOST && <p class="muted">{t("progress.more", { count: open.length - MOST })}</p>}
      <ControlError />
    </div>
  );
}

/** The error of a failed Cancel or Resume. */
export function ControlError() {
  if (!controlError.value) return null;
  return (
    <p class="small" role="alert">
      {t("progress.refused", { message: textOf(controlError.value, "message") })}
    </p>
  );
}

/** Reading progress of a run's ranks in one line; its button lists them. Empty once all are read. */
export function RunProgress({ jobs }: { jobs: readonly ProgressJson[] }) {
  const totals = totalsOf(jobs);
  const { waiting, reading, cancelled, failed } = totals.count;
  if (waiting + reading + cancelled + failed === 0) return null;
  const isGoing = waiting + reading > 0;
  return (
    <span class="run-progress">
      <Popover
        class="chip"
        label={
          <>
            {countText(totals)}
            <span aria-hidden="true">▾</span>
          </>
        }
      >
        {() => (
          <div class="reading-list">
            <JobList jobs={jobs} />
          </div>
        )}
      </Popover>
      {isGoing && (
        <>
          <ProgressBar label={t("progress.ranks")} done={totals.done} total={totals.total} />
          <Figures {...totals} />
        </>
      )}
      <JobControl jobs={jobs} />
    </span>
  );
}
