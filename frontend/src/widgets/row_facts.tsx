import type { ComponentChildren } from "preact";
import type { TableJson } from "../api/types.gen";
import { t, textOf, tOr } from "../i18n";
import type { Cell, Row } from "./table/columnar";
import { columnFormat } from "./table/columns";

interface Props {
  table: TableJson;
  row: Row;
  baseNs: string;
  children?: ComponentChildren;
}

/** Columns with yes (1) or no (0); only yes is shown. */
const FLAGS: ReadonlySet<string> = new Set(["communication"]);

function isTelling(key: string, value: Cell): boolean {
  return value !== null && value !== "" && !(FLAGS.has(key) && value === 0);
}

/** All values of a row, by groups, each in its own unit. */
export function RowFacts({ table, row, baseNs, children }: Props) {
  const known = table.columns.filter((column) => isTelling(column.key, row.get(column.key)));
  const groups = [...new Set(known.map((column) => column.group))];
  return (
    <div class="row-facts">
      {children && <div class="row-facts-links">{children}</div>}
      {groups.map((group) => (
        <section key={group}>
          <h3>{tOr(`table.group.${group}`, group)}</h3>
          <dl class="facts">
            {known
              .filter((column) => column.group === group)
              .map((column) => {
                const value = row.get(column.key);
                const format = columnFormat(column, [value], baseNs);
                return [
                  <dt key={column.key} data-tip={textOf(column, "doc") || undefined}>
                    {format.header}
                  </dt>,
                  <dd
                    key={`${column.key} value`}
                    class={format.isFigure && !FLAGS.has(column.key) ? "mono" : ""}
                    data-tip={format.isFigure ? format.full(value) : undefined}
                  >
                    {FLAGS.has(column.key) ? t("table.yes") : format.text(value)}
                  </dd>,
                ];
              })}
          </dl>
        </section>
      ))}
    </div>
  );
}
