import type { TableJson } from "../../api/types.gen";
import { t } from "../../i18n";
import { toCsv } from "./csv";

/** Saves the rows of a table that is here whole. */
export function CsvLink({ table, name }: { table: TableJson; name: string }) {
  const save = () => {
    const url = URL.createObjectURL(new Blob([toCsv(table)], { type: "text/csv" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <button type="button" class="link" data-tip={t("trace.csv")} onClick={save}>
      CSV ↓
    </button>
  );
}
