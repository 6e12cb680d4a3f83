import type { ComponentChildren } from "preact";
import type { OperatorJson, TableJson } from "../../api/types.gen";
import { addStyle } from "../../base/style";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { useAccepted, useView } from "../../state/use_view";
import {
  Card,
  DataTable,
  PickChips,
  parsePick,
  pickFilters,
  pickWhere,
  type Row,
  Segments,
  ViewFrame,
  WITHIN,
} from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import { ChartChoice, OperatorCharts } from "./charts";
import css from "./operator.css?inline";
import { Stacks } from "./stacks";

addStyle(css);

const GROUPS = ["by_name", "by_shape", "api_statistic"] as const;
type Group = (typeof GROUPS)[number];
const TIMES = [
  "device_self_ns",
  "device_total_ns",
  "host_self_ns",
  "host_total_ns",
  "aicore_self_share",
  "aicore_total_share",
  "stacks",
];
const COMPARED = [
  ["device_self_ns", "device_total_ns"],
  ["host_self_ns", "host_total_ns"],
];

/** Host and device time by operator, with the call stacks of each. */
function OperatorView({ selection }: ViewProps) {
  const view = useView<OperatorJson>("operator", { span: selection.span, within: param(WITHIN) });
  useAccepted(view, WITHIN);
  return (
    <ViewFrame view={view} ofRange={t("range.operators")}>
      {(data, { tables }) => {
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
      }}
    </ViewFrame>
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
    <Card>
      <DataTable
        table={table}
        columns={["name", "level", "calls", "total_ns", "avg_ns", "min_ns", "max_ns"]}
        compared={[["avg_ns", "min_ns", "max_ns"]]}
        bar={{ column: "total_ns" }}
        tools={choice}
      />
    </Card>
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
        compared={COMPARED}
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

export const view: ViewModule = { Component: OperatorView };
