import { useContext, useMemo, useRef } from "preact/hooks";
import type { TableJson } from "../../api/types.gen";
import { t, textOf, viewTitle } from "../../i18n";
import { TextButton } from "../button";
import { Card, type CardProps, CardTitle } from "../card";
import { Empty } from "../states";
import { useMoreRight, useWidth } from "../use_width";
import { rowId, TableBody } from "./body";
import { nextOrder, type Where } from "./columnar";
import { type Filter, NoRows, textFilter } from "./filters";
import { TableHeader } from "./header";
import { barsOf, fitColumns, shownKeys, template, totalWidth, useColumns } from "./layout";
import { type DataTableProps, type SourcedTable, ViewSource } from "./props";
import { isWhole, type RowQuery, type Rows, useInlineRows, useRemoteRows } from "./rows";
import { type TableState, useTableState } from "./state";
import { Tools } from "./tools";
import { useUnfolded } from "./unfold";
import { useRowChoice } from "./use_row_choice";

export type { DataTableProps } from "./props";

/** Longer tables scroll inside. */
const SCROLLS_FROM = 200;
const NO_CELLS = {};
const NO_WHERE: readonly Where[] = [];
const NO_FILTERS: readonly Filter[] = [];

/** A table with sort, filter, column choice, resizing, keyboard, copy and CSV. Its state is in the URL. */
export function DataTable(given: DataTableProps) {
  const props = { ...useContext(ViewSource), ...given };
  const { table, filters = NO_FILTERS, details, onOpen, hasTools = true } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const around = useContext(CardTitle);
  const width = useWidth(scroller);
  const { state, change, asked, initial, own, rows, fold, shown, all, columns, choice, barOf } = useContent(
    props,
    width,
  );
  const { order } = asked;

  const changeRows = (changes: Partial<TableState>) => {
    if (changes.columns === undefined) {
      choice.reset();
      if (scroller.current) scroller.current.scrollTop = 0;
    }
    change(changes);
  };
  const hasMore = useMoreRight(scroller);
  const sort = (key: string) => {
    const column = table.columns.find((item) => item.key === key);
    const next = column && nextOrder(order, initial, column);
    if (next) changeRows({ order: next === initial ? null : next });
  };

  const ofText = textFilter(state.filter, () => changeRows({ filter: "" }));
  return (
    <div>
      {hasTools && (
        <Tools
          {...props}
          {...{ own, rows, state, asked, shown }}
          hidden={all.filter(({ column }) => !columns.some((one) => one.column === column))}
          change={changeRows}
        />
      )}
      {rows.error && <Failed message={textOf(rows.error, "message")} retry={rows.retry} />}
      <div
        ref={scroller}
        class={`table-scroll ${shapeOf(rows.count ?? 0, totalWidth(columns) > width)} ${hasMore ? "more" : ""}`}
        role="grid"
        aria-rowcount={rows.count === null ? -1 : rows.count + 1}
        aria-label={props.name ?? (around || viewTitle(table.id.split(".")[0] ?? table.id))}
        data-table={table.id}
        aria-activedescendant={choice.at >= 0 ? rowId(table.id, choice.at) : undefined}
        tabIndex={0}
        onKeyDown={choice.onKeyDown}
        onClick={choice.onClick}
        onPointerOver={choice.onPointerOver}
      >
        <div class="data-table" style={{ minWidth: `${totalWidth(columns)}px`, "--columns": template(columns) }}>
          <TableHeader
            columns={columns}
            order={order}
            onSort={sort}
            onResize={(key, px) => change(resized(state, key, px))}
          />
          <TableBody
            id={table.id}
            rows={rows}
            columns={columns}
            barOf={barOf}
            barColor={props.bar?.color}
            cell={props.cell ?? NO_CELLS}
            at={choice.at}
            open={choice.open}
            isLink={Boolean(details ?? onOpen)}
            details={details}
            fold={fold}
          />
        </div>
        <Emptiness rows={own} filters={[...ofText, ...filters]} />
      </div>
    </div>
  );
}

/** The rows and columns of a table of a width, px, the user's choices, and the active row. */
function useContent(props: SourcedTable, width: number) {
  const { table, where = NO_WHERE, details, onOpen } = props;
  const [state, change] = useTableState(table.id);
  const initial = { key: table.sort, desc: table.desc };
  const order = state.order && table.columns.some((item) => item.key === state.order?.key) ? state.order : initial;
  const asked: RowQuery = { filter: state.filter, where, order };
  const own = useRows(props, asked);
  const { rows, fold } = useUnfolded(own, { ...props, order, unfolded: state.unfolded ?? [] }, change);
  const shown = shownKeys(table.columns, props.columns, state);
  const all = useColumns(props, own.sample, shown, state.widths, fold?.labels);
  const columns = fitColumns(all, width, state.columns ? [] : props.yields?.filter((key) => key !== order.key));
  const choice = useRowChoice({
    rows,
    hasDetails: details !== undefined,
    onOpen,
    fold,
    of: table.id + JSON.stringify(where),
    closes: String(state.unfolded),
  });
  const barOf = useMemo(() => barsOf(own.sample, props.bar), [own.sample, props.bar?.column, props.bar?.isApart]);
  return { state, change, asked, initial, own, rows, fold, shown, all, columns, choice, barOf };
}

/** Another width of a column; null: its natural one. */
function resized({ widths }: TableState, key: string, width: number | null): Pick<TableState, "widths"> {
  const { [key]: _, ...others } = widths;
  return { widths: width === null ? others : { ...others, [key]: width } };
}

/** The scroll container. A table wider than the page gets its own, or its sticky header would scroll away. */
function shapeOf(count: number, isWide: boolean): "tall" | "wide" | "fits" {
  if (count > SCROLLS_FROM) return "tall";
  return isWide ? "wide" : "fits";
}

/** The rows of the view's answer, or those of the server. */
function useRows({ table, query, remote, fetchRows }: SourcedTable, asked: RowQuery): Rows {
  const isRemote = remote === true || !isWhole(table);
  const inline = useInlineRows(table, asked);
  const others = useRemoteRows(table, query, asked, isRemote, fetchRows);
  return isRemote ? others : inline;
}

function Emptiness({ rows, filters }: { rows: Rows; filters: readonly Filter[] }) {
  if (rows.count !== 0) return null;
  return rows.all === 0 ? <Empty text={t("table.empty")} /> : <NoRows filters={filters} />;
}

function Failed({ message, retry }: { message: string; retry: () => void }) {
  return (
    <Empty text={t("table.failed", { message })}>
      {" "}
      <TextButton onClick={retry}>{t("state.retry")}</TextButton>
    </Empty>
  );
}

type TableCardProps = Omit<CardProps, "children"> & Omit<DataTableProps, "table"> & { table: TableJson | undefined };

/** A card with a table; nothing without the table. */
export function TableCard({ title, subtitle, help, actions, table, ...rest }: TableCardProps) {
  if (!table) return null;
  return (
    <Card {...{ title, subtitle, help, actions }}>
      <DataTable table={table} {...rest} />
    </Card>
  );
}
