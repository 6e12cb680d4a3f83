import type { TableJson } from "../../api/types.gen";
import { coreColor } from "../../base/color";
import { t } from "../../i18n";
import { openView } from "../../state/selection";
import { type Row, TableCard, TextButton } from "../../widgets";
import { formatState, parseState } from "../../widgets/table/state";

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
        "calls",
        "total_ns",
        "share",
        "ratio",
        "avg_ns",
        "min_ns",
        "max_ns",
      ]}
      compared={[["avg_ns", "min_ns", "max_ns"]]}
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
