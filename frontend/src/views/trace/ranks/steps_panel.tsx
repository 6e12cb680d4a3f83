/** The steps of two runs, each rank with the same rank of the other run. */

import { useMemo } from "preact/hooks";
import type { PARTS, TableJson } from "../../../api/types.gen";
import { t, tOf } from "../../../i18n";
import { DataTable, pageColumn, pageTable } from "../../../widgets";
import { partTitle } from "../../../widgets/parts";
import type { TraceSession } from "../session";
import { CsvLink } from "../slice_list";
import type { RanksState } from "./ranks_state";
import { changeOf, placeOf, stepTime } from "./step_differences";

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
        return <span class={change === "muted" ? "" : `trace-${change}`}>{difference > 0 ? `+${text}` : text}</span>;
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
        query={{}}
        baseNs="0"
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
  const parts = data.value?.parts ?? [];
  const shown = parts
    .map((id, at) => ({ id, at }))
    .filter(({ at }) => pairs.some(({ own, other }) => (own.times[at] ?? 0) + (other.times[at] ?? 0) > 0));
  const titleOf = (id: string) => partTitle("budget", id as keyof (typeof PARTS)["budget"]);
  return pageTable(
    "trace.steps",
    [
      pageColumn("number", "int", ""),
      pageColumn("rank", "text", t("trace.versus.column.rank")),
      pageColumn("step", "text", tOf(period, "step.label")),
      pageColumn("own", "duration", t("trace.versus.column.own")),
      pageColumn("other", "duration", t("trace.versus.column.other")),
      pageColumn("difference", "duration", t("trace.versus.column.difference")),
      ...shown.map(({ id }) => pageColumn(`difference_${id}`, "duration", titleOf(id))),
    ],
    {
      number: pairs.map((_, at) => at + 1),
      rank: pairs.map(({ line }) => (line.rank === null ? line.worker : `rank ${line.rank}`)),
      step: pairs.map(({ own, other }) => (own.step === other.step ? own.step : `${own.step} / ${other.step}`)),
      own: pairs.map(({ own }) => stepTime(own)),
      other: pairs.map(({ other }) => stepTime(other)),
      difference: pairs.map(({ own, other }) => stepTime(other) - stepTime(own)),
      ...Object.fromEntries(
        shown.map(({ id, at }) => [
          `difference_${id}`,
          pairs.map(({ own, other }) => (other.times[at] ?? 0) - (own.times[at] ?? 0)),
        ]),
      ),
    },
    pairs.length,
  );
}
