import type { ColumnJson, TableJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t, textOf } from "../../i18n";
import type { Cell } from "./columnar";

/** Format of one column: one unit and one number of decimals. */
export interface ColumnFormat {
  /** Title with unit, for the header. */
  header: string;
  isFigure: boolean;
  /** Text of a copied cell: as shown, with its unit, without thousands separators; "" for unknown. */
  copied: (value: Cell) => string;
  text: (value: Cell) => string;
  /** All digits, for the tooltip. */
  full: (value: Cell) => string;
}

/** The column's title in the user's language. */
export function columnTitle(column: ColumnJson): string {
  return textOf(column, "title") || column.key;
}

/**
 * Chooses unit and decimals from the sampled values of the column and of the columns it is compared with. `baseNs`:
 * origin of "time" columns.
 */
export function columnFormat(column: ColumnJson, values: readonly unknown[], baseNs: string): ColumnFormat {
  const title = columnTitle(column);
  if (column.kind === "text") {
    const text = (value: Cell) => (value === null || value === "" ? format.UNKNOWN : String(value));
    return { header: title, isFigure: false, copied: text, text, full: text };
  }
  const numbers = values as readonly (number | null)[];
  switch (column.kind) {
    case "duration":
      return scaledColumn(title, numbers, format.tableUnit(format.TIME_UNITS, numbers), format.exactDuration);
    case "time":
      return scaledColumn(
        title,
        numbers,
        format.columnUnit(format.MOMENT_UNITS, numbers),
        (value) => {
          const absolute = format.absoluteNs(baseNs, value);
          return absolute === null ? t("table.unknown") : `+${format.exactDuration(value)}\n${absolute} ns`;
        },
        3,
        format.fixedDecimals, // a time may be close to the first
      );
    case "bytes":
      return scaledColumn(title, numbers, format.tableUnit(format.BYTE_UNITS, numbers), format.exactBytes, 2);
    case "traffic":
      return scaledColumn(title, numbers, format.tableUnit(format.TRAFFIC_UNITS, numbers), format.exactBytes, 2);
    case "ratio":
      return figures(
        title,
        (value) => format.percentOfRatio(value),
        (value) => format.percentOfRatio(value, 6),
      );
    case "percent":
      return figures(
        title,
        (value) => format.percent(value),
        (value) => format.percent(value, 6),
      );
    case "bandwidth":
      return scaledColumn(title, numbers, { name: "GB/s", scale: 1 }, (value) => `${format.decimal(value, 9)} GB/s`);
    case "int": {
      // Ids are names made of digits: no thousands separators.
      const text =
        column.group === "identity" ? (value: format.Maybe) => String(value ?? format.UNKNOWN) : format.integer;
      return figures(title, text, text);
    }
    default:
      return scaledColumn(title, numbers, { name: "", scale: 1 }, (value) => format.decimal(value, 9));
  }
}

function scaledColumn(
  title: string,
  values: readonly (number | null)[],
  unit: format.Unit,
  full: (value: format.Maybe) => string,
  most = 3,
  write: typeof format.fixedDecimals = format.nonZeroDecimals,
): ColumnFormat {
  const decimals = format.columnDecimals(values, unit.scale, most);
  const text = (value: format.Maybe) => write(format.isKnown(value) ? value / unit.scale : null, decimals);
  // Without values, as while loading, there is no unit.
  const name = values.some(format.isKnown) ? unit.name : "";
  return figures(name ? `${title} ${name}` : title, text, full, name);
}

function figures(
  header: string,
  text: (value: format.Maybe) => string,
  full: (value: format.Maybe) => string,
  unit = "",
): ColumnFormat {
  const asNumber = (value: Cell) => (typeof value === "number" ? value : null);
  return {
    header,
    isFigure: true,
    copied: (value) => {
      const known = asNumber(value);
      return known === null ? "" : `${text(known).replaceAll("\u202f", "")} ${unit}`.trim();
    },
    text: (value) => text(asNumber(value)),
    full: (value) => (asNumber(value) === null ? t("table.unknown") : full(asNumber(value))),
  };
}

/** A column that the page computes; title and doc are in its language. */
export function pageColumn(key: string, kind: ColumnJson["kind"], title: string, doc = ""): ColumnJson {
  return { key, kind, title, doc, group: "", texts: {} };
}

/** Key, kind, title and doc of a column, and what gives the value of a cell: by default the field of that name. */
export type PageColumn<Item> = readonly [
  key: string,
  kind: ColumnJson["kind"],
  title: string,
  doc?: string,
  pick?: (item: Item, at: number) => unknown,
];

/** A table that the page computes. */
export function pageTable<Item>(id: string, items: readonly Item[], given: readonly PageColumn<Item>[]): TableJson {
  const columns = given.map(([key, kind, title, doc]) => pageColumn(key, kind, title, doc));
  const values = given.map(([key, , , , pick = (item: Item) => item[key as keyof Item]]) => [key, items.map(pick)]);
  const [rows, data] = [items.length, Object.fromEntries(values) as TableJson["data"]];
  return { id, columns, data, offset: 0, rows, total: rows, sort: "", desc: false };
}
