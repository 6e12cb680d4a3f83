import { useContext } from "preact/hooks";
import type { KernelJson, TableJson } from "../../api/types.gen";
import { coreColor } from "../../base/color";
import { integer } from "../../base/format";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { openSlice } from "../../state/selection";
import {
  Card,
  DataTable,
  meaningName,
  PickChips,
  parsePick,
  pickFilters,
  pickWhere,
  type Row,
  RowFacts,
  Segments,
  TextButton,
  ViewSource,
} from "../../widgets";
import { callsOf, communicationCores, pickOfCalls } from "./parts";

const TABS = ["statistic", "types", "all", "task_time", "communication_statistic", "fusion_op"] as const;
type Tab = (typeof TABS)[number];

/** The column of the bars and the initial columns of each tab; the column menu has the others. */
const COLUMNS: Readonly<Record<Tab, readonly [bar: string, columns: string]>> = {
  statistic: [
    "share",
    "name group core meaning calls total_ns share bound avg_ns min_ns max_ns flops flops_rate utilisation input_shapes",
  ],
  types: ["ratio", "type core calls total_ns ratio bound avg_ns min_ns max_ns"],
  all: [
    "dur_ns",
    "name type core start_ns dur_ns wait_ns bound block_dim stream_id l2_hit_rate l2_victim_rate input_shapes input_types",
  ],
  task_time: ["dur_ns", "name type stream_id task_id start_ns dur_ns"],
  communication_statistic: ["ratio", "type calls total_ns ratio avg_ns min_ns max_ns"],
  fusion_op: ["total_bytes", "name original model input_bytes output_bytes weight_bytes workspace_bytes total_bytes"],
};

/** The value chosen by a click on a chart or row, and the row's core. */
const PICKS = ["kernel.pick", "kernel.core", "kernel.group"] as const;

/** The kernels by name, by type and core, and one by one. */
export function KernelTables({ data, tables }: { data: KernelJson; tables: Readonly<Record<string, TableJson>> }) {
  const tabs = TABS.filter((id) => tables[id] !== undefined);
  const tab = tabs.find((id) => id === param("kernel.tab")) ?? tabs[0] ?? "statistic";
  const table = tables[tab];
  if (!table) return null;
  const [bar, columns] = COLUMNS[tab];
  const picks = PICKS.map((name) => ({ name, pick: pickOfCalls(table, parsePick(param(name))) }));
  const filters = picks.flatMap(({ name, pick }) => pickFilters(table, pick, () => setParams({ [name]: null })));
  const apart = param("kernel.comm") === "1" ? new Set() : communicationCores(data.cores);
  return (
    <Card>
      <DataTable
        key={tab}
        name={t(`kernel.tab.${tab}`)}
        table={table}
        columns={columns.split(" ")}
        compared={[["avg_ns", "min_ns", "max_ns"]]}
        bar={{
          column: bar,
          color: (row) => coreColor(row.get("core") as string | null),
          isApart: (row) => apart.has(row.get("core") as string | null) || row.get("communication") === 1,
        }}
        cell={{ meaning: (row, text) => (row.get("meaning") === null ? text : meaningName(text)) }}
        where={picks.flatMap(({ pick }) => pickWhere(table, pick))}
        filters={filters}
        details={(row) => (
          <KernelDetails table={table} row={row} hasCalls={tab !== "all" && tables.all !== undefined} />
        )}
        tools={
          <Segments
            label={t("kernel.tab")}
            options={tabs.map((id) => ({
              id,
              label: t(id === "types" && data.device_kind === "GPU" ? "kernel.tab.types.gpu" : `kernel.tab.${id}`),
              tip: t(`kernel.tab.${id}.tip`, { source: id === "types" ? data.types_source : data.source }),
            }))}
            value={tab}
            onChange={(id) => setParams({ "kernel.tab": id === tabs[0] ? null : id })}
          />
        }
        moreTools={<PickChips filters={filters} />}
      />
    </Card>
  );
}

interface DetailsProps {
  table: TableJson;
  row: Row;
  /** True if the row sums up several kernels that are also listed one by one. */
  hasCalls: boolean;
}

function KernelDetails({ table, row, hasCalls }: DetailsProps) {
  const { baseNs } = useContext(ViewSource);
  const name = row.get("name");
  const calls = row.get("calls");
  return (
    <RowFacts table={table} row={row}>
      {hasCalls && typeof calls === "number" && (
        <TextButton tip={t("kernel.calls.tip")} onClick={() => setParams({ "kernel.tab": "all", ...callsOf(row) })}>
          {t("kernel.calls", { count: integer(calls) })} →
        </TextButton>
      )}
      {typeof name === "string" && (
        <TextButton onClick={() => openSlice(name, baseNs, row.get("start_ns"), row.get("dur_ns"))}>
          {t("kernel.trace")} →
        </TextButton>
      )}
    </RowFacts>
  );
}
