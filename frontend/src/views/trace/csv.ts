/** A table that is here whole, as CSV. */

import type { TableJson } from "../../api/types.gen";
import { csvText, type Field } from "../../base/csv";

/** Header of keys, then the rows; times in ns. */
export function toCsv(table: TableJson): string {
  const keys = table.columns.map((column) => column.key);
  const rows = Array.from({ length: table.rows }, (_, row) => keys.map((key) => table.data[key]?.[row] as Field));
  return csvText(keys, rows);
}
