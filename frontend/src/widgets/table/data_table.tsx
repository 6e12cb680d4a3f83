import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { apiUrl, type Query } from "../../api/client";
import type { ColumnJson, TableJson } from "../../api/types.gen";
import { copyText } from "../../base/clipboard";
import * as text from "../../base/format";
import { lang, t } from "../../i18n";
import { Empty } from "../states";
import { TableBody, VIRTUAL_FROM } from "./body";
import { ColumnMenu } from "./column_menu";
import { nextOrder, type Row, rowAt, type Where } from "./columnar";
import { columnFormat } from "./columns";
import { TableHeader } from "./header";
import { naturalWidth, type ShownColumn, template, totalWidth } from "./layout";
import { localCsv } from "./local_csv";
import { isWhole, type RowQuery, type Rows, serverQuery, useInlineRows, useRemoteRows } from "./rows";
import { type TableState, useTableState } from "./state";

export interface DataTableProps {
  /** From a view's answer. Its id ("kernel.all") is also the route of further pages and of the CSV. */
  table: TableJson;
  /** The view's query (`view.query`), and more parameters that the table's route knows. */
  query: Query;
  /** Origin of "time" columns (`answer.base_ns`). */
  baseNs: string;
  /** Rows come from the server even where the view brought them all (a query that the view was not asked with). */
  remote?: boolean;
  /** The table was made here: its CSV is too. */
  isLocal?: boolean;
  /** Columns to begin with, in order; all when left out. The user can show the others. */
  columns?: readonly string[];
  /** A strip of bars after this column, the colour of a row's bar, and rows without a bar, which set no scale. */
  bar?: { column: string; color?: (row: Row) => string; isApart?: (row: Row) => boolean };
  /** Own content of cells by column; gets the formatted text. */
  cell?: Readonly<Record<string, (row: Row, text: string) => ComponentChildren>>;
  /** Shown below a row that was clicked. */
  details?: (row: Row) => ComponentChildren;
  /** Instead of details: what a click on a row does. */
  onOpen?: (row: Row) => void;
  /** Conditions from charts and other controls. */
  where?: readonly Where[];
  /** Controls at the left of the filter and after it. */
  tools?: ComponentChildren;
  moreTools?: ComponentChildren;
  /** false: rows only, without filter, column choice, count and CSV (a short excerpt). */
  hasTools?: boolean;
  /** What the filter's field says while empty. */
  placeholder?: string;
}

/** A table of fewer rows needs no filter. */
const FILTER_FROM = 8;
/** Text columns shrink to this, px. */
const LEAST_TEXT = 130;
/** Least width of a strip of bars, px. */
const BAR_PX = 60;
const NO_CELLS = {};
const NO_WHERE: readonly Where[] = [];

/** A table with sort, filter, column choice, resizing, keyboard, copy and CSV. Its state is in the URL. */
export function DataTable(props: DataTableProps) {
  const { table, query, baseNs, where = NO_WHERE, details, onOpen, hasTools = true } = props;
  const [state, change] = useTableState(table.id);
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(-1);
  const scroller = useRef<HTMLDivElement>(null);
  const hovered = useRef<HTMLElement | null>(null);

  const initial = { key: table.sort, desc: table.desc };
  const order = state.order && table.columns.some((item) => item.key === state.order?.key) ? state.order : initial;
  const asked: RowQuery = { filter: state.filter, where, order };
  const isRemote = props.remote === true || !isWhole(table);
  const inline = useInlineRows(table, asked);
  const remote = useRemoteRows(table, query, asked, isRemote);
  const rows = isRemote ? remote : inline;
  const shown = shownKeys(table.columns, props.columns, state);
  const columns = useColumns(table, rows.sample, shown, state.widths, baseNs, props.bar?.column);
  const barOf = barsOf(rows.sample, props.bar);
  const isLink = details !== undefined || onOpen !== undefined;

  const reset = () => {
    setAt(-1);
    setOpen(-1);
  };
  useEffect(reset, [JSON.stringify(where), table.id]);
  const onRow = (place: number) => {
    setAt(place);
    const row = rows.at(place);
    if (onOpen && row) onOpen(row);
    else if (details) setOpen(open === place ? -1 : place);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (target.closest("input, .row-details")) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt(Math.max(0, Math.min((rows.count ?? 1) - 1, at + step)));
    } else if (event.key === "Enter" && at >= 0 && target.tagName !== "BUTTON") {
      onRow(at);
    } else if (event.key === "c" && (event.ctrlKey || event.metaKey) && window.getSelection()?.isCollapsed) {
      const copied = hovered.current?.dataset.copy;
      if (copied !== undefined) void copyText(copied);
    }
  };

  return (
    <div>
      {hasTools && (
        <Tools
          {...props}
          rows={rows}
          state={state}
          asked={asked}
          shown={shown}
          change={(changes) => {
            if (changes.columns === undefined) reset();
            change(changes);
          }}
        />
      )}
      {rows.error && <Empty text={t("table.failed", { message: rows.error.message })} />}
      <div
        ref={scroller}
        class={`table-scroll ${(rows.count ?? 0) > VIRTUAL_FROM ? "tall" : ""}`}
        role="grid"
        aria-rowcount={rows.count ?? -1}
        aria-label={table.id}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const row = isLink ? (event.target as HTMLElement).closest<HTMLElement>(".data-row.body") : null;
          if (row && window.getSelection()?.isCollapsed !== false) onRow(Number(row.dataset.place));
        }}
        onPointerOver={(event) => {
          hovered.current = (event.target as HTMLElement).closest<HTMLElement>("[data-copy]");
        }}
      >
        <div class="data-table" style={{ minWidth: `${totalWidth(columns)}px`, "--columns": template(columns) }}>
          <TableHeader
            columns={columns}
            order={order}
            onSort={(key) => {
              const column = table.columns.find((item) => item.key === key);
              if (!column) return;
              const next = nextOrder(order, initial, column);
              reset();
              change({ order: next === initial ? null : next });
            }}
            onResize={(key, width) => {
              const { [key]: _, ...others } = state.widths;
              change({ widths: width === null ? others : { ...others, [key]: width } });
            }}
          />
          <TableBody
            rows={rows}
            columns={columns}
            barOf={barOf}
            barColor={props.bar?.color}
            cell={props.cell ?? NO_CELLS}
            at={at}
            open={open}
            isLink={isLink}
            details={details}
            scroller={scroller}
          />
        </div>
        {rows.count === 0 && <Empty text={t(rows.all === 0 ? "table.empty" : "table.none")} />}
      </div>
    </div>
  );
}

interface ToolsProps extends DataTableProps {
  rows: Rows;
  state: TableState;
  asked: RowQuery;
  shown: readonly string[];
  change: (changes: Partial<TableState>) => void;
}

function Tools({
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
  const csv = { ...query, ...serverQuery(asked), columns: shown.join(","), format: "csv" };
  const link = isLocal ? dataUrl(localCsv(rows, shown)) : apiUrl(`table/${table.id}`, csv);
  return (
    <div class="table-tools">
      {tools}
      {(rows.all > FILTER_FROM || state.filter !== "") && (
        <input
          class="field"
          type="search"
          placeholder={placeholder ?? t("table.filter")}
          aria-label={placeholder ?? t("table.filter")}
          value={state.filter}
          onInput={(event) => change({ filter: event.currentTarget.value })}
        />
      )}
      {moreTools}
      <ColumnMenu all={table.columns} shown={shown} onChange={(columns) => change({ columns })} />
      <span class="grow" />
      <span class="muted" role="status">
        {countText(rows)}
      </span>
      <a
        class="control"
        style={{ color: "inherit" }}
        href={link}
        download={`${table.id}.csv`}
        data-tip={t("table.csv")}
      >
        CSV ↓
      </a>
    </div>
  );
}

const dataUrl = (csv: string) => `data:text/csv;charset=utf-8,${encodeURIComponent(csv)}`;

function countText({ count, all }: Rows): string {
  if (count === null) return t("table.loading");
  if (count !== all) return t("table.rows.some", { shown: text.integer(count), all: text.integer(all) });
  return count === 1 ? t("table.rows.one") : t("table.rows", { count: text.integer(count) });
}

/** Keys of the visible columns: the user's choice, else the view's, else all; only those that the table has. */
function shownKeys(all: readonly ColumnJson[], chosen: readonly string[] | undefined, state: TableState): string[] {
  const has = new Set(all.map((column) => column.key));
  const wanted = state.columns ?? chosen ?? all.map((column) => column.key);
  const found = wanted.filter((key) => has.has(key));
  return found.length > 0 ? found : [...has];
}

function useColumns(
  table: TableJson,
  sample: TableJson["data"],
  keys: readonly string[],
  widths: Readonly<Record<string, number>>,
  baseNs: string,
  bar: string | undefined,
): ShownColumn[] {
  const made = useMemo(() => {
    const found = new Map<string, ShownColumn>();
    for (const column of table.columns) {
      const values = sample[column.key] ?? [];
      const format = columnFormat(column, values, baseNs);
      const width = naturalWidth(format, values);
      // Texts give way first: they can be cut, figures cannot.
      const least = format.isFigure ? width : Math.min(width, LEAST_TEXT);
      found.set(column.key, { column, format, bar: false, width: least, natural: width });
    }
    return found;
    // Titles change with the language.
  }, [table, sample, baseNs, lang.value]);
  const shown: ShownColumn[] = [];
  for (const key of keys) {
    const column = made.get(key);
    if (!column) continue;
    const own = widths[key];
    shown.push(own === undefined ? column : { ...column, width: own, natural: own });
    if (key === bar) shown.push({ ...column, bar: true, width: BAR_PX });
  }
  return shown;
}

/** 0..1 of the largest value of the bars' column; null: no bar. */
function barsOf(sample: TableJson["data"], bar: DataTableProps["bar"]): (row: Row) => number | null {
  const key = bar?.column ?? "";
  const isApart = bar?.isApart ?? (() => false);
  let most = 0;
  for (const [index, value] of (sample[key] ?? []).entries()) {
    if (typeof value === "number" && value > most && !isApart(rowAt(sample, index))) most = value;
  }
  return (row) => {
    const value = row.get(key);
    return typeof value === "number" && most > 0 && !isApart(row) ? value / most : null;
  };
}
