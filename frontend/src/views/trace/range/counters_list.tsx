/** Least, mean and largest value of each counter in the range. */

import type { CountersJson, TableJson } from "../../../api/types.gen";
import { t, textOf } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import { findTrack } from "../../../timeline/rows";
import type { Area } from "../../../timeline/scene";
import { DataTable, Empty, pageColumn, pageTable } from "../../../widgets";
import type { TraceSession } from "../session";
import { CsvLink, rowNames } from "../slice_list";

export function CountersList({ session, area }: { session: TraceSession; area: Area }) {
  const ask = (signal: AbortSignal) => session.api.counters(area, signal);
  const { value, error } = useRequest([area, session.reading.value], ask);
  if (error) return <Empty text={t("trace.area.failed", { message: textOf(error, "message") })} />;
  if (!value) return <Empty text={t("state.loading")} />;
  const table = tableOf(session, value);
  if (table.rows === 0) return <Empty text={t("trace.area.counters.none")} />;
  return (
    <>
      <CsvLink table={table} name="counters" />
      <DataTable table={table} hasTools={false} name={t("trace.area.counters")} />
    </>
  );
}

/** Counters without a value in the range are left out. */
function tableOf(session: TraceSession, found: CountersJson): TableJson {
  const series = found.series.filter((one) => one.min !== null);
  const rows = rowNames(
    session,
    series.map((one) => one.track),
  );
  const unitOf = (track: number) => findTrack(session.data.processes, track)?.thread.unit ?? "";
  return pageTable("trace.range_counters", series, [
    [pageColumn("row", "text", t("col.row")), (_, at) => rows[at]],
    [pageColumn("series", "text", t("col.series"), t("trace.area.series.tip")), (one) => one.series],
    [pageColumn("unit", "text", t("col.unit")), ({ track }) => unitOf(track)],
    [pageColumn("min", "float", t("col.min")), ({ min }) => min],
    [pageColumn("mean", "float", t("col.mean"), t("trace.area.mean.tip")), ({ mean }) => mean],
    [pageColumn("max", "float", t("col.max")), ({ max }) => max],
  ]);
}
