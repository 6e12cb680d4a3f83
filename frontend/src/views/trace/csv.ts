/** A complete table as CSV. */

import type { TableJson } from "../../api/types.gen";
import { csvHeader, csvText, type Field } from "../../base/csv";

/** The header with keys and units, then the rows. */
export function toCsv(table: TableJson): string {
  const rows = Array.from({ length: table.rows }, (_, row) =>
    table.columns.map((column) => table.data[column.key]?.[row] as Field),
  );
  return csvText(table.columns.map(csvHeader), rows);
}
