import type { Rows } from "./rows";

/** All rows as CSV (RFC 4180): figures with every digit, unknown as an empty cell. */
export function localCsv(rows: Rows, keys: readonly string[]): string {
  const lines = [keys.map(quoted).join(",")];
  for (let place = 0; place < (rows.count ?? 0); place++) {
    const row = rows.at(place);
    if (row) lines.push(keys.map((key) => quoted(String(row.get(key) ?? ""))).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
