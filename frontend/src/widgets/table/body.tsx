import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { integer } from "../../base/format";
import { usePrinting } from "../../base/use_media";
import { t } from "../../i18n";
import { Button } from "../button";
import { HBar } from "../stacked_bar";
import { MiddleCut } from "../text";
import { scrollToRow, useRowWindow } from "../use_row_window";
import type { Cell, Row } from "./columnar";
import type { ShownColumn } from "./layout";
import type { Rows } from "./rows";
import type { Fold } from "./unfold";
import { offsetOf, ROW_PX } from "./window";

export interface BodyProps {
  /** Id of the table, for the ids of its rows. */
  id: string;
  rows: Rows;
  columns: readonly ShownColumn[];
  /** 0..1: length of a row's bar; null: none. */
  barOf: (row: Row) => number | null;
  barColor: ((row: Row) => string) | undefined;
  cell: Readonly<Record<string, (row: Row, text: string) => ComponentChildren>>;
  /** Active row (keyboard or last click), and the row with open details; -1: none. */
  at: number;
  open: number;
  isLink: boolean;
  details: ((row: Row) => ComponentChildren) | undefined;
  fold: Fold | null;
}

/** The visible rows, with the details of one below it. */
export function TableBody(props: BodyProps) {
  const { rows, at, open, details } = props;
  const count = rows.count ?? 0;
  const isPrinted = usePrinting();
  const [openPx, setOpenPx] = useState(0);
  const body = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  // Details have a variable height, which shifts the rows below.
  useLayoutEffect(() => {
    const height = box.current?.offsetHeight ?? 0;
    if (height !== openPx) setOpenPx(height);
  });
  const shown = useRowWindow(body, { count, rowPx: ROW_PX, open, openPx, isHere: (place) => rows.at(place) !== null });
  useEffect(() => {
    if (!isPrinted) rows.want(shown.from, Math.max(shown.from, shown.to - 1));
  });
  useEffect(() => {
    if (at >= 0 && body.current) scrollToRow(body.current, offsetOf(at, open, openPx), ROW_PX, ROW_PX);
  }, [at]);

  const lines: ComponentChildren[] = [];
  for (let place = shown.from; place < shown.to; place++) {
    const row = rows.at(place);
    lines.push(<TableRow key={place} {...props} place={place} row={row} />);
    if (place === open && row && details) {
      lines.push(
        <div class="row-details" key="details" ref={box}>
          {details(row)}
        </div>,
      );
    }
  }
  const space = shown.isVirtual
    ? { height: `${shown.height}px`, paddingTop: `${shown.top}px`, overflow: "hidden" }
    : {};
  return (
    <div role="rowgroup" ref={body} style={space}>
      {lines}
      {!shown.isVirtual && shown.to < count && (
        <p class="muted small">
          {t("table.unprinted", { count: integer(count - shown.to), shown: integer(shown.to) })}
        </p>
      )}
    </div>
  );
}

/** DOM id of a row, without blanks so that attributes can refer to it. */
export function rowId(table: string, place: number): string {
  return `${table}:${place}`;
}

function TableRow({ id, place, row, columns, ...props }: BodyProps & { place: number; row: Row | null }) {
  const { barOf, barColor, cell, at, open, isLink, fold } = props;
  const firstText = columns.findIndex((shown) => !shown.bar && !shown.format.isFigure);
  return (
    <div
      class={`data-row body ${place === at ? "at" : ""}`}
      role="row"
      aria-rowindex={place + 2}
      aria-expanded={isLink ? place === open : undefined}
      id={rowId(id, place)}
      data-place={place}
      style={isLink ? { cursor: "pointer" } : {}}
      tabIndex={-1}
    >
      {columns.map((shown, index) => {
        const { column, bar } = shown;
        if (row === null)
          return (
            <div class="cell muted" key={index}>
              {index === 0 ? t("table.loading") : ""}
            </div>
          );
        const value = row.get(column.key);
        if (bar) {
          const ratio = barOf(row);
          return (
            <div class="cell bar" key={index}>
              {ratio !== null && <HBar ratio={ratio} {...(barColor ? { color: barColor(row) } : {})} />}
            </div>
          );
        }
        return (
          <TableCell
            key={index}
            shown={shown}
            row={row}
            value={value}
            isLink={isLink && index === firstText}
            own={cell[column.key]}
            fold={index === firstText ? fold : null}
          />
        );
      })}
    </div>
  );
}

interface CellProps {
  shown: ShownColumn;
  row: Row;
  value: Cell;
  isLink: boolean;
  own: ((row: Row, text: string) => ComponentChildren) | undefined;
  fold: Fold | null;
}

function TableCell({ shown, row, value, isLink, own, fold }: CellProps) {
  const text = fold && row.below ? fold.label(row) : shown.format.text(value);
  const name = shown.format.isFigure ? text : <MiddleCut text={text} />;
  const content = own ? own(row, text) : isLink ? <span class="link">{name}</span> : name;
  const tip = shown.format.isFigure ? { "data-tip": shown.format.full(value) } : { "data-tip-cut": true };
  return (
    <div
      class={`cell ${shown.format.isFigure ? "figure" : ""}`}
      role="gridcell"
      tabIndex={-1}
      data-copy={shown.format.copied(value)}
      {...tip}
    >
      {fold && <FoldButton fold={fold} row={row} name={text} />}
      {content}
    </div>
  );
}

/** Unfolds a row in place; a row that is below another one is indented instead. */
function FoldButton({ fold, row, name }: { fold: Fold; row: Row; name: string }) {
  if (row.below) return <span class="fold" />;
  const isOpen = fold.isOpen(row);
  return (
    <Button
      look="fold"
      name={t(isOpen ? "table.fold" : "table.unfold", { name })}
      expanded={isOpen}
      onClick={() => fold.toggle(row)}
    >
      {isOpen ? "▾" : "▸"}
    </Button>
  );
}
