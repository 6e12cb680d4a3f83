import type { ComponentChildren } from "preact";
import type { OperatorJson, TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { useMedia } from "../../base/use_media";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { STEP, WITHIN } from "../../state/period";
import {
  type Answered,
  Card,
  DataTable,
  Donut,
  formatPick,
  PickChips,
  parsePick,
  partsCsv,
  pickFilters,
  pickWhere,
  type Row,
  Segments,
  Select,
  spanView,
  TableCard,
} from "../../widgets";
import css from "./operator.css?inline";
import { METRICS, type Metric, operatorParts } from "./parts";
import { Stacks } from "./stacks";

const GROUPS = ["by_name", "by_shape", "api_statistic"] as const;
type Group = (typeof GROUPS)[number];
const DEVICE = ["device_self_ns", "device_total_ns"];
const HOST = ["host_self_ns", "host_total_ns"];
const TIMES = [...DEVICE, ...HOST, "aicore_self_share", "aicore_total_share", "stacks"];

/** Host and device time by operator, with the call stacks of each. */
export const view = spanView("operator", Operators, { css, obeys: [STEP, WITHIN], ofRange: "range.operators" });

function Operators({ data, answer: { tables } }: Answered<OperatorJson>) {
  const groups = GROUPS.filter((id) => tables[id] !== undefined);
  const group = groups.find((id) => id === param("operator.tab")) ?? groups[0] ?? "by_name";
  const table = tables[group];
  const choice = <GroupChoice groups={groups} group={group} />;
  if (table && group === "api_statistic") return <ApiTable table={table} choice={choice} />;
  return (
    <div class="grid">
      {tables.by_name && <OperatorCharts data={data} table={tables.by_name} />}
      {table && <OperatorTable key={group} group={group} table={table} data={data} choice={choice} />}
    </div>
  );
}

/** The grouping of the rows. */
function GroupChoice({ groups, group }: { groups: readonly Group[]; group: Group }) {
  return (
    <Segments
      label={t("operator.group")}
      options={groups.map((id) => ({ id, label: t(`operator.group.${id}`) }))}
      value={group}
      onChange={(id) => setParams({ "operator.tab": id === groups[0] ? null : id })}
    />
  );
}

/** CANN calls on the host, as summed by the profiler. */
function ApiTable({ table, choice }: Pick<Props, "table" | "choice">) {
  return (
    <TableCard
      table={table}
      columns={["name", "level", "calls", "total_ns", "avg_ns", "min_ns", "max_ns"]}
      yields={["min_ns", "max_ns", "bar", "avg_ns"]}
      compared={[["avg_ns", "min_ns", "max_ns"]]}
      bar={{ column: "total_ns" }}
      tools={choice}
    />
  );
}

interface Props {
  group: Group;
  table: TableJson;
  data: OperatorJson;
  choice: ComponentChildren;
}

function OperatorTable({ group, table, data, choice }: Props) {
  const pick = parsePick(param("operator.pick"));
  const filters = pickFilters(table, pick, () => setParams({ "operator.pick": null }));
  const isShape = group === "by_shape";
  const isDevice = (data.device_self_ns ?? 0) > 0;
  return (
    <Card>
      <DataTable
        table={table}
        columns={["name", ...(isShape ? ["input_shapes"] : []), "calls", ...TIMES]}
        yields={["aicore_total_share", "aicore_self_share", "bar", "host_total_ns", "device_total_ns"]}
        compared={[DEVICE, HOST]}
        bar={{
          column: isDevice ? "device_self_ns" : "host_self_ns",
          isApart: (row) => param("operator.comm") !== "1" && row.get("communication") === 1,
        }}
        where={pickWhere(table, pick)}
        filters={filters}
        cell={{ stacks: stackCell }}
        details={(row) => (
          <Stacks
            name={String(row.get("name") ?? "")}
            shapes={isShape ? row.get("input_shapes") : undefined}
            hasStacks={data.has_stacks}
          />
        )}
        tools={choice}
        moreTools={
          <>
            <ChartChoice />
            <PickChips filters={filters} />
          </>
        }
      />
      <p class="muted small" style={{ marginTop: "8px" }}>
        {t(data.source.startsWith("trace_view") ? "operator.source.trace" : "operator.source", { file: data.source })}
      </p>
    </Card>
  );
}

function stackCell(row: Row) {
  const count = Number(row.get("stacks") ?? 0);
  if (count === 0) return <span class="muted">{t("operator.stacks.none")}</span>;
  return <span class="link">▾ {t("operator.stacks", { count })}</span>;
}

const CHARTS = ["self", "total", "all"] as const;
const WIDE = "(min-width: 1900px)";
const TOPS = [3, 4, 5, 6, 7];
const TOP = 5;

/** The shown donuts: all four on a wide page, else those of self time. */
function useCharts(): { charts: string; metrics: readonly Metric[]; isWide: boolean } {
  const isWide = useMedia(WIDE);
  const charts = CHARTS.find((id) => id === param("operator.charts")) ?? (isWide ? "all" : "self");
  return { charts, isWide, metrics: METRICS.filter((metric) => charts === "all" || metric.endsWith(charts)) };
}

/** Two or four donuts of the same operators. A click on a part filters the table below. */
function OperatorCharts({ data, table }: { data: OperatorJson; table: TableJson }) {
  const { metrics, isWide } = useCharts();
  const hasCommunication = param("operator.comm") === "1";
  const top = Number(param("operator.top")) || TOP;
  const pick = parsePick(param("operator.pick"));
  const width = isWide && metrics.length === 4 ? "span-3" : "span-6";
  return (
    <>
      {metrics.map((metric, index) => {
        const { parts, calls, unlisted } = operatorParts(table, data, metric, hasCommunication);
        return (
          <Card
            key={metric}
            class={width}
            title={t(`operator.${metric}`)}
            help={t(`operator.${metric}.help`)}
            actions={
              index === 0 ? (
                <Choices
                  hasCommunication={hasCommunication}
                  top={top}
                  canCommunicate={(data.communication_self_ns ?? 0) > 0}
                />
              ) : (
                <span class="muted">{t(hasCommunication ? "operator.comm.included" : "operator.comm.apart")}</span>
              )
            }
            chart={{ name: `operators-${metric.replace("_", "-")}`, csv: () => partsCsv("name", parts, unlisted) }}
          >
            <Donut
              parts={parts}
              unlisted={unlisted}
              none={metric.startsWith("device") ? t("operator.none.device") : undefined}
              most={top}
              under={t("operator.calls", { count: format.integer(calls) })}
              selected={pick?.column === "name" ? pick.value : null}
              onSelect={(id) => setParams({ "operator.pick": formatPick("name", id) })}
            />
          </Card>
        );
      })}
    </>
  );
}

interface ChoiceProps {
  hasCommunication: boolean;
  canCommunicate: boolean;
  top: number;
}

function Choices({ hasCommunication, canCommunicate, top }: ChoiceProps) {
  return (
    <>
      {canCommunicate && (
        <Select
          label={t("operator.comm.label")}
          class="plain"
          options={(["apart", "included"] as const).map((id) => ({ id, label: t(`operator.comm.${id}`) }))}
          value={hasCommunication ? "included" : "apart"}
          onChange={(id) => setParams({ "operator.comm": id === "included" ? "1" : null })}
        />
      )}
      <Select
        label={t("operator.top.label")}
        class="plain"
        options={TOPS.map((count) => ({ id: String(count), label: t("operator.top", { count }) }))}
        value={String(top)}
        onChange={(id) => setParams({ "operator.top": id === String(TOP) ? null : id })}
      />
    </>
  );
}

/** The self/total switch. */
function ChartChoice() {
  const { charts } = useCharts();
  return (
    <Select
      label={t("operator.charts")}
      prefix
      options={CHARTS.map((id) => ({ id, label: t(`operator.charts.${id}`) }))}
      value={charts}
      onChange={(id) => setParams({ "operator.charts": id })}
    />
  );
}
