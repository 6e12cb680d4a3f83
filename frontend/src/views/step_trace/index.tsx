import { type ComponentChildren, Fragment } from "preact";
import type { StepTimes, StepTraceJson, TimeBetween } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { setParams } from "../../state/params";
import { choosePeriod, STEP } from "../../state/period";
import {
  type Answered,
  type BarPart,
  Card,
  DataTable,
  Empty,
  Legend,
  type Row,
  Select,
  StackedBar,
  spanView,
  TableCard,
} from "../../widgets";
import { partTitle, phaseName } from "../../widgets/parts";
import { isOtherAverage, lanesOf, PARTS, partsThatVary, restOf } from "./parts";
import css from "./step_trace.css?inline";
import { stepName, Trend } from "./trend";

/** The phases of the steps: gap, forward and backward, tail; with the concurrent communication. */
export const view = spanView("step_trace", Steps, { css, obeys: [STEP], params: { device: "steps.device" } });

const choose = (step: string | null) => choosePeriod(STEP, step);

type Props = Pick<Answered<StepTraceJson>, "data" | "answer">;

function Steps({ data, answer }: Props) {
  const at = data.chosen === null ? -1 : data.steps.findIndex((step) => step.step === data.chosen);
  const only = data.steps.length === 1 ? data.steps[0] : undefined;
  if (data.method === "iterations") return <Iterations data={data} answer={answer} />;
  if (data.steps.length === 0) return <Empty text={t("steps.none")} />;
  return (
    <div class="grid">
      <StepCard data={data} step={data.steps[at] ?? only ?? data.mean} isMean={at < 0 && !only} />
      {data.steps.length > 1 &&
        partsThatVary(data).map(({ id, key, color }) => (
          <Trend
            key={id}
            id={id}
            keyName={key}
            color={color}
            steps={data.steps}
            mean={data.mean[key]}
            chosen={at}
            onChoose={(index) => choose(data.steps[index]?.step ?? null)}
          />
        ))}
      <TableCard
        title={t("steps.table")}
        subtitle={t("steps.source", { source: data.source })}
        table={answer.tables.steps}
        compared={[["total_ns", ...PARTS.map(({ key }) => key), "reduce_ns"]]}
        bar={{ column: "total_ns" }}
      />
    </div>
  );
}

/** Iterations of a serving engine: percentiles by phase and number of requests, the trend, and all of them. */
function Iterations({ data, answer }: Props) {
  const { groups, steps } = answer.tables;
  const cell = { phase: (row: Row) => phaseName(row.get("phase") as string | null) };
  const shared = { bar: { column: "total_ns" }, cell };
  return (
    <div class="grid">
      {groups && (
        <Card title={t("steps.groups")} subtitle={t("steps.groups.sub")} help={t("steps.groups.help")}>
          <DataTable table={groups} {...shared} />
          {data.between && <p>{betweenText(data.between)}</p>}
        </Card>
      )}
      {data.steps.length > 1 && (
        <Trend
          id="total"
          keyName="total_ns"
          color="var(--c-compute)"
          steps={data.steps}
          mean={data.mean.total_ns}
          chosen={data.steps.findIndex((step) => step.step === data.chosen)}
          onChoose={(index) => choose(data.steps[index]?.step ?? null)}
        />
      )}
      <TableCard
        title={t("steps.table.iteration")}
        subtitle={t("steps.source", { source: data.source })}
        table={steps}
        {...shared}
      />
    </div>
  );
}

function betweenText({ gaps, ...times }: TimeBetween): string {
  return t("steps.between", {
    time: format.duration(times.total_ns),
    share: format.shareOf(times.total_ns, times.span_ns),
    span: format.duration(times.span_ns),
    gaps: format.integer(gaps),
    median: format.duration(times.median_ns),
    longest: format.duration(times.longest_ns),
  });
}

/** Preparing, as in the Overview. */
const preparingPart = (value: number): BarPart => ({
  id: "preparing",
  label: partTitle("budget", "preparing"),
  help: t("budget.preparing.help"),
  value,
  color: "var(--c-prep)",
  outside: true,
});

/** The rest of a step with unknown parts. */
const REST = { id: "rest", color: "var(--c-rest)" };

function StepCard({ data, step, isMean }: { data: StepTraceJson; step: StepTimes; isMean: boolean }) {
  const known: BarPart[] = partsThatVary(data)
    .map(({ id, key, color }) => ({
      id,
      label: t(`steps.${id}`),
      help: t(`steps.${id}.${data.method === "points" ? "points" : "kernels"}`),
      value: step[key],
      color,
    }))
    .filter(({ value }) => value !== null);
  const rest = restOf(step);
  const own = rest === null ? known : [...known, { ...REST, label: t("steps.rest"), value: rest }];
  const parts = step.exposed_preparing_ns ? [preparingPart(step.exposed_preparing_ns), ...own] : own;
  const mean = meanOf(data);
  return (
    <Card
      title={isMean ? t("steps.mean") : step.step === null ? t("steps.capture") : stepName(step)}
      subtitle={isMean ? mean : undefined}
      help={t("steps.help")}
      actions={
        data.device !== null && (
          <Select
            label={t("steps.device")}
            prefix
            options={data.devices.map((id) => ({ id: String(id), label: String(id) }))}
            value={String(data.device)}
            onChange={(id) => setParams({ "steps.device": id })}
          />
        )
      }
    >
      <Lanes data={data} total={step.total_ns ?? 0}>
        {/* As wide as the step: preparing is before it. One part alone says nothing. */}
        {own.length > 1 ? <StackedBar parts={own} /> : <span />}
      </Lanes>
      {own.length > 1 && <Legend parts={parts} hasValues />}
      <div class="steps-facts">
        <Fact name={t("step.time")} value={format.duration(step.total_ns)} />
        <Fact name={t("step.communication")} value={format.duration(step.reduce_ns)} />
        {step.preparing_ns !== null && (
          <Fact name={t("step.preparing")} value={format.duration(step.preparing_ns)} tip={t("step.preparing.help")} />
        )}
        {(data.method === "points" || data.fp_point !== null) && (
          <Fact name="FP_POINT" value={data.fp_point ?? t("steps.point.unknown")} />
        )}
        {(data.method === "points" || data.bp_point !== null) && (
          <Fact name="BP_POINT" value={data.bp_point ?? t("steps.point.unknown")} />
        )}
      </div>
      <p class="muted small">{t(`steps.method.${data.method}`, { source: data.source })}</p>
      {isMean && data.recorded && isOtherAverage(data.mean, data.recorded) && <Recorded step={data.recorded} />}
    </Card>
  );
}

/** "mean of 5 steps (5 to 9)", with the number of gaps if some are unknown. */
function meanOf(data: StepTraceJson): string {
  const { count, gaps } = data.averaged;
  const [first, last] = [data.averaged.first ?? "–", data.averaged.last ?? "–"];
  if (count === 1) return t("steps.mean.one", { step: first });
  const text = t("steps.mean.of", { first, last, count });
  return gaps === 0 || gaps === count ? text : `${text}; ${t("steps.mean.gaps", { count: gaps })}`;
}

/** Above this number of streams, lines are closer together. */
const CLOSE_FROM = 10;

/** The communication of the step, one line per stream, below the step's bar. */
function Lanes({ data, total, children }: { data: StepTraceJson; total: number; children: ComponentChildren }) {
  const lanes = lanesOf(data.reduces);
  if (lanes.length === 0 || total <= 0) return <>{children}</>;
  const place = (ns: number) => `${(100 * ns) / total}%`;
  return (
    <div class={`steps-lanes ${lanes.length > CLOSE_FROM ? "close" : ""}`}>
      <span />
      {children}
      {lanes.map(({ stream, reduces }) => (
        <Fragment key={stream}>
          <span class="muted small">{stream === null ? t("steps.stream.none") : t("steps.stream", { stream })}</span>
          <div class="steps-lane">
            {reduces.map((one) => (
              <i
                key={`${one.name} ${one.offset_ns}`}
                style={{ left: place(one.offset_ns), width: place(one.dur_ns) }}
                data-tip={`${one.name}\n${format.duration(one.dur_ns)}, ${t("steps.after", { time: format.duration(one.offset_ns) })}`}
              />
            ))}
          </div>
        </Fragment>
      ))}
    </div>
  );
}

/** The average in the file, if it differs from the computed mean. */
function Recorded({ step }: { step: StepTimes }) {
  const figures = PARTS.map(({ id, key }) => `${t(`steps.${id}`)} ${format.duration(step[key])}`).join(", ");
  return <p class="small">{t("steps.recorded", { figures })}</p>;
}

function Fact({ name, value, tip }: { name: string; value: string; tip?: string }) {
  return (
    <span class="ellipsis" data-tip={tip} data-tip-cut={tip === undefined ? true : undefined}>
      <span class="muted">{name}</span> <b class="mono">{value}</b>
    </span>
  );
}
