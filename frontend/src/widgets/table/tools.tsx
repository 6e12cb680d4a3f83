import { apiUrl } from "../../api/client";
import type { ColumnJson, TableJson } from "../../api/types.gen";
import { csvHeader, csvText } from "../../base/csv";
import * as text from "../../base/format";
import { saveCsv } from "../../base/save";
import { t } from "../../i18n";
import { Button } from "../button";
import { ColumnMenu } from "./column_menu";
import type { SourcedTable } from "./props";
import { type RowQuery, type Rows, serverQuery } from "./rows";
import type { TableState } from "./state";

/** Tables with fewer rows have no filter. */
const FILTER_FROM = 8;

interface ToolsProps extends SourcedTable {
  rows: Rows;
  state: TableState;
  asked: RowQuery;
  shown: readonly string[];
  change: (changes: Partial<TableState>) => void;
}

/** The line above a table: filter, column menu, count, CSV, and the view's own controls. */
export function Tools({
  table,
  query,
  tools,
  moreTools,
  placeholder,
  isLocal,
  rows,
  state,
  asked,
  shown,
  change,
}: ToolsProps) {
  return (
    <div class="row table-tools">
      {tools}
      {(rows.all > FILTER_FROM || state.filter !== "") && (
        <input
          class="field"
          type="search"
          placeholder={placeholder ?? t("table.filter")}
          aria-label={placeholder ?? t("table.filter")}
          data-tip={t("table.filter.tip")}
          value={state.filter}
          onInput={(event) => change({ filter: event.currentTarget.value })}
        />
      )}
      {moreTools}
      <ColumnMenu all={table.columns} shown={shown} onChange={(columns) => change({ columns })} />
      <span class="at-end">
        <span class="muted" role="status">
          {countText(rows)}
        </span>
        {isLocal ? (
          <Button tip={t("table.csv")} onClick={() => saveCsv(localCsv(rows, columnsOf(table, shown)), table.id)}>
            CSV ↓
          </Button>
        ) : (
          <a
            class="control"
            style={{ color: "inherit" }}
            href={apiUrl(`table/${table.id}`, {
              ...query,
              ...serverQuery(asked),
              columns: shown.join(","),
              format: "csv",
            })}
            download={`${table.id}.csv`}
            data-tip={t("table.csv")}
          >
            CSV ↓
          </a>
        )}
      </span>
    </div>
  );
}

function countText({ count, all }: Rows): string {
  if (count === null) return t("table.loading");
  if (count !== all) return t("table.rows.some", { shown: text.integer(count), all: text.integer(all) });
  return t("table.rows", { count: text.integer(count) });
}

/** Columns by key, in the order of the keys. */
function columnsOf(table: TableJson, keys: readonly string[]): ColumnJson[] {
  return keys.flatMap((key) => table.columns.find((column) => column.key === key) ?? []);
}

/** All rows with these columns as CSV. */
function localCsv(rows: Rows, columns: readonly ColumnJson[]): string {
  const places = Array.from({ length: rows.count ?? 0 }, (_, place) => rows.at(place));
  return csvText(
    columns.map(csvHeader),
    places.filter((row) => row !== null).map((row) => columns.map(({ key }) => row.get(key))),
  );
}
