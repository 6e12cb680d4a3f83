import type { ColumnJson, MemoryJson, MemoryPeakJson, TableJson } from "../../api/types.gen";
import { t } from "../../i18n";
import { Card, DataTable } from "../../widgets";
import { METRICS } from "./series";

interface Props {
  data: MemoryJson;
  baseNs: string;
  /** Moves the chart's marker to the time and lists the live allocations. */
  onMoment: (at: number) => void;
}

/** The peak of each component and its time. */
export function Peaks({ data, baseNs, onMoment }: Props) {
  const table = peaksTable(data.peaks);
  return (
    <Card title={t("memory.peaks")} help={t("memory.peaks.help")}>
      <DataTable
        table={table}
        query={{}}
        baseNs={baseNs}
        isLocal
        {...(data.devices.length > 1 ? {} : { columns: table.columns.map((column) => column.key).filter(isNoDevice) })}
        onOpen={(row) => {
          const at = row.get("allocated_at") ?? row.get("reserved_at") ?? row.get("active_at");
          if (typeof at === "number") onMoment(at);
        }}
      />
    </Card>
  );
}

const isNoDevice = (key: string) => key !== "device";

/** The peaks as a table, for sorting and export. */
function peaksTable(peaks: readonly MemoryPeakJson[]): TableJson {
  const columns: ColumnJson[] = [text("component", t("memory.component")), text("device", t("memory.device"))];
  for (const metric of METRICS) {
    const doc = t(`memory.${metric}.help`);
    const title = t(`memory.${metric}`);
    columns.push({ key: `${metric}_bytes`, kind: "bytes", title, doc, group: "" });
    columns.push({ key: `${metric}_at`, kind: "time", title: t("memory.when"), doc: t("memory.when.help"), group: "" });
  }
  const data = Object.fromEntries(
    columns.map(({ key }) => [key, peaks.map((peak) => peak[key as keyof MemoryPeakJson])]),
  );
  const rows = peaks.length;
  return { id: "memory.peaks", columns, data, offset: 0, rows, total: rows, sort: "", desc: false };
}

function text(key: string, title: string): ColumnJson {
  return { key, kind: "text", title, doc: "", group: "" };
}
