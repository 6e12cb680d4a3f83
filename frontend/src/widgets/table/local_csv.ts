import { csvText } from "../../base/csv";
import type { Rows } from "./rows";

/** All rows as CSV. */
export function localCsv(rows: Rows, keys: readonly string[]): string {
  const places = Array.from({ length: rows.count ?? 0 }, (_, place) => rows.at(place));
  return csvText(
    keys,
    places.filter((row) => row !== null).map((row) => keys.map((key) => row.get(key))),
  );
}
