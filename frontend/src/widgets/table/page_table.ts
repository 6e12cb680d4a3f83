import type { ColumnJson, TableJson } from "../../api/types.gen";

/** A column that the page computes; title and doc are in its language. */
export function pageColumn(key: string, kind: ColumnJson["kind"], title: string, doc = ""): ColumnJson {
  return { key, kind, title, doc, group: "", texts: {} };
}

/** A table that the page computes, with all its rows. */
export function pageTable(id: string, columns: ColumnJson[], data: TableJson["data"], rows: number): TableJson {
  return { id, columns, data, offset: 0, rows, total: rows, sort: "", desc: false };
}
