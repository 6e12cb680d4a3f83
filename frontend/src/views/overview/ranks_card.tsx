import { useEffect, useRef, useState } from "preact/hooks";
import { getRanks } from "../../api/client";
import type { ProgressJson, RankStepJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { useThrottled } from "../../base/use_throttled";
import { type Key, t } from "../../i18n";
import { catalog, places } from "../../state/catalog";
import { setParams } from "../../state/params";
import { ended, jobs, waitForData } from "../../state/progress";
import { isResumable, shareDone } from "../../state/reading";
import { Card, JobControl, ProgressBar, RunProgress } from "../../widgets";
import { useMoreRight } from "../../widgets/table/use_more_right";
import { useRowWindow } from "../../widgets/use_row_window";
import { type Figure, figuresOf, isMean, type RankLine, rankLines } from "./rank_figures";

/** Least time (ms) between two requests while ranks become ready one after the other. */
const REFRESH_MS = 1000;

/** Steps of all ranks of a run, read by the server at low priority; requested again as ranks become ready. */
export function useRanks(run: string): readonly RankStepJson[] {
  const [held, setHeld] = useState<{ of: string; ranks: readonly RankStepJson[] }>({ of: run, ranks: [] });
  const ranks = held.of === run ? held.ranks : [];
  const { generation } = catalog.value ?? { generation: 0 };
  const revision = useThrottled(generation, REFRESH_MS);
  useEffect(() => {
    const controller = new AbortController();
    getRanks(run, controller.signal).then(
      (answer) => setHeld({ of: run, ranks: answer.ranks }),
      () => {}, // the card is optional: without an answer it is not shown
    );
    return () => controller.abort();
  }, [run, revision]);
  const isReading = ranks.some((rank) => rank.state === "reading");
  useEffect(() => (isReading ? waitForData() : undefined), [isReading]);
  return ranks;
}

/** Height of a row, px; same value in overview.css. */
const ROW_PX = 26;

interface Props {
  ranks: readonly RankStepJson[];
  /** The rank on screen. */
  span: string;
  /** The chosen step. */
  step: string | null;
  /** The shown device of ranks that recorded several. */
  device: number | null;
}

/** The same step of all ranks, in one unit. */
export function RanksCard({ ranks, span, step, device }: Props) {
  const lines = rankLines(ranks, step, device);
  // The worker's name distinguishes two captures of one rank.
  const isTwice = (rank: number | null) => ranks.filter((other) => other.rank === rank).length > 1;
  const nameOf = (line: RankLine | undefined) => {
    const { rank = null, worker = "" } = line?.rank ?? {};
    return rank === null || isTwice(rank) ? worker : String(rank);
  };
  const figures = figuresOf(lines);
  const totals = lines.map((line) => figures[figures.length - 1]?.value(line) ?? null);
  const unit = format.columnUnit(format.TIME_UNITS, totals);
  const scroller = useRef<HTMLDivElement>(null);
  const hasMore = useMoreRight(scroller);
  const body = useRef<HTMLTableSectionElement>(null);
  const rows = useRowWindow(body, { count: lines.length, rowPx: ROW_PX });
  const at = lines.findIndex((line) => line.rank.span === span);
  useEffect(() => {
    // Scroll the current rank to the middle of a long list.
    const box = scroller.current;
    if (box && at >= 0) box.scrollTop = (at + 1.5) * ROW_PX - box.clientHeight / 2;
  }, [at, lines.length]);
  const decimals = Math.max(...totals.map((total) => total ?? 0)) < 10 * unit.scale ? 3 : 2;
  const work = workOf(ranks, [...jobs.value, ...ended.value.values()]);
  return (
    <Card
      title={t("overview.ranks")}
      help={t("overview.ranks.help")}
      actions={<RunProgress jobs={work} small />}
      subtitle={subtitleOf(figures, step, unit)}
    >
      <div ref={scroller} class={`table-scroll ranks-scroll ${hasMore ? "more" : ""}`}>
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">{t("overview.rank")}</th>
              {figures.map((figure) => (
                <th key={figure.id} scope="col" data-tip={figure.help && t(figure.help)}>
                  {figure.title()}
                </th>
              ))}
            </tr>
          </thead>
          <tbody ref={body}>
            {rows.isVirtual && <tr style={{ height: `${rows.top}px` }} />}
            {lines.slice(rows.from, rows.to).map((line) => (
              <Line
                key={line.rank.span}
                line={line}
                figures={figures}
                job={work.find((job) => job.span === line.rank.span && job.state !== "ready") ?? null}
                name={nameOf(line)}
                isHere={line.rank.span === span}
                unit={unit}
                decimals={decimals}
              />
            ))}
            {rows.isVirtual && (
              <tr style={{ height: `${rows.height - rows.top - (rows.to - rows.from) * ROW_PX}px` }} />
            )}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** The step of the figures, and their unit. */
function subtitleOf(figures: readonly Figure[], step: string | null, unit: format.Unit): string {
  if (figures.length === 0) return t("overview.ranks.missing");
  if (isMean(figures)) return `${t("overview.ranks.mean")}, ${unit.name}`;
  return `${step === null ? "" : `${t("overview.ranks.sub", { step })}, `}${unit.name}`;
}

/** Reading jobs of the tables of each rank; skips ranks that were not requested. */
function workOf(ranks: readonly RankStepJson[], known: readonly ProgressJson[]): ProgressJson[] {
  const tables = new Map(known.filter((job) => job.stage === "tables").map((job) => [job.span, job]));
  return ranks.flatMap(({ span, state }) => {
    const job = tables.get(span);
    return job ?? (state === "ready" ? [{ ...READ, span }] : []);
  });
}

/** Jobs that ended before this page was opened; their bytes do not count. */
const READ = {
  stage: "tables",
  state: "ready",
  file: "",
  bytes_done: 0,
  bytes_total: 0,
  rate: null,
  eta_s: null,
  message: "",
  texts: {},
} as const;

interface LineProps {
  line: RankLine;
  figures: readonly Figure[];
  /** Its reading job, until that ends. */
  job: ProgressJson | null;
  name: string;
  isHere: boolean;
  unit: format.Unit;
  decimals: number;
}

const STATES = {
  ready: "overview.ranks.missing",
  missing: "overview.ranks.missing",
  reading: "overview.ranks.unread",
  failed: "overview.ranks.failed",
} as const;

/** The reason why a rank has no figures. */
function whyEmpty(rank: RankStepJson, isUnread: boolean): Key {
  if (isUnread) return "overview.ranks.unread";
  return rank.steps.length > 0 ? "overview.ranks.nostep" : STATES[rank.state];
}

function openRank(rank: RankStepJson | undefined): void {
  const place = places.value.get(rank?.span ?? "");
  if (place) setParams({ run: place.run.id, worker: place.worker.id, span: place.span.id }, true);
}

function Line({ line, figures, job, name, isHere, unit, decimals }: LineProps) {
  const { rank } = line;
  const place = places.value.get(rank.span);
  const isUnread = place?.span.state === "new" || place?.span.state === "reading";
  const isKnown = figures.some((figure) => figure.value(line) !== null);
  return (
    <tr class={isHere ? "at" : ""}>
      <td>
        <button type="button" class="link" onClick={() => openRank(rank)}>
          {name}
        </button>
      </td>
      {isKnown &&
        figures.map((figure) => {
          const value = figure.value(line);
          return (
            <td key={figure.id} class="mono" data-tip={format.exactDuration(value)}>
              {format.fixedDecimals(value === null ? null : value / unit.scale, decimals)}
            </td>
          );
        })}
      {!isKnown && figures.length > 0 && (
        <td colSpan={figures.length} class="muted">
          {job ? <RankProgress job={job} /> : t(whyEmpty(rank, isUnread))}
        </td>
      )}
    </tr>
  );
}

function RankProgress({ job }: { job: ProgressJson }) {
  const share = shareDone({ done: job.bytes_done, total: job.bytes_total });
  const isStopped = isResumable(job);
  return (
    <span class="rank-progress">
      <ProgressBar label={job.file || job.stage} done={job.bytes_done} total={job.bytes_total} stopped={isStopped} />
      <span class="mono">{format.percentOfRatio(share, 0)}</span>
      <JobControl jobs={[job]} />
    </span>
  );
}
