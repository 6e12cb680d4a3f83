/** The steps of two runs, each rank with the same rank of the other run. */

import { useMemo } from "preact/hooks";
import type { PARTS, TableJson } from "../../../api/types.gen";
import { t, tOf } from "../../../i18n";
import { DataTable, pageColumn, pageTable } from "../../../widgets";
import { partTitle } from "../../../widgets/parts";
import type { TraceSession } from "../session";
import { CsvLink } from "../slice_list";
import type { RanksState } from "./ranks_state";
import { changeOf, placeOf, type StepPair, stepTime } from "./step_differences";

export function StepsPanel({ session }: { session: TraceSession }) {
  const { ranks } = session;
  const pairs = ranks.steps.value;
  const table = useMemo(() => tableOf(ranks), [pairs]);
  const coloured = table.columns.flatMap(({ key }) => (isDifference(key) ? [key] : []));
  const cell = Object.fromEntries(
    coloured.map((key) => [
      key,
      (row: { get: (key: string) => unknown }, text: string) => {
        const difference = Number(row.get(key));
        const change = changeOf(0, difference, Number(row.get("own")));
        return <span class={change === "muted" ? "" : change}>{difference > 0 ? `+${text}` : text}</span>;
      },
    ]),
  );
  return (
    <div>
      <div class="trace-title wraps">
        <span class="muted">{tOf(ranks.period, "trace.versus.about", { run: ranks.otherRun.value?.label ?? "" })}</span>
        <div class="trace-actions">
          <CsvLink table={table} name="steps" />
        </div>
      </div>
      <DataTable
        table={table}
        hasTools={false}
        name={tOf(ranks.period, "trace.panel.steps")}
        compared={[["own", "other", ...coloured]]}
        cell={cell}
        onOpen={(row) => {
          const found = pairs[Number(row.get("number")) - 1];
          if (found) session.engine?.goTo(placeOf(session, found), MARGIN);
        }}
        columns={table.columns.flatMap(({ key }) => (key === "number" ? [] : [key]))}
      />
    </div>
  );
}

/** Margin beside the step that is shown, as a share. */
const MARGIN = 0.05;

const isDifference = (key: string): boolean => key.startsWith("difference");

function tableOf({ steps, data, period }: RanksState): TableJson {
  const pairs = steps.value;
  const titleOf = (id: string) => partTitle("budget", id as keyof (typeof PARTS)["budget"]);
  const parts = (data.value?.parts ?? []).flatMap((id, part) => {
    if (!pairs.some(({ own, other }) => (own.times[part] ?? 0) + (other.times[part] ?? 0) > 0)) return [];
    const column = pageColumn(`difference_${id}`, "duration", titleOf(id));
    return [[column, ({ own, other }: StepPair) => (other.times[part] ?? 0) - (own.times[part] ?? 0)] as const];
  });
  return pageTable("trace.steps", pairs, [
    [pageColumn("number", "int", ""), (_, at) => at + 1],
    [
      pageColumn("rank", "text", t("trace.versus.column.rank")),
      ({ line }) => (line.rank === null ? line.worker : `rank ${line.rank}`),
    ],
    [
      pageColumn("step", "text", tOf(period, "step.label")),
      ({ own, other }) => (own.step === other.step ? own.step : `${own.step} / ${other.step}`),
    ],
    [pageColumn("own", "duration", t("trace.versus.column.own")), ({ own }) => stepTime(own)],
    [pageColumn("other", "duration", t("trace.versus.column.other")), ({ other }) => stepTime(other)],
    [
      pageColumn("difference", "duration", t("trace.versus.column.difference")),
      ({ own, other }) => stepTime(other) - stepTime(own),
    ],
    ...parts,
  ]);
}
