import { useRef } from "preact/hooks";
import { t, textOf } from "../../i18n";
import { Button } from "../button";
import { withVendorWords } from "../vendor";
import type { Order } from "./columnar";
import { columnTitle } from "./columns";
import type { ShownColumn } from "./layout";

interface Props {
  columns: readonly ShownColumn[];
  order: Order;
  onSort: (key: string) => void;
  /** null: restores the natural width. */
  onResize: (key: string, width: number | null) => void;
}

/** The sticky first row: click sorts, the right edge resizes (double click undoes). */
export function TableHeader({ columns, order, onSort, onResize }: Props) {
  return (
    <div class="data-row head" role="row" aria-rowindex={1} tabIndex={-1}>
      {columns.map((shown) =>
        shown.bar ? (
          <div class="cell" key={`bar ${shown.column.key}`} aria-hidden="true" />
        ) : (
          <HeaderCell key={shown.column.key} shown={shown} order={order} onSort={onSort} onResize={onResize} />
        ),
      )}
    </div>
  );
}

interface CellProps extends Omit<Props, "columns"> {
  shown: ShownColumn;
}

function HeaderCell({ shown, order, onSort, onResize }: CellProps) {
  const { column, format } = shown;
  const isSorted = order.key === column.key;
  const tip = withVendorWords(textOf(column, "doc") || format.header, column.key);
  return (
    <div
      class={`cell ${format.isFigure ? "figure" : ""} ${isSorted ? "sorted" : ""}`}
      role="columnheader"
      aria-sort={isSorted ? (order.desc ? "descending" : "ascending") : "none"}
      tabIndex={-1}
    >
      <Button
        look="ellipsis"
        tip={tip}
        label={t("table.sort", { column: columnTitle(column) })}
        onClick={() => onSort(column.key)}
      >
        {format.header}
      </Button>
      {isSorted && <span aria-hidden="true">{order.desc ? "↓" : "↑"}</span>}
      <ResizeHandle onResize={(width) => onResize(column.key, width)} />
    </div>
  );
}

function ResizeHandle({ onResize }: { onResize: (width: number | null) => void }) {
  const start = useRef<{ x: number; width: number } | null>(null);
  return (
    <span
      class="resize"
      aria-hidden="true"
      onPointerDown={(event) => {
        const handle = event.currentTarget;
        handle.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width: handle.parentElement?.offsetWidth ?? 0 };
      }}
      onPointerMove={(event) => {
        if (start.current) onResize(Math.max(40, start.current.width + event.clientX - start.current.x));
      }}
      onPointerUp={() => (start.current = null)}
      onPointerCancel={() => (start.current = null)}
      onDblClick={() => onResize(null)}
    />
  );
}
