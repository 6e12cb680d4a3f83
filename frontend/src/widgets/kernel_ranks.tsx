import type { KernelRanksJson, TableJson } from "../api/types.gen";
import * as format from "../base/format";
import { t, textOf } from "../i18n";
import { param, setParams } from "../state/params";
import { freshJobs } from "../state/progress";
import { isActive } from "../state/reading";
import { useView } from "../state/use_view";
import { Card } from "./card";
import { RunProgress } from "./progress";
import { Select } from "./select";
import { Empty } from "./states";
import type { Row } from "./table/columnar";
import { DataTable } from "./table/data_table";
import { ViewSource } from "./table/props";

/** The chosen rank, by the token of its span. */
const OF = "ranks.of";
const COLUMNS = ["type", "other_ns", "ns", "factor", "excess_ns"];
const YIELDS = ["excess_ns"];
/** Ratios from here on stand out. */
const SLOWER = 1.05;
const SHAPES = {
  table: "kernel_ranks.shapes",
  keys: ["type"],
  label: (row: Row) => String(row.get("input_shapes") ?? "–"),
};

interface Props {
  run: string;
  span: string;
  /** The user asked for it: says so where there is nothing to compare. */
  isAsked?: boolean;
}

/** Kernel by rank: one rank of a run by the median of the others, and what the ratios mean. */
export function KernelRanks({ run, span, isAsked = false }: Props) {
  const { answer, data, query } = useView<KernelRanksJson>("kernel_ranks", { run, span, of: param(OF) || undefined });
  const table = answer?.tables.types;
  if (!answer || !data?.of || !table) {
    const jobs = freshJobs(answer?.progress ?? []);
    if (!isAsked || !answer) return null;
    return (
      <Card title={t("kernel_ranks")}>
        {jobs.some(isActive) ? <RunProgress jobs={jobs} /> : <Empty text={t("kernel_ranks.none")} />}
      </Card>
    );
  }
  const who = rankName(data);
  const figures = {
    who,
    time: format.duration(data.ns, 2),
    median: format.duration(data.other_ns, 2),
    factor: format.fixedDecimals(data.factor, 2),
  };
  return (
    <Card
      title={t("kernel_ranks")}
      subtitle={t("kernel_ranks.sub", { count: data.peers })}
      help={t("kernel_ranks.help")}
      actions={
        <Select
          label={t("kernel_ranks.of")}
          options={data.compared.map((one) => ({ id: one.span, label: nameOf(one) }))}
          value={data.of}
          onChange={(id) => setParams({ [OF]: id })}
        />
      }
    >
      <p class="kernel-ranks">
        {t("kernel_ranks.sum", figures)} {textOf(data, "text")}
      </p>
      <ViewSource.Provider value={{ query, baseNs: answer.base_ns }}>
        <DataTable
          table={named(table, who)}
          columns={COLUMNS}
          yields={YIELDS}
          compared={[["other_ns", "ns", "excess_ns"]]}
          unfold={SHAPES}
          cell={{ factor: factorCell }}
        />
      </ViewSource.Provider>
    </Card>
  );
}

type RankWithKernels = KernelRanksJson["compared"][number];

const nameOf = ({ rank, worker }: RankWithKernels) => (rank === null ? worker : `rank ${rank}`);

function rankName({ compared, of }: KernelRanksJson): string {
  const own = compared.find((one) => one.span === of);
  return own ? nameOf(own) : "";
}

/** The table with the rank's name above its times. */
function named(table: TableJson, who: string): TableJson {
  const columns = table.columns.map((column) =>
    column.key === "ns" ? { ...column, title: who, texts: { doc: column.texts.doc } as typeof column.texts } : column,
  );
  return { ...table, columns };
}

function factorCell(row: Row, unknown: string) {
  const factor = row.get("factor");
  if (typeof factor !== "number") return unknown;
  return <span class={factor >= SLOWER ? "worse" : ""}>×{format.fixedDecimals(factor, 2)}</span>;
}
