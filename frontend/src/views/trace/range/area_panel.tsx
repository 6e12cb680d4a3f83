/** Statistics of the dragged range, from the raw slices. */

import { useMemo } from "preact/hooks";
import type { ColumnJson, TableJson } from "../../../api/types.gen";
import { integer } from "../../../base/format";
import { t } from "../../../i18n";
import { DataTable, Empty, Help } from "../../../widgets";
import { duration, exactDuration } from "../format";
import { zoomToArea } from "../help/keyboard";
import type { TraceSession } from "../session";
import { rowNames } from "../slice_list";

const COLUMNS = ["name", "clipped_self", "clipped", "count", "total", "avg", "min", "max", "row"];

export function AreaPanel({ session }: { session: TraceSession }) {
  const area = session.area.area.value;
  const stats = session.area.stats.value;
  const error = session.area.error.value;
  const table = useMemo(() => stats && withRows(session, stats.table), [stats]);
  if (!area) return <Empty text={t("trace.panel.none")} />;
  const length = area.end - area.start;
  const rows = area.tracks ? t("trace.area.rows", { count: area.tracks.length }) : t("trace.area.all");
  return (
    <div>
      <div class="trace-title">
        <h2 data-tip={exactDuration(length)}>
          {t("trace.area.title", { duration: duration(length), start: session.shownTime(area.start) })}
        </h2>
        <span class="muted ellipsis" data-tip-cut>
          {rows}
          {stats && ` · ${t("trace.area.slices", { count: integer(stats.slices) })}`}
          {stats && stats.table.rows < stats.table.total && ` · ${someNames(stats.table)}`}
        </span>
        <Help text={t("trace.area.about")} />
        <div class="trace-actions">
          {area.tracks && (
            <button type="button" class="link" onClick={() => void session.setArea({ ...area, tracks: null })}>
              {t("trace.area.whole")}
            </button>
          )}
          <button type="button" class="link" onClick={() => zoomToArea(session)}>
            {t("trace.area.zoom")}
          </button>
          <button type="button" class="link" onClick={() => session.marks.markHere()}>
            {t("trace.area.mark")}
          </button>
          <button type="button" class="link" onClick={() => void session.setArea(null)}>
            {t("trace.area.clear")}
          </button>
          <a class="link" href={session.api.csvUrl(area)} download data-tip={t("trace.area.csv")}>
            CSV ↓
          </a>
        </div>
      </div>
      {error && <Empty text={t("trace.area.failed", { message: error })} />}
      {!stats && !error && <Empty text={t("state.loading")} />}
      {table && (
        <DataTable
          table={table}
          query={{}}
          baseNs={session.base}
          hasTools={false}
          columns={COLUMNS}
          compared={[
            ["clipped_self", "clipped"],
            ["avg", "min", "max"],
          ]}
          onOpen={(row) => void session.find(String(row.get("name") ?? ""), true)}
        />
      )}
    </div>
  );
}

/** The server only returns the names with the largest totals. */
function someNames({ rows, total }: TableJson): string {
  return t("trace.area.some", { shown: integer(rows), total: integer(total) });
}

/** Replaces row numbers by row names. */
function withRows(session: TraceSession, table: TableJson): TableJson {
  const row: ColumnJson = { key: "row", kind: "text", title: "Row", doc: "", group: "" };
  return {
    ...table,
    id: "trace.range",
    total: table.rows, // only loaded rows can be paged; the title says if there are more
    columns: [...table.columns.filter((column) => column.key !== "track"), row],
    data: { ...table.data, row: rowNames(session, table.data.track ?? []) },
  };
}
