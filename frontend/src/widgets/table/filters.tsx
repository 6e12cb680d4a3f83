import type { TableJson } from "../../api/types.gen";
import { t } from "../../i18n";
import { Button, TextButton } from "../button";
import type { Where } from "./columnar";
import { columnTitle } from "./columns";

/** The text of a filter, and a function that removes it. */
export interface Filter {
  label: string;
  clear: () => void;
}

/** The filter text as a filter; none if empty. */
export function textFilter(typed: string, clear: () => void): Filter[] {
  const text = typed.trim();
  return text === "" ? [] : [{ label: t("table.none.text", { text }), clear }];
}

/** Shown instead of rows: the active filters, each with a button that removes it. */
export function NoRows({ filters }: { filters: readonly Filter[] }) {
  return (
    <div class="row no-rows muted">
      <span>{t(filters.length > 0 ? "table.none.filters" : "table.none")}</span>
      {filters.map(({ label, clear }) => (
        <Button key={label} look="chip" label={t("table.clear.one", { filter: label })} onClick={clear}>
          <span class="ellipsis">{label}</span>
          <span aria-hidden="true">✕</span>
        </Button>
      ))}
      {filters.length > 1 && (
        <TextButton
          onClick={() => {
            for (const { clear } of filters) clear();
          }}
        >
          {t("table.clear.all")}
        </TextButton>
      )}
    </div>
  );
}

/** The value chosen by a click on a chart: filters a column by it ("" for unknown). */
export interface Pick {
  column: string;
  value: string;
}

/** Parses "column:value" of the URL. */
export function parsePick(text: string): Pick | null {
  const at = text.indexOf(":");
  return at > 0 ? { column: text.slice(0, at), value: text.slice(at + 1) } : null;
}

export function formatPick(column: string, value: string | null): string | null {
  return value === null ? null : `${column}:${value}`;
}

/** The condition on a table; none if the table lacks the column. */
export function pickWhere(table: TableJson, pick: Pick | null): Where[] {
  if (!pick || !table.columns.some((column) => column.key === pick.column)) return [];
  return [{ column: pick.column, value: pick.value === "" ? null : pick.value }];
}

/** The text of the condition; none if the table lacks the column. */
export function pickFilters(table: TableJson, pick: Pick | null, clear: () => void): Filter[] {
  const column = table.columns.find((item) => item.key === pick?.column);
  return pick && column ? [{ label: `${columnTitle(column)}: ${pick.value || t("core.unknown")}`, clear }] : [];
}

/** The conditions above the table, each with a button that removes it. */
export function PickChips({ filters }: { filters: readonly Filter[] }) {
  return (
    <>
      {filters.map(({ label, clear }) => (
        <Button key={label} look="control on" tip={t("table.clear")} onClick={clear}>
          <span class="ellipsis" style={{ maxWidth: "260px" }}>
            {label}
          </span>
          <span aria-hidden="true">✕</span>
        </Button>
      ))}
    </>
  );
}
