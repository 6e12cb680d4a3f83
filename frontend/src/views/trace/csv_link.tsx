import type { TableJson } from "../../api/types.gen";
import { csvHeader, csvText, type Field } from "../../base/csv";
import { saveCsv } from "../../base/save";
import { t } from "../../i18n";

/** Saves the rows of a complete table. */
export function CsvLink({ table, name }: { table: TableJson; name: string }) {
  return (
    <button type="button" class="link" data-tip={t("trace.csv")} onClick={() => saveCsv(tableCsv(table), name)}>
      CSV ↓
    </button>
  );
}

/** A complete table as CSV: the header with keys and units, then the rows. */
export function tableCsv(table: TableJson): string {
  const rows = Array.from({ length: table.rows }, (_, row) =>
    table.columns.map((column) => table.data[column.key]?.[row] as Field),
  );
  return csvText(table.columns.map(csvHeader), rows);
}
