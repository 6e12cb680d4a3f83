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
  type Unfold,
  ViewSource,
} from "../../widgets";
import { callsOf, communicationCores, kindLabel, pickOfCalls } from "./parts";

const TABS = ["statistic", "types", "all", "task_time", "communication_statistic", "fusion_op"] as const;
type Tab = (typeof TABS)[number];

interface Shown {
  /** The column of the bars. */
  bar: string;
  /** The initial columns; the column menu has the others. */
  columns: string;
  /** Which of them give way where there is no room, the first of them first. */
  yields?: string;
}

const COLUMNS: Readonly<Record<Tab, Shown>> = {
  statistic: {
    bar: "share",
    columns:
      "name group core meaning calls total_ns share bound avg_ns min_ns max_ns flops flops_rate utilisation input_shapes",
    yields: "input_shapes utilisation flops_rate flops min_ns max_ns bar meaning core avg_ns bound group",
  },
  types: {
    bar: "ratio",
    columns: "type core calls total_ns ratio bound avg_ns min_ns max_ns",
    yields: "min_ns max_ns bar avg_ns bound core",
  },
  all: {
    bar: "dur_ns",
    columns:
      "name type core start_ns dur_ns wait_ns bound block_dim stream_id l2_hit_rate l2_victim_rate input_shapes input_types",
    yields: "input_types l2_victim_rate l2_hit_rate bar stream_id block_dim core bound type wait_ns input_shapes",
  },
  task_time: { bar: "dur_ns", columns: "name type stream_id task_id start_ns dur_ns" },
  communication_statistic: { bar: "ratio", columns: "type calls total_ns ratio avg_ns min_ns max_ns" },
  fusion_op: {
    bar: "total_bytes",
    columns: "name original model input_bytes output_bytes weight_bytes workspace_bytes total_bytes",
    yields: "bar workspace_bytes weight_bytes output_bytes input_bytes model",
  },
};

/** What the rows of a tab unfold to, if the single kernels are known. */
const UNFOLDS: Partial<Readonly<Record<Tab, Unfold>>> = {
  types: { table: "kernel.kinds_of_types", keys: ["type", "core"], label: (row) => kindLabel(row, "name") },
  statistic: {
    table: "kernel.kinds_of_names",
    keys: ["name", "group", "core", "meaning"],
    label: (row) => kindLabel(row, "call"),
  },
};

/** The value chosen by a click on a chart or row, and the row's core. */
const PICKS = ["kernel.pick", "kernel.core", "kernel.group"] as const;

/** The kernels by name, by type and core, and one by one. */
export function KernelTables({ data, tables }: { data: KernelJson; tables: Readonly<Record<string, TableJson>> }) {
  const tabs = TABS.filter((id) => tables[id] !== undefined);
  const tab = tabs.find((id) => id === param("kernel.tab")) ?? tabs[0] ?? "statistic";
  const table = tables[tab];
  if (!table) return null;
  const { bar, columns, yields } = COLUMNS[tab];
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
        yields={yields?.split(" ") ?? []}
        unfold={data.communication_calls === null ? null : UNFOLDS[tab]}
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
          <KernelDetails table={row.below ?? table} row={row} hasCalls={tab !== "all" && tables.all !== undefined} />
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
