import { BYTE_UNITS, decimal, unitFor } from "../../base/format";
import type { Where } from "../../widgets";

/** Limits of the size filter, bytes; null: no limit. */
export interface SizeLimits {
  least: number | null;
  most: number | null;
}

const MIB = 1024 ** 2;

/** Bytes of "512 KiB", "1.5m", "64" (MiB without a unit); null for "", undefined for invalid text. */
export function parseSize(text: string): number | null | undefined {
  const found = /^\s*(\d+(?:[.,]\d+)?)\s*([bkmgt]?)(?:i?b)?\s*$/i.exec(text);
  if (text.trim() === "") return null;
  if (!found) return undefined;
  const unit = (found[2] ?? "").toUpperCase();
  const scale = unit === "" ? MIB : (BYTE_UNITS["BKMGT".indexOf(unit)]?.scale ?? MIB);
  return Math.round(Number((found[1] ?? "").replace(",", ".")) * scale);
}

/** A size that `parseSize` reads back: "512 KiB". */
export function sizeText(bytes: number | null): string {
  if (bytes === null) return "";
  const unit = unitFor(BYTE_UNITS, bytes);
  return `${decimal(bytes / unit.scale).replaceAll("\u202f", "")} ${unit.name}`;
}

/** "512 KiB … 2 GiB"; an open end is 0 or infinity. */
export function limitsText({ least, most }: SizeLimits): string {
  return `${sizeText(least) || "0"} … ${sizeText(most) || "∞"}`;
}

/** From the URL: bytes as digits. */
export function limitOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}

/** The limits as conditions of the table; none while both are open. */
export function sizeWhere({ least, most }: SizeLimits): Where[] {
  const out: Where[] = [];
  if (least !== null) out.push({ column: "size_bytes", op: "ge", value: least });
  if (most !== null) out.push({ column: "size_bytes", op: "le", value: most });
  return out;
}
