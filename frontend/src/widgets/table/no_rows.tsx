import { t } from "../../i18n";
import { Button, TextButton } from "../button";

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
