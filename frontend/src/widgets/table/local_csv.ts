import type { ColumnJson } from "../../api/types.gen";
import { csvHeader, csvText } from "../../base/csv";
import type { Rows } from "./rows";

/** All rows with these columns as CSV. */
export function localCsv(rows: Rows, columns: readonly ColumnJson[]): string {
  const places = Array.from({ length: rows.count ?? 0 }, (_, place) => rows.at(place));
  return csvText(
    columns.map(csvHeader),
    places.filter((row) => row !== null).map((row) => columns.map(({ key }) => row.get(key))),
  );
}
