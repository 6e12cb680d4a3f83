/** Least, mean and largest value of each counter in the range. */

import { useEffect, useState } from "preact/hooks";
import type { CountersJson, TableJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import { findTrack } from "../../../timeline/rows";
import type { Area } from "../../../timeline/scene";
import { DataTable, Empty, pageColumn, pageTable } from "../../../widgets";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { CsvLink, rowNames } from "../slice_list";

export function CountersList({ session, area }: { session: TraceSession; area: Area }) {
  const [table, setTable] = useState<TableJson | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    setTable(null);
    setError("");
    const abort = new AbortController();
    session.api.counters(area, abort.signal).then(
      (found) => setTable(tableOf(session, found)),
      (reason) => !abort.signal.aborted && setError(messageOf(reason)),
    );
    return () => abort.abort();
  }, [area, session.reading.value]);
  if (!table) return <Empty text={error ? t("trace.area.failed", { message: error }) : t("state.loading")} />;
  if (table.rows === 0) return <Empty text={t("trace.area.counters.none")} />;
  return (
    <>
      <CsvLink table={table} name="counters" />
      <DataTable table={table} query={{}} baseNs="0" hasTools={false} name={t("trace.area.counters")} />
    </>
  );
}

/** Counters without a value in the range are left out. */
function tableOf(session: TraceSession, found: CountersJson): TableJson {
  const series = found.series.filter((one) => one.min !== null);
  const units = series.map((one) => findTrack(session.data.processes, one.track)?.thread.unit ?? "");
  return pageTable(
    "trace.range_counters",
    [
      pageColumn("row", "text", t("col.row")),
      pageColumn("series", "text", t("col.series"), t("trace.area.series.tip")),
      pageColumn("unit", "text", t("col.unit")),
      pageColumn("min", "float", t("col.min")),
      pageColumn("mean", "float", t("col.mean"), t("trace.area.mean.tip")),
      pageColumn("max", "float", t("col.max")),
    ],
    {
      row: rowNames(
        session,
        series.map((one) => one.track),
      ),
      series: series.map((one) => one.series),
      unit: units,
      min: series.map((one) => one.min),
      mean: series.map((one) => one.mean),
      max: series.map((one) => one.max),
    },
    series.length,
  );
}
