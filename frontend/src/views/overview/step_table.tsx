import type { ColumnJson, StepJson, TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Period, t, tOf } from "../../i18n";
import { openView } from "../../state/selection";
import { Card, DataTable, pageColumn, pageTable, stepTotal, TextButton } from "../../widgets";
import { partTitle } from "../../widgets/parts";

interface Props {
  steps: readonly StepJson[];
  /** Number of steps of the capture; `steps` are its first, and the linked one. */
  count: number;
  isComputed: boolean;
  period: Period;
}

/** The recorded or computed figures of the steps as a table. */
export function StepTable({ steps, count, isComputed, period }: Props) {
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
        <DataTable table={table} query={{}} baseNs="0" compared={[times]} isLocal />
      </div>
    </Card>
  );
}

function stepTable(steps: readonly StepJson[], period: Period): TableJson {
  const columns: ColumnJson[] = [
    pageColumn("step", "text", tOf(period, "step.label")),
    pageColumn("device_id", "int", t("overview.col.device")),
    column("step_time", tOf(period, "step.time"), tOf(period, "overview.steps.help")),
    column("computing", t("step.computing"), t("step.computing.help")),
    column("overlapped", partTitle("budget", "overlapped"), t("budget.overlapped.help")),
    column("communication_not_overlapped", partTitle("budget", "communication"), t("budget.communication.help")),
    column("exposed_waiting", partTitle("budget", "waiting"), t("overview.waiting.help")),
    column("communication", t("step.communication"), t("step.communication.help")),
    column("copying", partTitle("budget", "copying"), t("budget.copying.help")),
    column("free", partTitle("budget", "free"), t("budget.free.help")),
    column("bubble", partTitle("budget", "bubble"), t("budget.bubble.help")),
    column("preparing", t("step.preparing"), t("step.preparing.help")),
    column("stage", t("overview.col.stage")),
  ];
  const data: TableJson["data"] = { step_time: steps.map(stepTotal) };
  for (const { key } of columns) data[key] ??= steps.map((step) => step[key as Exclude<keyof StepJson, "waiting_for">]);
  const isThere = (key: string, value: unknown) => value !== null && !(key === "bubble" && value === 0);
  const known = columns.filter(({ key }) => key === "step" || data[key]?.some((value) => isThere(key, value)));
  return pageTable("overview.steps", known, data, steps.length);
}

function column(key: string, title: string, doc = ""): ColumnJson {
  return pageColumn(key, "duration", title, doc);
}
