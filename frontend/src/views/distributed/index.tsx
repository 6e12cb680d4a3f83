import { useEffect, useState } from "preact/hooks";
import type { DistributedJson, TableJson, ViewJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { addStyle } from "../../base/style";
import { type Period, t, tOf } from "../../i18n";
import { places } from "../../state/catalog";
import { param, setParams } from "../../state/params";
import { choosePeriod, chosenPeriod, chosenStep, NO_STEP, STEP, WITHIN } from "../../state/period";
import { freshJobs } from "../../state/progress";
import { openView } from "../../state/selection";
import { usePeriodView } from "../../state/use_view";
import {
  type Answered,
  Button,
  budgetParts,
  Card,
  DataTable,
  type DataTableProps,
  DiagnosisCard,
  Empty,
  KernelRanks,
  MissingList,
  type Row,
  RunProgress,
  Segments,
  ViewFrame,
  type Where,
} from "../../widgets";
import { useDiagnosis } from "../../widgets/diagnosis/ledger";
import type { ViewModule, ViewProps } from "../view";
import { Arrivals, arrivalsOf } from "./arrivals";
import css from "./distributed.css?inline";
import { LinkMatrix } from "./link_matrix";
import { groupTitle, isSmallMatrix } from "./links";
import { communicationParts, RankBars, Recorded } from "./rank_bars";
import * as ranks from "./ranks";
import { Trajectory } from "./trajectory";

addStyle(css);

/** All ranks of a run: steps, communication, links. */
function DistributedView({ selection }: ViewProps) {
  // Of many steps the answer holds the first ones, and the one that is asked for.
  const [isCut, setCut] = useState(false);
  const query = { step: (isCut && chosenStep()) || undefined, run: selection.run, span: selection.span };
  const found = usePeriodView<DistributedJson>("distributed", query, [WITHIN]);
  const view = { ...found, obeys: [STEP, WITHIN] as const };
  const { steps = [], step_count: count = 0 } = found.data ?? {};
  useEffect(() => setCut((is) => is || steps.length < count), [steps.length, count]);
  return (
    <ViewFrame view={view} ofRange={t("range.distributed")}>
      {(data, answer) => <Distributed data={data} answer={answer} selection={selection} />}
    </ViewFrame>
  );
}

function Distributed({ data, answer, selection: { run, span } }: Answered<DistributedJson>) {
  const isRange = chosenPeriod()?.key === WITHIN;
  const step = isRange ? ranks.ALL_STEPS : ranks.shownStep(data, chosenStep());
  const lines = ranks.rankLines(data, step);
  const isLongestFirst = param("d.order") === "time";
  const chosen = lines.find((line) => line.id === param("d.rank")) ?? null;
  const onChoose = (line: ranks.RankLine) => setParams({ "d.rank": line.id === chosen?.id ? null : line.id });
  const stepText = isRange ? t("distributed.range") : stepName(step, data.period);
  const where = [...stepWhere(data, step), ...rankWhere(chosen)];
  const isSilent = !ranks.hasCommunication(data);
  const cell = {
    group: (_: Row, name: string) => <span data-tip={name}>{groupTitle(data.groups, name)}</span>,
  };
  const shared = { answer, stepText, where, chosen, isSilent, cell };
  const bars = { subtitle: stepText, lines, isLongestFirst, chosen: chosen?.id ?? "", onChoose };
  const links = ranks.linksOf(data, step);
  // Results with a trajectory have no budget: the trajectory replaces it.
  const hasBudget = data.cluster === null || data.budgets.some((budget) => budget.stage !== null);
  // Half width only with a neighbour: charts of ranks, or a small matrix.
  const isMatrixWide = links.length > 0 && !isSmallMatrix(links);
  const collectives = arrivalsOf(data, step);
  const recorded = chosen ?? lines.find((line) => line.state.state === "ready");
  const halves =
    Number(hasBudget) + Number(!isSilent) + Number(collectives.length > 0) + Number(links.length > 0 && !isMatrixWide);
  const isWide = isMatrixWide || halves % 2 === 0;
  // All rows are of the chosen step: hide the step column.
  const keys = step === ranks.ALL_STEPS ? ["rank", "step"] : ["rank"];
  return (
    <div class="grid">
      {!isRange && <DiagnosisCard run={run} hasExcess />}
      <RunBar data={data} answer={answer} isLongestFirst={isLongestFirst} />
      {data.cluster && answer.tables.trajectory && (
        <Trajectory cluster={data.cluster} table={answer.tables.trajectory} />
      )}
      {isSilent && <NoCommunication data={data} />}
      {hasBudget && (
        <RankBars
          {...bars}
          title={tOf(data.period, isRange ? "distributed.range.budget" : "distributed.budget")}
          help={tOf(data.period, isRange ? "distributed.range.budget.help" : "distributed.budget.help")}
          name="step-by-rank"
          partsOf={budgetParts}
          isWide={isSilent}
        />
      )}
      {!isSilent && (
        <RankBars
          {...bars}
          title={t("distributed.split")}
          help={t("distributed.split.help")}
          none={isRange ? t("distributed.none.range") : undefined}
          name="communication-by-rank"
          partsOf={communicationParts}
        />
      )}
      {!isRange && <KernelRanks run={run} span={span} />}
      <Arrivals data={data} collectives={collectives} isWide={isMatrixWide && halves % 2 === 1} />
      {data.links.length > 0 && <LinkMatrix data={data} links={links} />}
      <Waits {...shared} data={data} run={run} isMean={step === ranks.ALL_STEPS} />
      <RankTable name="transports" {...shared} columns={[...keys, ...TRANSPORTS]} isWide={isWide} />
      {isRange && (
        <Card title={t("distributed.links")}>
          <Empty text={t("distributed.range.links")} />
        </Card>
      )}
      <RankTable name="experts" {...shared} where={rankWhere(chosen)} bar="time_ns" isWide />
      <RankTable name="link_use" {...shared} where={rankWhere(chosen)} isWide />
      <RankTable name="ops" {...shared} columns={[...keys, ...OPS]} bar="elapse_ns" />
      {!isRange && !isSilent && recorded && (
        <Recorded run={run} line={recorded} where={stepWhere(data, step)} cell={cell} />
      )}
    </div>
  );
}

const TIMES = ["elapse_ns", "waiting_ns", "transit_ns", "wait_ns", "sync_ns", "idle_ns"];
const OPS = ["name", "group", "calls", "size_bytes", ...TIMES, "bandwidth", "latest_rank"];

const TRANSPORTS = ["transport", "size_bytes", "time_ns", "bandwidth", "large_packet_ratio"];

/** Offer to sort by time from this number of ranks on. */
const ORDER_FROM = 4;

interface BarProps {
  data: DistributedJson;
  answer: ViewJson;
  isLongestFirst: boolean;
}

/** The ranks and their reading progress. */
function RunBar({ data, answer, isLongestFirst }: BarProps) {
  const counts = ranks.countStates(data.ranks);
  const jobs = freshJobs(answer.progress).filter((job) => job.stage === "tables");
  // The job list shows cancelled ranks and resumes them.
  const missing = counts.missing - jobs.filter((job) => job.state === "cancelled").length;
  const size = data.world_size;
  return (
    <div class="row">
      {data.steps.length < data.step_count && (
        <span>
          {tOf(data.period, "distributed.steps.first", {
            shown: format.integer(data.steps.length),
            count: format.integer(data.step_count),
          })}
        </span>
      )}
      {data.ranks.length > ORDER_FROM && (
        <Segments
          label={t("distributed.order")}
          options={[
            { id: "rank", label: t("distributed.order.rank") },
            { id: "time", label: t("distributed.order.time") },
          ]}
          value={isLongestFirst ? "time" : "rank"}
          onChange={(id) => setParams({ "d.order": id === "rank" ? null : id })}
        />
      )}
      <span data-tip={t("distributed.world.help")}>
        {size === null
          ? t("distributed.ranks", { count: data.ranks.length })
          : t("distributed.world", { count: data.ranks.length, all: size })}
      </span>
      {counts.failed > 0 && <span class="chip bad">{t("distributed.count.failed", { count: counts.failed })}</span>}
      {missing > 0 && <span class="chip">{t("distributed.count.missing", { count: missing })}</span>}
      <RunProgress jobs={jobs} />
    </div>
  );
}

function stepName(step: string, period: Period): string {
  if (step === ranks.ALL_STEPS) return tOf(period, "distributed.step.all");
  return step === NO_STEP ? tOf(period, "step.none") : `${tOf(period, "step.label")} ${step}`;
}

/** Explains why the page has no communication to show. */
function NoCommunication({ data }: { data: DistributedJson }) {
  const isRead = data.ranks.every((rank) => rank.state !== "reading");
  const text = data.ranks.length > 1 ? "distributed.none.communication" : "distributed.none.single";
  if (chosenPeriod()?.key === WITHIN)
    return <Card title={t("distributed.none.title")}>{t("distributed.none.range")}</Card>;
  return <Card title={t("distributed.none.title")}>{isRead ? t(text) : t("distributed.none.yet")}</Card>;
}

/** Parts of a communication operator. */
const COMPARED = [["elapse_ns", "transit_ns", "wait_ns", "sync_ns", "idle_ns"]];

interface TableProps {
  name: "ops" | "transports" | "link_use" | "experts";
  answer: ViewJson;
  /** Name of the chosen step. */
  stepText: string;
  where: readonly Where[];
  chosen: ranks.RankLine | null;
  /** The page already says that there is no communication. */
  isSilent: boolean;
  /** Default: all. */
  columns?: readonly string[];
  bar?: string;
  cell: NonNullable<DataTableProps["cell"]>;
  /** True without a neighbour. */
  isWide?: boolean;
}

function RankTable({ name, answer, stepText, where, chosen, isSilent, columns, bar, cell, isWide }: TableProps) {
  const table = answer.tables[name];
  if (!table) return null;
  const keys = columns ?? table.columns.map(({ key }) => key);
  const clear = () => setParams({ "d.rank": null });
  const filters = chosen ? [{ label: ranks.rankName(chosen), clear }] : [];
  if (where.some((condition) => condition.column === "step")) {
    filters.push({ label: stepText, clear: () => choosePeriod(STEP, null) });
  }
  // Give the reason only once.
  if (table.total === 0 && (isSilent || name === "transports")) return null;
  return (
    <Card
      title={t(`distributed.${name}`)}
      help={t(`distributed.${name}.help`)}
      class={name === "transports" && !isWide ? "span-6" : ""}
    >
      {table.total === 0 ? (
        <MissingList missing={answer.missing} none={t("distributed.none.figures")} />
      ) : (
        <DataTable
          table={table}
          where={where}
          filters={filters}
          columns={keys.filter((key) => isKnown(table, key))}
          cell={cell}
          compared={COMPARED}
          {...(bar ? { bar: { column: bar } } : {})}
          tools={
            chosen && (
              <Button look="chip" onClick={clear}>
                {ranks.rankName(chosen)} ✕
              </Button>
            )
          }
        />
      )}
    </Card>
  );
}

const WAITS = ["name", "group", "start_ns", "exposed_ns", "late"];

interface WaitsProps extends Pick<TableProps, "answer" | "where" | "chosen" | "cell"> {
  data: DistributedJson;
  run: string;
  /** The mean step is shown. */
  isMean: boolean;
}

/** The operators in which a rank waits while nothing computes; those that wait for some ranks alone, if a link chose them. */
function Waits({ data, run, answer, where, chosen, isMean, cell }: WaitsProps) {
  const mean = useDiagnosis(run).data?.mean_steps ?? 1;
  const table = answer.tables.waits;
  const late = param("d.late");
  const [first = "", ...others] = late.split(".");
  if (!table || table.total === 0) return null;
  const ofLate: Where[] =
    late !== "" && others.length === 0 ? [{ column: "late", value: first === "" ? null : Number(first) }] : [];
  const ofMean: Where[] = isMean ? [{ column: "in_mean", value: 1 }] : [];
  const clear = () => setParams({ "d.late": null });
  const label = t("distributed.waits.late", { rank: first });
  return (
    <Card title={t("distributed.waits")} help={t("distributed.waits.help")}>
      <DataTable
        table={table}
        where={[...where, ...ofMean, ...ofLate]}
        filters={ofLate.length > 0 ? [{ label, clear }] : []}
        columns={["rank", ...(isMean ? ["step"] : []), ...WAITS]}
        cell={cell}
        bar={{ column: "exposed_ns", color: () => "var(--c-wait)" }}
        onOpen={(row) => {
          const found = data.ranks.find(({ rank, span }) => rank === row.get("rank") && places.peek().has(span));
          const at = found && places.peek().get(found.span);
          const start = BigInt(answer.base_ns) + BigInt(Number(row.get("start_ns")));
          const ids = at && { run: at.run.id, worker: at.worker.id, span: at.span.id };
          openView("trace", { ...ids, find: String(row.get("name")), at: `${start},${row.get("exposed_ns")}` });
        }}
        {...(chosen ? { sum: { column: "exposed_ns", steps: isMean ? mean : 1 } } : {})}
        tools={
          ofLate.length > 0 && (
            <Button look="chip" onClick={clear}>
              {label} ✕
            </Button>
          )
        }
      />
    </Card>
  );
}

/** True if a row has a value, or the table is partial: exports differ in their communication columns. */
function isKnown(table: TableJson, key: string): boolean {
  return table.rows < table.total || (table.data[key]?.some((value) => value !== null) ?? false);
}

function stepWhere(data: DistributedJson, step: string): Where[] {
  if (step === ranks.ALL_STEPS || data.steps.length < 2) return [];
  return [{ column: "step", value: step === NO_STEP ? null : step }];
}

function rankWhere(chosen: ranks.RankLine | null): Where[] {
  return chosen ? [{ column: "rank", value: chosen.state.rank }] : [];
}

export const view: ViewModule = { Component: DistributedView };
