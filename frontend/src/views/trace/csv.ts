/** A table that is here whole, as CSV. */

import type { TableJson } from "../../api/types.gen";
import { csvHeader } from "../../base/csv";

/** RFC 4180; a cell that a spreadsheet would take for a formula gets an apostrophe. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Header of keys with their units, then the rows. */
export function toCsv(table: TableJson): string {
  const keys = table.columns.map((column) => column.key);
  const lines = [table.columns.map((column) => cell(csvHeader(column))).join(",")];
  for (let row = 0; row < table.rows; row++) {
    lines.push(keys.map((key) => cell(table.data[key]?.[row])).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}
