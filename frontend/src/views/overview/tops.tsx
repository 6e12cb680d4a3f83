import type { ColumnJson, OverviewJson, StepJson, TableJson } from "../../api/types.gen";
import { coreColor } from "../../base/color";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { openView } from "../../state/selection";
import { Card, DataTable, pageTable, type Row, stepTotal, TableCard, TextButton } from "../../widgets";
import { partTitle } from "../../widgets/parts";
import { formatState, parseState } from "../../widgets/table/state";

const SINGLE_TIMES = ["avg_ns", "min_ns", "max_ns"];

/** The kernels with the most device time; a click shows that type in the Kernel view. */
export function TopKernels({ table, rank }: { table: TableJson; rank: string }) {
  return (
    <TableCard
      title={t("overview.kernels")}
      subtitle={withRank(t("overview.kernels.sub"), rank)}
      actions={<OpenLink view="kernel" />}
      table={table}
      hasTools={false}
      columns={[
        hasTypes(table) ? "type" : "name",
        ...(hasValues(table, "core") ? ["core"] : []), // level 0 records none
        ...["calls", "total_ns", "share", "ratio"],
        ...SINGLE_TIMES,
      ]}
      yields={["min_ns", "max_ns", "bar", "avg_ns", "core"]}
      compared={[SINGLE_TIMES]}
      bar={{ column: table.columns.some((column) => column.key === "share") ? "share" : "ratio", color: coreOf }}
      onOpen={(row) =>
        hasTypes(table)
          ? openFiltered("kernel", "kernel.types", row.get("type"), "types")
          : openFiltered("kernel", "kernel.statistic", row.get("name"))
      }
    />
  );
}

/** False if the capture only has names of kernels. */
function hasTypes(table: TableJson): boolean {
  return hasValues(table, "type");
}

function hasValues(table: TableJson, column: string): boolean {
  return table.data[column]?.some((value) => value !== null) ?? false;
}

const coreOf = (row: Row) => coreColor(row.get("core") as string | null);

const DEVICE_TIMES = ["device_self_ns", "device_total_ns"];
const HOST_TIMES = ["host_self_ns", "host_total_ns"];

/** The operators with the most device time, else host time; a click shows the operator in its view. */
export function TopOperators({ table, rank }: { table: TableJson; rank: string }) {
  const isDevice = table.sort !== "host_self_ns"; // else nothing ran on a device
  const subtitle = withRank(t(isDevice ? "overview.operators.sub" : "overview.operators.sub.host"), rank);
  return (
    <TableCard
      title={t("overview.operators")}
      subtitle={subtitle}
      actions={<OpenLink view="operator" />}
      table={table}
      hasTools={false}
      columns={["name", "calls", ...(isDevice ? DEVICE_TIMES : []), ...HOST_TIMES]}
      yields={["bar", "host_total_ns", "device_total_ns", "host_self_ns"]}
      compared={[DEVICE_TIMES, HOST_TIMES]}
      bar={{ column: table.sort || "device_self_ns", isApart: (row) => row.get("communication") === 1 }}
      onOpen={(row) => openFiltered("operator", "operator.by_name", row.get("name"))}
    />
  );
}

/** A subtitle with the rank, "" for the only one. */
function withRank(text: string, rank: string): string {
  return [text, rank].filter(Boolean).join(" · ");
}

function OpenLink({ view }: { view: "kernel" | "operator" }) {
  return <TextButton onClick={() => openView(view)}>{t("overview.open")}</TextButton>;
}

function openFiltered(view: "kernel" | "operator", table: string, name: unknown, tab: string | null = null): void {
  const filter = formatState({ ...parseState(""), filter: String(name ?? "") });
  openView(view, { [`t.${table}`]: filter, [`${view}.tab`]: tab });
}

interface Props {
  /** Its steps are the first of the capture, and the linked one. */
  data: OverviewJson;
}

/** The recorded or computed figures of the steps as a table. */
export function StepTable({ data: { steps, step_count: count, steps_computed: isComputed, period } }: Props) {
  const table = stepTable(steps, period);
  const times = table.columns.filter((column) => column.kind === "duration").map((column) => column.key);
  return (
    <Card
      title={tOf(period, "overview.numbers")}
      subtitle={t(isComputed ? "overview.numbers.computed" : "overview.numbers.sub")}
      actions={
        steps.length < count && (
          <TextButton onClick={() => openView("step_trace")}>
            {tOf(period, "overview.numbers.first", {
              shown: format.integer(steps.length),
              count: format.integer(count),
            })}
          </TextButton>
        )
      }
    >
      <div class="overview-steps">
        <DataTable table={table} compared={[times]} isLocal />
      </div>
    </Card>
  );
}

function stepTable(steps: readonly StepJson[], period: Period): TableJson {
  const all = pageTable("overview.steps", steps, [
    ["step", "text", tOf(period, "step.label")],
    ["device_id", "int", t("overview.col.device")],
    ["step_time", "duration", tOf(period, "step.time"), tOf(period, "overview.steps.help"), stepTotal],
    ["computing", "duration", t("step.computing"), t("step.computing.help")],
    ["overlapped", "duration", partTitle("budget", "overlapped"), t("budget.overlapped.help")],
    ["communication_not_overlapped", "duration", partTitle("budget", "communication"), t("budget.communication.help")],
    ["exposed_waiting", "duration", partTitle("budget", "waiting"), t("overview.waiting.help")],
    ["communication", "duration", t("step.communication"), t("step.communication.help")],
    ["copying", "duration", partTitle("budget", "copying"), t("budget.copying.help")],
    ["free", "duration", partTitle("budget", "free"), t("budget.free.help")],
    ["bubble", "duration", partTitle("budget", "bubble"), t("budget.bubble.help")],
    ["preparing", "duration", t("step.preparing"), t("step.preparing.help")],
    ["stage", "duration", t("overview.col.stage")],
  ]);
  const isThere = (key: string, value: unknown) => value !== null && !(key === "bubble" && value === 0);
  const isKnown = ({ key }: ColumnJson) => key === "step" || all.data[key]?.some((value) => isThere(key, value));
  return { ...all, columns: all.columns.filter(isKnown) };
}
