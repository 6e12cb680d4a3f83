/** Formats figures and values of the panels. */

import { asApiError } from "../../api/client";
import { inUnit, TIME_UNITS, unitFor } from "../../base/format";
import { textOf } from "../../i18n";

/** A time after the start of the capture: "+52 148.220 µs", in a unit that keeps the ns. */
export function offset(ns: number): string {
  const unit = unitFor(TIME_UNITS, ns).scale >= 1e6 ? { name: "µs", scale: 1e3 } : unitFor(TIME_UNITS, ns);
  return `${ns < 0 ? "" : "+"}${inUnit(ns, unit, 3)} ${unit.name}`;
}

/** The text of an error. */
export function messageOf(error: unknown): string {
  return textOf(asApiError(error), "message");
}

/** Formats a value of a slice's arguments; nested ones as JSON. */
export function argument(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? "";
}

/** Shapes, types and formats of kernel_details.csv, one text per tensor: "32,3,224,224 FLOAT NCHW". */
export function tensors(shapes: string | null, types: string | null, formats: string | null): string[] {
  const lists = [shapes, types, formats].map(parts);
  const count = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: count }, (_, index) =>
    lists
      .map((list) => list[index] ?? "")
      .filter(Boolean)
      .join(" "),
  );
}

function parts(text: string | null): string[] {
  const bare = (text ?? "").trim().replace(/^"+|"+$/g, "");
  return bare === "" || bare === "N/A" ? [] : bare.split(";").map((part) => part.trim());
}
