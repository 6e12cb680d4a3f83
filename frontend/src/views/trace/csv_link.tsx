import type { TableJson } from "../../api/types.gen";
import { saveCsv } from "../../base/save";
import { t } from "../../i18n";
import { toCsv } from "./csv";

/** Saves the rows of a complete table. */
export function CsvLink({ table, name }: { table: TableJson; name: string }) {
  return (
    <button type="button" class="link" data-tip={t("trace.csv")} onClick={() => saveCsv(toCsv(table), name)}>
      CSV ↓
    </button>
  );
}
