/** A field of a CSV, null for unknown. */
export type Field = string | number | boolean | null | undefined;

/** Texts that a spreadsheet would evaluate as a formula. */
const FORMULA = /^[=+\-@＝＋－＠\t\r]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/** CSV text (RFC 4180): figures with every digit, unknown as an empty cell, an apostrophe before a formula. */
export function csvText(header: readonly string[], rows: Iterable<readonly Field[]>): string {
  const lines = [header.map(csvField).join(",")];
  for (const row of rows) lines.push(row.map(csvField).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function csvField(field: Field): string {
  const text = String(field ?? "");
  const safe = typeof field === "string" && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Name of a column in a CSV, with its unit. */
export function csvHeader({ key, kind }: { key: string; kind: string }): string {
  const unit = { duration: "_ns", time: "_ns", bytes: "_bytes", traffic: "_bytes" }[kind] ?? "";
  return key.endsWith(unit) ? key : key + unit;
}
