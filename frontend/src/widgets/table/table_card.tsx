import type { TableJson } from "../../api/types.gen";
import { Card, type CardProps } from "../card";
import { DataTable } from "./data_table";
import type { DataTableProps } from "./props";

type Props = Omit<CardProps, "children"> & Omit<DataTableProps, "table"> & { table: TableJson | undefined };

/** A card with a table; nothing without the table. */
export function TableCard({ title, subtitle, help, actions, table, ...rest }: Props) {
  if (!table) return null;
  return (
    <Card {...{ title, subtitle, help, actions }}>
      <DataTable table={table} {...rest} />
    </Card>
  );
}
