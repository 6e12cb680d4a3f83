import { type ComponentChildren, createContext } from "preact";
import type { Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import type { Row, Where } from "./columnar";
import type { Filter } from "./filters";

/** Where the tables of a view come from: its query, and the origin of "time" columns. */
export const ViewSource = createContext<{ query: Query; baseNs: string }>({ query: {}, baseNs: "0" });

/** The props of a table with its source. */
export type SourcedTable = DataTableProps & { query: Query; baseNs: string };

/** A finer table of the server, whose rows belong to those of this one. */
export interface Unfold {
  /** Its id. */
  table: string;
  /** Columns by which a row finds its own; both tables have them, or neither. */
  keys: readonly string[];
  /** What stands in the first column of text. */
  label: (row: Row) => string;
}

export interface DataTableProps {
  /** Name for screen readers; default: the title of the card. */
  name?: string;
  /** From a view's answer. Its id ("kernel.all") is also the route of further pages and the CSV. */
  table: TableJson;
  /** Query of the table's route and origin of "time" columns; default: those of the view. */
  query?: Query;
  baseNs?: string;
  /** Fetches rows from the server even if the view sent all of them (for another query than the view's). */
  remote?: boolean;
  /** Fetches rows from another route than /api/table; `query` has sort, desc, offset and limit. */
  fetchRows?: (query: Query, signal: AbortSignal) => Promise<TableJson>;
  /** True for a table computed in the page: its CSV is, too. */
  isLocal?: boolean;
  /** Initial columns in order; default: all. The user can show the others. */
  columns?: readonly string[];
  /** Groups of columns that share a unit because they are compared. */
  compared?: readonly (readonly string[])[];
  /** A strip of bars after this column, a bar's colour, and rows without one, which do not affect the scale. */
  bar?: { column: string; color?: (row: Row) => string; isApart?: (row: Row) => boolean };
  /** Shows the sum of a column of the filtered rows; `steps`: and its mean per step. */
  sum?: { column: string; steps: number };
  /** Custom content of cells by column; gets the formatted text. */
  cell?: Readonly<Record<string, (row: Row, text: string) => ComponentChildren>>;
  /** Columns that give way where the table is too wide, the first of them first; "bar": the strip of bars. Columns that the user chose stay. */
  yields?: readonly string[];
  /** Rows that a row unfolds to. */
  unfold?: Unfold | null | undefined;
  /** Details below a clicked row. */
  details?: (row: Row) => ComponentChildren;
  /** Action of a click on a row, instead of details. */
  onOpen?: (row: Row) => void;
  /** Conditions from charts and other controls. */
  where?: readonly Where[];
  /** Labels of these conditions, shown if no row matches. */
  filters?: readonly Filter[];
  /** Controls to the left of the filter and after it. */
  tools?: ComponentChildren;
  moreTools?: ComponentChildren;
  /** false: rows only, without filter, column menu, count and CSV (a short excerpt). */
  hasTools?: boolean;
}
