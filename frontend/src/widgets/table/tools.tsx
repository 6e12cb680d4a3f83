import { apiUrl } from "../../api/client";
import type { ColumnJson, TableJson } from "../../api/types.gen";
import { csvHeader, csvText } from "../../base/csv";
import * as text from "../../base/format";
import { saveCsv } from "../../base/save";
import { t, textOf, tOr } from "../../i18n";
import { Button, TextButton } from "../button";
import { PagedItems } from "../pages";
import { Popover } from "../popover";
import { columnTitle } from "./columns";
import type { ShownColumn } from "./layout";
import type { SourcedTable } from "./props";
import { isWhole, type RowQuery, type Rows, serverQuery } from "./rows";
import type { TableState } from "./state";

/** Tables with fewer rows have no filter. */
const FILTER_FROM = 8;

interface ToolsProps extends SourcedTable {
  /** The rows of the table, and those with what they unfold to. */
  own: Rows;
  rows: Rows;
  state: TableState;
  asked: RowQuery;
  shown: readonly string[];
  /** Columns without room. */
  hidden: readonly ShownColumn[];
  change: (changes: Partial<TableState>) => void;
}

/** The line above a table: filter, column menu, count, CSV, and the view's own controls. */
export function Tools({ table, query, own, rows, state, asked, shown, hidden, change, ...others }: ToolsProps) {
  const { tools, moreTools, isLocal } = others;
  const isHere = isLocal || (state.unfolded?.length && isWhole(table));
  return (
    <div class="row table-tools">
      {tools}
      {(own.all > FILTER_FROM || state.filter !== "") && (
        <input
          class="field"
          type="search"
          placeholder={t("table.filter")}
          aria-label={t("table.filter")}
          data-tip={t("table.filter.tip")}
          value={state.filter}
          onInput={(event) => change({ filter: event.currentTarget.value })}
        />
      )}
      {moreTools}
      <ColumnMenu all={table.columns} shown={shown} onChange={(columns) => change({ columns })} />
      {hidden.length > 0 && (
        <TextButton
          tip={t("table.hidden.tip", { columns: hidden.map(({ column }) => columnTitle(column)).join(", ") })}
          onClick={() => change({ columns: shown })}
        >
          {t("table.hidden", { count: hidden.length })}
        </TextButton>
      )}
      <span class="at-end">
        {others.sum && <Sum rows={rows} {...others.sum} />}
        <span class="muted" role="status">
          {countText(own)}
        </span>
        {isHere ? (
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

/** The sum of a duration over all rows, once they are here. */
function Sum({ rows, column, steps }: { rows: Rows; column: string; steps: number }) {
  const found = Array.from({ length: rows.count ?? 0 }, (_, at) => rows.at(at));
  if (rows.count === null || found.some((row) => row === null)) return null;
  const sum = found.reduce((total, row) => total + Number(row?.get(column) ?? 0), 0);
  const each = Math.floor(sum / steps);
  return (
    <span class="mono" data-ns={each} data-tip={text.exactDuration(sum)}>
      {steps > 1
        ? t("table.sum.steps", { sum: text.duration(sum), each: text.duration(each), steps })
        : t("table.sum", { sum: text.duration(sum) })}
    </span>
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

/** All rows with these columns as CSV; rows below others also with what tells them from one another. */
function localCsv(rows: Rows, shown: readonly ColumnJson[]): string {
  const places = Array.from({ length: rows.count ?? 0 }, (_, place) => rows.at(place)).filter((row) => row !== null);
  const below = places.find((row) => row.below)?.below?.columns ?? [];
  const isNew = ({ key, kind }: ColumnJson) => kind === "text" && !shown.some((column) => column.key === key);
  const columns = [...shown, ...below.filter(isNew)];
  return csvText(
    columns.map(csvHeader),
    places.map((row) => columns.map(({ key }) => row.get(key))),
  );
}

interface MenuProps {
  all: readonly ColumnJson[];
  /** Keys of the visible columns, in order. */
  shown: readonly string[];
  onChange: (shown: readonly string[] | null) => void;
}

/** Choose and reorder columns: visible ones first in their order, the others by group. */
function ColumnMenu({ all, shown, onChange }: MenuProps) {
  const byKey = new Map(all.map((column) => [column.key, column]));
  const visible = shown.map((key) => byKey.get(key)).filter((column) => column !== undefined);
  const hidden = all.filter((column) => !shown.includes(column.key));
  const groups = [...new Set(hidden.map((column) => column.group))];
  const move = (at: number, step: number) => {
    const next = [...shown];
    const [key] = next.splice(at, 1);
    if (key !== undefined) next.splice(at + step, 0, key);
    onChange(next);
  };
  return (
    <Popover label={t("table.columns")} arrow>
      {() => (
        <div style={{ minWidth: "220px" }}>
          <PagedItems items={visible}>
            {(column, at) => (
              <div class="column-choice" key={column.key}>
                <Choice column={column} on onToggle={() => onChange(shown.filter((key) => key !== column.key))} />
                <MoveButton
                  sign="↑"
                  tip={t("table.columns.left", { column: columnTitle(column) })}
                  off={at === 0}
                  onClick={() => move(at, -1)}
                />
                <MoveButton
                  sign="↓"
                  tip={t("table.columns.right", { column: columnTitle(column) })}
                  off={at === visible.length - 1}
                  onClick={() => move(at, 1)}
                />
              </div>
            )}
          </PagedItems>
          {groups.map((group) => (
            <div key={group}>
              <div class="column-group">{tOr(`table.group.${group}`, group)}</div>
              <PagedItems items={hidden.filter((column) => column.group === group)}>
                {(column) => (
                  <div class="column-choice" key={column.key}>
                    <Choice column={column} on={false} onToggle={() => onChange([...shown, column.key])} />
                  </div>
                )}
              </PagedItems>
            </div>
          ))}
          <Button look="option" onClick={() => onChange(null)}>
            {t("table.columns.reset")}
          </Button>
        </div>
      )}
    </Popover>
  );
}

function Choice({ column, on, onToggle }: { column: ColumnJson; on: boolean; onToggle: () => void }) {
  return (
    <label data-tip={textOf(column, "doc") || undefined}>
      <input type="checkbox" checked={on} onChange={onToggle} />
      <span class="ellipsis">{columnTitle(column)}</span>
    </label>
  );
}

function MoveButton({ sign, tip, off, onClick }: { sign: string; tip: string; off: boolean; onClick: () => void }) {
  return (
    <Button look="" name={tip} disabled={off} onClick={onClick}>
      {sign}
    </Button>
  );
}
