import * as format from "../base/format";

export interface HeatCell {
  row: string;
  column: string;
  /** null: no such pair. */
  value: number | null;
  /** All that is known of the pair. */
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
  /** Cells are too small for their figures: a scale says what the colours stand for. */
  isSmall?: boolean;
  /** CSS colour of the largest value. */
  color?: string;
  selected?: { row: string; column: string } | null;
  onSelect?: (row: string, column: string) => void;
}

/** Strength of the smallest value's colour, in percent. */
const PALEST = 35;

/** A matrix whose cells are filled by size: pale for the smallest, full for the largest. */
export function HeatMap({
  label,
  rows,
  columns,
  cells,
  text,
  isSmall = false,
  color = "var(--c-compute)",
  selected,
  onSelect,
}: Props) {
  const byPlace = new Map(cells.map((cell) => [`${cell.row}\n${cell.column}`, cell]));
  const values = cells.map((cell) => cell.value).filter((value) => value !== null);
  const least = Math.min(...values);
  const most = Math.max(...values);
  const fill = (value: number) =>
    Math.round(PALEST + (most > least ? (value - least) / (most - least) : 1) * (100 - PALEST));
  return (
    <>
      {isSmall && values.length > 0 && <Scale least={least} most={most} text={text} color={color} />}
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
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <th scope="row">{row.label}</th>
                {columns.map((column) => {
                  const cell = byPlace.get(`${row.id}\n${column.id}`);
                  const value = cell?.value ?? null;
                  if (!cell || value === null) return <td key={column.id}>{format.UNKNOWN}</td>;
                  const isSelected = selected?.row === row.id && selected.column === column.id;
                  const strength = fill(value);
                  const style = {
                    background: `color-mix(in srgb, ${color} ${strength}%, var(--surface))`,
                    color: strength > 60 ? "#fff" : "var(--text)",
                    outline: isSelected ? "2px solid var(--text)" : "none",
                  };
                  return (
                    <td key={column.id} class={onSelect ? "can" : ""} style={style} data-tip={cell.tip}>
                      {onSelect ? (
                        <button type="button" class="plain-button" onClick={() => onSelect(row.id, column.id)}>
                          {isSmall ? "" : text(value)}
                        </button>
                      ) : isSmall ? (
                        ""
                      ) : (
                        text(value)
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** What pale and full stand for. */
function Scale({ least, most, text, color }: Pick<Props, "text"> & { least: number; most: number; color: string }) {
  const shade = (strength: number) => `color-mix(in srgb, ${color} ${strength}%, var(--surface))`;
  return (
    <p class="row small" style={{ marginBottom: "4px" }}>
      <span class="mono">{text(least)}</span>
      <i class="heat-scale" style={{ background: `linear-gradient(90deg, ${shade(PALEST)}, ${shade(100)})` }} />
      <span class="mono">{text(most)}</span>
    </p>
  );
}
