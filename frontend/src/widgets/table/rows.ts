import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError, getTable, type Query } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import { Lru } from "../../base/lru";
import { filterRows, type Order, type Row, rowAt, sortRows, type Where } from "./columnar";

/** The rows that fit, in order, however they come. */
export interface Rows {
  /** How many fit; null until the server has told. */
  count: number | null;
  /** How many there are without any filter. */
  all: number;
  /** A row by its place; null while its page is under way. */
  at: (place: number) => Row | null;
  /** Say which places are on screen. */
  want: (from: number, to: number) => void;
  error: ApiError | null;
  /** Ask again for what failed. */
  retry: () => void;
  /** Values that stand for the whole, to choose units and widths by. */
  sample: TableJson["data"];
}

export interface RowQuery {
  filter: string;
  where: readonly Where[];
  order: Order;
}

const PAGE = 200;

/** Whether the view brought every row; else pages come from /api/table. */
export function isWhole(table: TableJson): boolean {
  return table.rows === table.total;
}

/** Rows of a table that is here whole: sorted and filtered in place. */
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

/** The parameters that make the server sort and filter as the table shows. */
export function serverQuery(query: RowQuery): Query {
  return {
    sort: query.order.key,
    desc: query.order.key && query.order.desc ? 1 : null,
    filter: query.filter.trim(),
    where: query.where.map(({ column, op = "eq", value }) => `${column}:${op}:${value ?? ""}`),
  };
}

/** Rows of a big table, fetched by pages as they come into sight. */
export function useRemoteRows(table: TableJson, viewQuery: Query, query: RowQuery, enabled: boolean): Rows {
  const asked = { ...viewQuery, ...serverQuery(query) };
  const key = JSON.stringify(asked);
  const pages = useRef(new Lru<number, TableJson>(50));
  const pending = useRef(new Map<number, AbortController>());
  // Not asked for again until the user says so: each answer draws the table, and that asks for what it lacks.
  const failed = useRef(new Set<number>());
  const [total, setTotal] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [, setArrived] = useState(0);

  const fetchPage = (page: number) => {
    if (pages.current.get(page) || pending.current.has(page) || failed.current.has(page)) return;
    const controller = new AbortController();
    pending.current.set(page, controller);
    getTable(table.id, { ...asked, offset: page * PAGE, limit: PAGE }, controller.signal).then(
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
    // The count of before stays until the new one is known: the table keeps its place on the page.
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
    // The view sent the first rows in its own order; the first in the asked order may be far larger.
    sample: pages.current.get(0)?.data ?? table.data,
  };
}
