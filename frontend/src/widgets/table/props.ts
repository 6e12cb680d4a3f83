import type { ComponentChildren } from "preact";
import type { Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import type { Row, Where } from "./columnar";
import type { Filter } from "./no_rows";

export interface DataTableProps {
  /** Name for screen readers where it is not that of the card around. */
  name?: string;
  /** From a view's answer. Its id ("kernel.all") is also the route of further pages and of the CSV. */
  table: TableJson;
  /** The view's query (`view.query`), and more parameters that the table's route knows. */
  query: Query;
  /** Origin of "time" columns (`answer.base_ns`). */
  baseNs: string;
  /** Rows come from the server even where the view brought them all (a query that the view was not asked with). */
  remote?: boolean;
  /** The table was made here: its CSV is too. */
  isLocal?: boolean;
  /** Columns to begin with, in order; all when left out. The user can show the others. */
  columns?: readonly string[];
  /** Groups of columns that are read against each other, and so have one unit. */
  compared?: readonly (readonly string[])[];
  /** A strip of bars after this column, the colour of a row's bar, and rows without a bar, which set no scale. */
  bar?: { column: string; color?: (row: Row) => string; isApart?: (row: Row) => boolean };
  /** Own content of cells by column; gets the formatted text. */
  cell?: Readonly<Record<string, (row: Row, text: string) => ComponentChildren>>;
  /** Shown below a row that was clicked. */
  details?: (row: Row) => ComponentChildren;
  /** Instead of details: what a click on a row does. */
  onOpen?: (row: Row) => void;
  /** Conditions from charts and other controls. */
  where?: readonly Where[];
  /** The same in words, for the user whom they leave without any row. */
  filters?: readonly Filter[];
  /** Controls at the left of the filter and after it. */
  tools?: ComponentChildren;
  moreTools?: ComponentChildren;
  /** false: rows only, without filter, column choice, count and CSV (a short excerpt). */
  hasTools?: boolean;
  /** What the filter's field says while empty. */
  placeholder?: string;
}
