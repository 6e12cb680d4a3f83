import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import type { TableJson } from "../api/types.gen";
import { t, textOf, tOr } from "../i18n";
import { Facts } from "./facts";
import type { Cell, Row } from "./table/columnar";
import { type ColumnFormat, columnFormat } from "./table/columns";
import { ViewSource } from "./table/props";

/** Columns with yes (1) or no (0); only yes is shown. */
const FLAGS: ReadonlySet<string> = new Set(["communication"]);

/** All values of a row, by groups, each in its own unit. */
export function RowFacts({ table, row, children }: { table: TableJson; row: Row; children?: ComponentChildren }) {
  const { baseNs } = useContext(ViewSource);
  const known = table.columns.filter(({ key }) => {
    const value = row.get(key);
    return value !== null && value !== "" && !(FLAGS.has(key) && value === 0);
  });
  const groups = [...new Set(known.map((column) => column.group))];
  return (
    <div class="row-facts">
      {children && <div class="row-facts-links">{children}</div>}
      {groups.map((group) => (
        <section key={group}>
          <h3 class="small strong">{tOr(`table.group.${group}`, group)}</h3>
          <Facts
            facts={known
              .filter((column) => column.group === group)
              .map((column) => {
                const value = row.get(column.key);
                const format = columnFormat(column, [value], baseNs);
                const doc = textOf(column, "doc") || undefined;
                if (FLAGS.has(column.key)) return [format.header, t("table.yes"), doc];
                return [format.header, <Value key={column.key} format={format} value={value} />, doc];
              })}
          />
        </section>
      ))}
    </div>
  );
}

function Value({ format, value }: { format: ColumnFormat; value: Cell }) {
  if (!format.isFigure) return <>{format.text(value)}</>;
  return (
    <span class="mono" data-tip={format.full(value)}>
      {format.text(value)}
    </span>
  );
}
