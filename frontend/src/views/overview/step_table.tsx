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
        <DataTable table={table} compared={[times]} isLocal />
      </div>
    </Card>
  );
}

function stepTable(steps: readonly StepJson[], period: Period): TableJson {
  const time = (key: Exclude<keyof StepJson, "waiting_for">, title: string, doc = "") =>
    [pageColumn(key, "duration", title, doc), (step: StepJson) => step[key]] as const;
  const all = pageTable("overview.steps", steps, [
    [pageColumn("step", "text", tOf(period, "step.label")), ({ step }) => step],
    [pageColumn("device_id", "int", t("overview.col.device")), (step) => step.device_id],
    [pageColumn("step_time", "duration", tOf(period, "step.time"), tOf(period, "overview.steps.help")), stepTotal],
    time("computing", t("step.computing"), t("step.computing.help")),
    time("overlapped", partTitle("budget", "overlapped"), t("budget.overlapped.help")),
    time("communication_not_overlapped", partTitle("budget", "communication"), t("budget.communication.help")),
    time("exposed_waiting", partTitle("budget", "waiting"), t("overview.waiting.help")),
    time("communication", t("step.communication"), t("step.communication.help")),
    time("copying", partTitle("budget", "copying"), t("budget.copying.help")),
    time("free", partTitle("budget", "free"), t("budget.free.help")),
    time("bubble", partTitle("budget", "bubble"), t("budget.bubble.help")),
    time("preparing", t("step.preparing"), t("step.preparing.help")),
    time("stage", t("overview.col.stage")),
  ]);
  const isThere = (key: string, value: unknown) => value !== null && !(key === "bubble" && value === 0);
  const isKnown = ({ key }: ColumnJson) => key === "step" || all.data[key]?.some((value) => isThere(key, value));
  return { ...all, columns: all.columns.filter(isKnown) };
}
