import type { TableJson } from "../api/types.gen";
import { t } from "../i18n";
import type { Where } from "./table/columnar";
import { columnTitle } from "./table/columns";

/** What a click on a chart chose: rows whose column has this value ("" for unknown). */
export interface Pick {
  column: string;
  value: string;
}

/** "column:value" of the URL. */
export function parsePick(text: string): Pick | null {
  const at = text.indexOf(":");
  return at > 0 ? { column: text.slice(0, at), value: text.slice(at + 1) } : null;
}

export function formatPick(column: string, value: string | null): string | null {
  return value === null ? null : `${column}:${value}`;
}

/** The condition on a table; none where the table has no such column. */
export function pickWhere(table: TableJson, pick: Pick | null): Where[] {
  if (!pick || !table.columns.some((column) => column.key === pick.column)) return [];
  return [{ column: pick.column, value: pick.value === "" ? null : pick.value }];
}

/** The condition in words, with a way out of it. */
export function PickChip({ table, pick, onClear }: { table: TableJson; pick: Pick | null; onClear: () => void }) {
  const column = table.columns.find((item) => item.key === pick?.column);
  if (!pick || !column) return null;
  return (
    <button type="button" class="control on" data-tip={t("table.clear")} onClick={onClear}>
      <span class="ellipsis" style={{ maxWidth: "260px" }}>
        {columnTitle(column)}: {pick.value || t("core.unknown")}
      </span>
      <span aria-hidden="true">✕</span>
    </button>
  );
}
