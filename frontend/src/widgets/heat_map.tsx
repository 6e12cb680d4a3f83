import { useRef } from "preact/hooks";
import * as format from "../base/format";
import { useRowWindow } from "./use_row_window";

interface HeatCell {
  row: string;
  column: string;
  /** null: no value for this pair. */
  value: number | null;
  /** Tooltip with all figures of the pair. */
  tip?: string;
}

interface Props {
  /** Name of the figure, for screen readers. */
  label: string;
  rows: readonly { id: string; label: string }[];
  columns: readonly { id: string; label: string }[];
  cells: readonly HeatCell[];
  /** Figure of a cell. */
  text: (value: number) => string;
  /** True if cells are too small for figures: a colour scale replaces them. */
  isSmall?: boolean;
}

/** Height of a row with its spacing, px; same values in charts.css, and in distributed.css for small cells. */
const ROW_PX = 28;
const SMALL_ROW_PX = 15;
/** Opacity of the smallest and of the largest value's colour, percent: text is readable on both. */
const PALEST = 12;
const FULLEST = 60;
/** Values that differ by less than this share of the largest have the same colour. */
const SPREAD = 0.2;

/** Opacity of a value's colour, percent. */
export function strengthOf(value: number, least: number, most: number): number {
  const bottom = Math.min(least, most * (1 - SPREAD));
  return Math.round(PALEST + (most > bottom ? (value - bottom) / (most - bottom) : 1) * (FULLEST - PALEST));
}

/** A matrix whose cells are filled by size: pale for the smallest, strong for the largest. */
export function HeatMap({ label, rows, columns, cells, text, isSmall = false }: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const rowPx = isSmall ? SMALL_ROW_PX : ROW_PX;
  const shown = useRowWindow(body, { count: rows.length, rowPx });
  const byPlace = new Map(cells.map((cell) => [`${cell.row}\n${cell.column}`, cell]));
  const values = cells.map((cell) => cell.value).filter((value) => value !== null);
  // In a loop: some hundred ranks have too many links for the arguments of one call.
  const least = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return (
    <>
      {isSmall && values.length > 0 && <Scale least={least} most={most} text={text} />}
      <div style={{ overflow: "auto" }}>
        <table class="heat" aria-label={label}>
          <thead>
            <tr>
              <th />
              {columns.map((column) => (
                <th scope="col" key={column.id}>
                  {column.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody ref={body}>
            {shown.isVirtual && <tr style={{ height: `${shown.top}px` }} />}
            {rows.slice(shown.from, shown.to).map((row) => (
              <tr key={row.id}>
                <th scope="row">{row.label}</th>
                {columns.map((column) => {
                  const cell = byPlace.get(`${row.id}\n${column.id}`);
                  const value = cell?.value ?? null;
                  if (!cell || value === null) return <td key={column.id}>{isSmall ? "" : format.UNKNOWN}</td>;
                  return (
                    <td
                      key={column.id}
                      style={{ background: shade(strengthOf(value, least, most)) }}
                      data-tip={cell.tip}
                    >
                      {isSmall ? "" : text(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
            {shown.isVirtual && (
              <tr style={{ height: `${shown.height - shown.top - (shown.to - shown.from) * rowPx}px` }} />
            )}
          </tbody>
        </table>
      </div>
    </>
  );
}

function shade(strength: number): string {
  return `color-mix(in srgb, var(--c-compute) ${strength}%, var(--surface))`;
}

/** The colour scale. */
function Scale({ least, most, text }: Pick<Props, "text"> & { least: number; most: number }) {
  const ends = [least, most].map((value) => shade(strengthOf(value, least, most)));
  return (
    <p class="row small" style={{ marginBottom: "4px" }}>
      <span class="mono">{text(least)}</span>
      <i class="heat-scale" style={{ background: `linear-gradient(90deg, ${ends.join(", ")})` }} />
      <span class="mono">{text(most)}</span>
    </p>
  );
}
