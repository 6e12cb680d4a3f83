/** A field of a CSV, null for unknown. */
export type Field = string | number | boolean | null | undefined;

/** CSV text (RFC 4180): figures with every digit, unknown as an empty cell. */
export function csvText(header: readonly string[], rows: Iterable<readonly Field[]>): string {
  const lines = [header.map(quoted).join(",")];
  for (const row of rows) lines.push(row.map((field) => quoted(String(field ?? ""))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Name of a column in a CSV, with the unit that its figures have there. */
export function csvHeader({ key, kind }: { key: string; kind: string }): string {
  const unit = { duration: "_ns", time: "_ns", bytes: "_bytes", traffic: "_bytes" }[kind] ?? "";
  return key.endsWith(unit) ? key : key + unit;
}
