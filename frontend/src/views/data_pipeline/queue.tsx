import type { ComponentChildren } from "preact";
import { useContext, useRef } from "preact/hooks";
import type { DataPipelineJson, PipelineOp, TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Key, t } from "../../i18n";
import { param } from "../../state/params";
import { useTable } from "../../state/use_request";
import { Card, DataTable, ErrorPanel, ViewSource } from "../../widgets";
import { linear, stepPath } from "../../widgets/scale";
import { useWidth } from "../../widgets/use_width";
import { nameOf } from "./graph";

/** Above this number of samples they are not drawn: several would share a pixel. */
const MOST = 5000;

/** The samples of the chosen queue; initially the input queue of the bottleneck. */
export function QueueCard({ operators, bottleneck }: Pick<DataPipelineJson, "operators" | "bottleneck">) {
  const { query } = useContext(ViewSource);
  const chosen = operators.find((op) => String(op.op_id) === param("data.op")) ?? firstShown(operators, bottleneck);
  const op = chosen?.op_id ?? null;
  const asked = op === null ? null : { ...query, op, limit: MOST };
  const { value: table, error, retry } = useTable("data_pipeline.queue", asked);
  if (!chosen) return null;
  if (error) return <ErrorPanel error={error} onRetry={retry} />;
  const sizes = (table?.data.size ?? []) as Figures;
  if (sizes.length === 0) return null;
  return (
    <QueueFigure title={t("data.queue.of", { name: nameOf(chosen) })} text={averageText(chosen)}>
      <Samples
        label={t("data.queue.samples")}
        at={(table?.data.time_ns ?? []) as Figures}
        sizes={sizes}
        top={chosen.capacity}
        average={chosen.average}
      />
    </QueueFigure>
  );
}

type Figures = readonly (number | null)[];

function QueueFigure(props: { title: string; text: ComponentChildren; children: ComponentChildren }) {
  return (
    <figure style={{ margin: "12px 0 0" }}>
      <figcaption>
        <strong>{props.title}</strong> <span class="muted">{props.text}</span>
      </figcaption>
      {props.children}
    </figure>
  );
}

function averageText({ average, capacity }: Pick<PipelineOp, "average" | "capacity">): string {
  return t("data.queue.average", {
    average: format.fixedDecimals(average, 2),
    capacity: capacity ?? t("core.unknown"),
  });
}

function firstShown(operators: readonly PipelineOp[], bottleneck: number | null): PipelineOp | undefined {
  const worst = operators.find((op) => op.op_id === bottleneck && op.usage !== null);
  return worst ?? operators.find((op) => op.usage !== null);
}

/** The step gap by batch: queue sizes, and the time to get and push a batch. */
export function BatchesCard({ table }: { table: TableJson }) {
  const isCut = table.rows < table.total;
  const cut = t("data.batches.cut", { rows: format.integer(table.rows), total: format.integer(table.total) });
  return (
    <Card title={t("data.batches")} subtitle={isCut ? cut : t("data.batches.sub")}>
      {queueSeries(table).map((series) => (
        <SeriesFigure key={series.queue} series={series} />
      ))}
      <DataTable table={table} />
    </Card>
  );
}

function SeriesFigure({ series }: { series: QueueSeries }) {
  const costs = (["get", "push", "total"] as const).filter((key) => series[key] !== null);
  const isKnown = series.average !== null;
  const texts = costs.map((key) => t(`data.cost.${key}`, { time: format.duration(series[key]) }));
  const text = [isKnown ? averageText(series) : "", ...texts].join(" · ");
  return (
    <QueueFigure title={t(`data.queue.${series.queue}` as Key)} text={text}>
      {isKnown && series.size.length > 1 && (
        <Samples
          label={t("data.queue.by.batch")}
          at={series.batch}
          unit="batch"
          sizes={series.size}
          top={series.capacity}
          average={series.average}
        />
      )}
    </QueueFigure>
  );
}

/** State of one queue at each batch. */
interface QueueSeries {
  queue: string;
  batch: Figures;
  size: Figures;
  capacity: number | null;
  /** Means in entries and ns; null if unknown. */
  average: number | null;
  get: number | null;
  push: number | null;
  total: number | null;
}

/** The queues in the table "batches", host first. */
export function queueSeries(table: TableJson): QueueSeries[] {
  const names = (table.data.queue ?? []) as (string | null)[];
  const batches = (table.data.batch ?? []) as Figures;
  return ["host", "device"].flatMap((queue) => {
    const rows = names
      .map((name, row) => (name === queue ? row : -1))
      .filter((row) => row >= 0)
      .sort((a, b) => (batches[a] ?? 0) - (batches[b] ?? 0));
    if (rows.length === 0) return [];
    const column = (key: string) => rows.map((row) => ((table.data[key] ?? []) as Figures)[row] ?? null);
    const size = column("size");
    return [
      {
        queue,
        batch: column("batch"),
        size,
        capacity: column("capacity").find((value) => value !== null) ?? null,
        average: meanOf(size),
        get: meanOf(column("get_ns")),
        push: meanOf(column("push_ns")),
        total: meanOf(column("total_ns")),
      },
    ];
  });
}

function meanOf(values: Figures): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

interface SamplesProps {
  label: string;
  /** ns since the first sample, or batch numbers, ascending. */
  at: Figures;
  unit?: "time" | "batch";
  sizes: Figures;
  /** Capacity of the queue, if known. */
  top: number | null;
  average: number | null;
}

const HEIGHT = 120;
const LEFT = 40;
const BOTTOM = HEIGHT - 20;

/** Entries of a queue over time, with average and capacity. */
function Samples({ label, at, unit = "time", sizes, top, average }: SamplesProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const times = at.map((time, index) => time ?? index);
  const most = Math.max(top ?? 0, 1, ...sizes.map((size) => size ?? 0));
  const last = times[times.length - 1] ?? 1;
  const x = linear(times[0] ?? 0, last, LEFT, Math.max(LEFT + 10, width - 8));
  const y = linear(0, most, BOTTOM, 8);
  return (
    <div ref={box} class="chart data-chart" style={{ height: `${HEIGHT}px` }} role="img" aria-label={label}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <line x1={LEFT} x2={width - 8} y1={BOTTOM} y2={BOTTOM} />
          <line x1={LEFT} x2={width - 8} y1={y.pixel(most)} y2={y.pixel(most)} />
          <text x={LEFT - 6} y={BOTTOM + 4} text-anchor="end">
            0
          </text>
          <text x={LEFT - 6} y={y.pixel(most) + 4} text-anchor="end">
            {format.integer(most)}
          </text>
          <text x={width - 8} y={HEIGHT - 4} text-anchor="end">
            {lastText(at, unit)}
          </text>
          {average !== null && (
            <line class="average" x1={LEFT} x2={width - 8} y1={y.pixel(average)} y2={y.pixel(average)} />
          )}
          <path d={stepPath(times, sizes, x, y)} />
        </svg>
      )}
    </div>
  );
}

/** Label of the axis end: a batch, a time, or the number of samples if no time is known. */
function lastText(at: SamplesProps["at"], unit: "time" | "batch"): string {
  const last = at[at.length - 1];
  if (unit === "batch") return t("data.batch", { number: format.integer(last ?? at.length) });
  return last == null ? format.integer(at.length) : format.duration(last);
}
