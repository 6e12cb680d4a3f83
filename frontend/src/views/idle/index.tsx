import { type CauseTime, type IdleJson, PARTS, type StreamQueue } from "../../api/types.gen";
import * as format from "../../base/format";
import { t, tOf } from "../../i18n";
import { param, setParams } from "../../state/params";
import { chosenStep, STEP } from "../../state/period";
import { openView } from "../../state/selection";
import {
  type Answered,
  type BarPart,
  Button,
  Card,
  Empty,
  Facts,
  formatPick,
  Legend,
  PickChips,
  parsePick,
  pickWhere,
  type Row,
  Select,
  StackedBar,
  spanView,
  TableCard,
} from "../../widgets";
import { partColor, partTitle } from "../../widgets/parts";

/** Why the device was idle: by cause, by place in the program, every interval. */
export const view = spanView("idle", Idle, { obeys: [STEP], params: { device: "idle.device" } });

function Idle({ data, answer }: Answered<IdleJson>) {
  if (data.devices.length === 0) return <Empty text={t("idle.none")} />;
  return (
    <div class="grid">
      <CauseCard data={data} />
      <Tables answer={answer} steps={chosenStep() === "" ? data.steps.length : 1} />
      {data.queues.length > 0 && <QueueTable queues={data.queues} />}
    </div>
  );
}

const pickCause = (cause: string | null) => setParams({ "idle.pick": formatPick("cause", cause) });

/** The verdict and the idle time by cause. */
function CauseCard({ data }: { data: IdleJson }) {
  const parts = partsOf(data.causes);
  const between = data.between.reduce((sum, one) => sum + one.time_ns, 0);
  const late = launchSum(data.causes, "late");
  return (
    <Card title={t("idle.causes")} help={tOf(data.period, "idle.causes.help")} actions={<Choices data={data} />}>
      <p class="lead">
        {tOf(data.period, "idle.verdict", {
          time: format.duration(data.free_ns),
          gaps: format.integer(data.gaps),
          share: format.shareOf(data.free_ns, data.step_ns),
        })}{" "}
        {data.clock_error_ns === null
          ? t("idle.no_launches")
          : t("idle.verdict.late", { time: format.duration(late), share: format.shareOf(late, data.free_ns) })}
      </p>
      <StackedBar parts={parts} onClick={pickCause} />
      <Legend parts={parts} hasValues />
      <p class="muted small">{launchText(data)}</p>
      {between > 0 && (
        <>
          <p>{tOf(data.period, "idle.between", { time: format.duration(between) })}</p>
          <StackedBar parts={partsOf(data.between)} thin />
          <Legend parts={partsOf(data.between)} hasValues />
        </>
      )}
    </Card>
  );
}

/** The idle time that is not known to be late; nothing about times of 0. */
export function launchText({ causes, clock_error_ns: error, uncertain_ns: uncertain }: IdleJson): string {
  if (error === null) return "";
  const times = { before: launchSum(causes, "before"), unknown: launchSum(causes, "unknown"), uncertain };
  return (["before", "unknown", "uncertain"] as const)
    .filter((launch) => times[launch] > 0)
    .map((launch) =>
      t(`idle.launches.${launch}`, { time: format.duration(times[launch]), error: format.duration(error) }),
    )
    .join(" ");
}

function Choices({ data }: { data: IdleJson }) {
  return (
    <>
      {data.devices.length > 1 && (
        <Select
          label={t("steps.device")}
          prefix
          options={data.devices.map((id) => ({ id: String(id), label: String(id) }))}
          value={String(data.device)}
          onChange={(id) => setParams({ "idle.device": id })}
        />
      )}
    </>
  );
}

const cell = {
  cause: (row: Row) => causeName(row.get("cause")),
  launch: (row: Row) => t(`idle.launch.${row.get("launch") as "late" | "before" | "unknown"}`),
};
const color = (row: Row) => causeColor(row.get("cause"));

const LAUNCHES = ["late", "before", "unknown"] as const;

/** Tables by cause, by place, and of all intervals; a chosen cause filters the last two. */
function Tables({ answer, steps }: Pick<Answered<IdleJson>, "answer"> & { steps: number }) {
  const { causes, places, intervals } = answer.tables;
  const pick = parsePick(param("idle.pick"));
  const filters = pick ? [{ label: causeName(pick.value), clear: () => pickCause(null) }] : [];
  const launch = LAUNCHES.find((id) => id === param("idle.launch")) ?? "";
  const common = { cell, filters, moreTools: <PickChips filters={filters} /> };
  const openInterval = (row: Row) => {
    const start = BigInt(answer.base_ns) + BigInt(row.get("start_ns") as number);
    openView("trace", { find: `derived:idle/${row.get("cause")}`, at: `${start},${row.get("dur_ns")}` });
  };
  return (
    <>
      <TableCard
        title={t("idle.by_cause")}
        table={causes}
        cell={cell}
        bar={{ column: "share", color }}
        hasTools={launch !== ""}
        where={launch === "" ? [] : [{ column: "launch", value: launch }]}
        sum={{ column: "time_ns", steps }}
        tools={
          launch !== "" && (
            <Button look="chip" onClick={() => setParams({ "idle.launch": null })}>
              {t(`idle.launch.${launch}`)} ✕
            </Button>
          )
        }
        onOpen={(row) => pickCause(row.get("cause") as string)}
      />
      <TableCard
        {...common}
        title={t("idle.by_place")}
        help={t("idle.by_place.help")}
        table={places}
        where={places ? pickWhere(places, pick) : []}
        compared={[["time_ns", "longest_ns"]]}
        bar={{ column: "share", color }}
      />
      <TableCard
        {...common}
        title={t("idle.intervals")}
        help={t("idle.intervals.help")}
        table={intervals}
        where={intervals ? pickWhere(intervals, pick) : []}
        bar={{ column: "dur_ns", color }}
        onOpen={openInterval}
      />
    </>
  );
}

type Cause = CauseTime["cause"];

const causeColor = (cause: unknown): string => partColor("idle", isCause(cause) ? cause : "unknown");

const isCause = (cause: unknown): cause is Cause => typeof cause === "string" && cause in PARTS.idle;

/** Name of a cause; the id of one that this page does not know. */
export function causeName(cause: unknown): string {
  return isCause(cause) ? partTitle("idle", cause) : String(cause ?? "");
}

/** Idle time by cause, of all launches. */
export function partsOf(times: readonly CauseTime[]): BarPart[] {
  const sums = new Map<Cause, number>();
  for (const { cause, time_ns: time } of times) sums.set(cause, (sums.get(cause) ?? 0) + time);
  return [...sums].map(([cause, value]) => ({
    id: cause,
    label: causeName(cause),
    help: t(`idle.cause.${cause}.help`),
    value,
    color: causeColor(cause),
  }));
}

/** Idle time whose launch was late, in time or unknown, ns. */
export function launchSum(times: readonly CauseTime[], launch: CauseTime["launch"]): number {
  return times.reduce((sum, one) => sum + (one.launch === launch ? one.time_ns : 0), 0);
}

/** Launches of each stream: how far the host is ahead of the device. */
function QueueTable({ queues }: { queues: readonly StreamQueue[] }) {
  return (
    <Card title={t("idle.queues")} help={t("idle.queues.help")}>
      <Facts
        facts={queues.map((queue) => [
          queue.stream,
          t("idle.queue", {
            tasks: format.integer(queue.tasks),
            empty: format.percentOfRatio(queue.empty_share),
            p50: format.duration(queue.latency_p50_ns),
            max: format.duration(queue.latency_max_ns),
            length: format.integer(queue.queue_p50),
            most: format.integer(queue.queue_max),
          }),
        ])}
      />
    </Card>
  );
}
