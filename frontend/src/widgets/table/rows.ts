import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError, getTable, type Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import { Lru } from "../../base/lru";
import { filterRows, type Order, type Row, rowAt, sortRows, type Where } from "./columnar";

/** The rows that match, in order, from memory or from the server. */
export interface Rows {
  /** Number of matching rows; null until known. */
  count: number | null;
  /** Number of rows without any filter. */
  all: number;
  /** A row by its index; null while its page is loading. */
  at: (place: number) => Row | null;
  /** Reports the visible rows. */
  want: (from: number, to: number) => void;
  error: ApiError | null;
  /** Retries failed requests. */
  retry: () => void;
  /** Sample values, to choose units and widths. */
  sample: TableJson["data"];
}

export interface RowQuery {
  filter: string;
  where: readonly Where[];
  order: Order;
}

const PAGE = 200;

/** True if the view sent every row; otherwise pages come from /api/table. */
export function isWhole(table: TableJson): boolean {
  return table.rows === table.total;
}

/** Rows of a complete table: sorted and filtered in the page. */
export function useInlineRows(table: TableJson, query: RowQuery): Rows {
  const where = JSON.stringify(query.where);
  const { key, desc } = query.order;
  const kept = useMemo(() => filterRows(table, query.filter, query.where), [table, query.filter, where]);
  const sorted = useMemo(() => {
    const column = table.columns.find((item) => item.key === key);
    const isAsSent = key === table.sort && desc === table.desc;
    return column && !isAsSent ? sortRows(kept, table.data[key] ?? [], column.kind === "text", desc) : kept;
  }, [table, kept, key, desc]);
  return {
    count: sorted.length,
    all: table.total,
    at: (place) => {
      const index = sorted[place];
      return index === undefined ? null : rowAt(table.data, index);
    },
    want: () => {},
    error: null,
    retry: () => {},
    sample: table.data,
  };
}

/** Query parameters for the table's sorting and filters. */
export function serverQuery(query: RowQuery): Query {
  return {
    sort: query.order.key,
    desc: query.order.key && query.order.desc ? 1 : null,
    filter: query.filter.trim(),
    where: query.where.map(({ column, op = "eq", value }) => `${column}:${op}:${value ?? ""}`),
  };
}

/** Rows of a large table, fetched by pages when they become visible. */
export function useRemoteRows(
  table: TableJson,
  viewQuery: Query,
  query: RowQuery,
  enabled: boolean,
  fetchRows: (query: Query, signal: AbortSignal) => Promise<TableJson> = (asked, signal) =>
    getTable(table.id, asked, signal),
): Rows {
  const asked = { ...viewQuery, ...serverQuery(query) };
  const key = JSON.stringify(asked);
  const pages = useRef(new Lru<number, TableJson>(50));
  const pending = useRef(new Map<number, AbortController>());
  // Failed pages are retried only by the user: each answer redraws the table, which requests missing pages.
  const failed = useRef(new Set<number>());
  const [total, setTotal] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [, setArrived] = useState(0);

  const fetchPage = (page: number) => {
    if (pages.current.get(page) || pending.current.has(page) || failed.current.has(page)) return;
    const controller = new AbortController();
    pending.current.set(page, controller);
    fetchRows({ ...asked, offset: page * PAGE, limit: PAGE }, controller.signal).then(
      (answer) => {
        pending.current.delete(page);
        pages.current.set(page, answer);
        setTotal(answer.total);
        setArrived((count) => count + 1);
        if (failed.current.size === 0) setError(null);
      },
      (reason: unknown) => {
        if (controller.signal.aborted) return;
        pending.current.delete(page);
        failed.current.add(page);
        setError(asApiError(reason));
      },
    );
  };
  useEffect(() => {
    if (!enabled) return;
    // The previous count stays until the new one is known, so that the table keeps its height.
    pages.current.clear();
    failed.current.clear();
    fetchPage(0);
    return () => {
      for (const controller of pending.current.values()) controller.abort();
      pending.current.clear();
    };
  }, [key, table, enabled]);

  return {
    count: total,
    all: table.total,
    at: (place) => {
      const page = pages.current.get(Math.floor(place / PAGE));
      const index = place % PAGE;
      return page && index < page.rows ? { ...rowAt(page.data, index), index: place } : null;
    },
    want: (from, to) => {
      for (let page = Math.floor(from / PAGE); page <= Math.floor(to / PAGE); page++) fetchPage(page);
    },
    error,
    retry: () => {
      const again = [...failed.current];
      failed.current.clear();
      again.forEach(fetchPage);
    },
    // The view sent the first rows in its own order; in the chosen order the values may be far larger.
    sample: pages.current.get(0)?.data ?? table.data,
  };
}
