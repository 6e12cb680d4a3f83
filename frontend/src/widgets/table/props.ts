import type { ComponentChildren } from "preact";
import type { Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import type { Row, Where } from "./columnar";
import type { Filter } from "./no_rows";

export interface DataTableProps {
  /** Name for screen readers; default: the title of the card. */
  name?: string;
  /** From a view's answer. Its id ("kernel.all") is also the route of further pages and the CSV. */
  table: TableJson;
  /** The view's query (`view.query`), and further parameters of the table's route. */
  query: Query;
  /** Origin of "time" columns (`answer.base_ns`). */
  baseNs: string;
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
  /**
   * A strip of bars after this column, the colour of a row's bar, and rows without a bar, which do not affect the
   * scale.
   */
  bar?: { column: string; color?: (row: Row) => string; isApart?: (row: Row) => boolean };
  /** Custom content of cells by column; gets the formatted text. */
  cell?: Readonly<Record<string, (row: Row, text: string) => ComponentChildren>>;
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
  /** Placeholder of the filter field. */
  placeholder?: string;
}
