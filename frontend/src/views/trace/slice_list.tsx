/** A table of slices; a click selects one. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Query } from "../../api/client";
import type { ColumnJson, TableJson } from "../../api/types.gen";
import { csvHeader, csvText, type Field } from "../../base/csv";
import { absoluteNs, integer } from "../../base/format";
import { saveCsv } from "../../base/save";
import { type Key, lang, t } from "../../i18n";
import { laneOfTrack } from "../../timeline/lanes";
import { findTrack, processLabel, trackLabel } from "../../timeline/rows";
import { DataTable, Popover, pageColumn, TextButton } from "../../widgets";
import type { Row } from "../../widgets/table/columnar";
import type { TraceSession } from "./session";

/** Columns for names of rows and ranks. */
export function rowColumns(): ColumnJson[] {
  return [pageColumn("row", "text", t("col.row")), pageColumn("rank", "text", t("trace.versus.column.rank"))];
}

interface Props {
  session: TraceSession;
  name: string;
  /** Has the columns id, track and start; of ranks that may not be loaded also process and thread. */
  table: TableJson;
  columns: readonly string[];
  compared?: readonly (readonly string[])[];
  /** Indents the names by the column "level". */
  isTree?: boolean;
  /** Fetches further pages, if the table is one. */
  fetchRows?: (query: Query, signal: AbortSignal) => Promise<TableJson>;
  /** Called when slice `id` is selected. */
  onOpen?: (id: number) => void;
}

export function SliceList({ session, name, table, columns, compared = [], isTree = false, fetchRows, onOpen }: Props) {
  const shown = useMemo(() => shownTable(session, table), [session, table, lang.value]);
  const open = (row: Row) => {
    const id = Number(row.get("id"));
    void session.selection.select(id, "sight");
    onOpen?.(id);
  };
  const indented = (row: Row, text: string) => (
    <span class="link" style={{ paddingLeft: `${(Number(row.get("level")) - 1) * 12}px` }}>
      {text}
    </span>
  );
  return (
    <DataTable
      name={name}
      table={shown}
      baseNs={absoluteNs(session.base, session.data.zero) ?? ""}
      hasTools={false}
      columns={columns}
      compared={compared}
      {...(isTree ? { cell: { name: indented } } : {})}
      {...(fetchRows
        ? { fetchRows: async (query, signal) => shownTable(session, await fetchRows(query, signal)) }
        : {})}
      onOpen={open}
    />
  );
}

/** Says that the server only sent some of the rows. */
export function SomeRows({ rows, total }: Pick<TableJson, "rows" | "total">) {
  if (rows >= total) return null;
  return <span class="muted">{t("trace.descent.some", { shown: integer(rows), total: integer(total) })}</span>;
}

interface SectionProps extends Props {
  /** Beside the name. */
  notes?: ComponentChildren;
  csv: ComponentChildren;
  /** Between title and list. */
  children?: ComponentChildren;
}

/** A list whose loaded rows are all there are to see, below its title. */
export function SliceSection({ notes, csv, children, table, ...list }: SectionProps) {
  const loaded = useMemo(() => ({ ...table, total: table.rows }), [table]);
  return (
    <section>
      <h3 class="small strong trace-sub trace-list-title">
        {list.name}
        {notes}
        <SomeRows {...table} />
        {csv}
      </h3>
      {children}
      <SliceList {...list} table={loaded} />
    </section>
  );
}

/** A link to all rows as CSV, from the server. */
export function CsvDownload({ url, tip }: { url: string; tip: Key }) {
  return (
    <a class="link" href={url} download data-tip={t(tip)}>
      CSV ↓
    </a>
  );
}

/** With names of rows and ranks, and times from the zero of all views. */
function shownTable(session: TraceSession, table: TableJson): TableJson {
  const start = (table.data.start ?? []).map((time) => Number(time) - session.data.zero);
  const tracks = table.data.track ?? [];
  const { process, thread } = table.data;
  const row = thread ? thread.map((name, at) => `${process?.[at]} · ${name}`) : rowNames(session, tracks);
  const rank = tracks.map((track) => session.lanes.rankOf(laneOfTrack(Number(track))));
  return { ...table, columns: [...table.columns, ...rowColumns()], data: { ...table.data, start, row, rank } };
}

/** Name of each track: process and thread. */
export function rowNames(session: TraceSession, tracks: readonly unknown[]): string[] {
  const names = new Map<unknown, string>();
  for (const track of new Set(tracks)) {
    const found = findTrack(session.recorded.peek(), Number(track));
    names.set(
      track,
      found ? `${processLabel({ ...found.process, label: "" })} · ${trackLabel(found.thread)}` : String(track),
    );
  }
  return tracks.map((track) => names.get(track) ?? "");
}

/** Saves the rows of a complete table. */
export function CsvLink({ table, name }: { table: TableJson; name: string }) {
  return (
    <TextButton tip={t("trace.csv")} onClick={() => saveCsv(tableCsv(table), name)}>
      CSV ↓
    </TextButton>
  );
}

/** A complete table as CSV: the header with keys and units, then the rows. */
export function tableCsv(table: TableJson): string {
  const rows = Array.from({ length: table.rows }, (_, row) =>
    table.columns.map((column) => table.data[column.key]?.[row] as Field),
  );
  return csvText(table.columns.map(csvHeader), rows);
}

/** A button that opens a menu. */
export function Menu({ text, ...popover }: { text: string } & Omit<Parameters<typeof Popover>[0], "label">) {
  const label = (
    <span class="caption ellipsis" style={{ maxWidth: "180px" }}>
      {text}
    </span>
  );
  return <Popover label={label} arrow {...popover} />;
}
