import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, getTable } from "../../api/client";
import type { TableJson } from "../../api/types.gen";
import { Lru } from "../../base/lru";
import { type Order, type Row, rowAt, sortRows } from "./columnar";
import type { SourcedTable, Unfold } from "./props";
import { type Rows, serverQuery } from "./rows";

/** Most rows that a row unfolds to: those that the server sends at once. */
const MOST = 100_000;
const ALL = { filter: "", where: [], order: { key: "", desc: false } };

interface Asked extends Pick<SourcedTable, "unfold" | "table" | "query"> {
  order: Order;
  /** The unfolded rows, as in the address. */
  unfolded: readonly string[];
}

/** What folds and unfolds rows. */
export interface Fold {
  label: Unfold["label"];
  /** Labels of the rows below others, for the width of their column. */
  labels: readonly string[];
  isOpen: (row: Row) => boolean;
  toggle: (row: Row) => void;
}

/** The rows, each unfolded one followed by those that it unfolds to. */
export function useUnfolded(
  rows: Rows,
  { unfold, table, query, order, unfolded }: Asked,
  change: (changes: { unfolded: readonly string[] }) => void,
): { rows: Rows; fold: Fold | null } {
  const found = useRef(new Lru<string, TableJson>(50));
  const [failure, setFailure] = useState<Rows["error"]>(null);
  const [, setArrived] = useState(0);
  const [tries, setTries] = useState(0);
  const keys = unfold?.keys.filter((key) => table.columns.some((column) => column.key === key)) ?? [];
  const idOf = (row: Row) => keys.map((key) => encodeURIComponent(String(row.get(key) ?? ""))).join("/");
  const isOpen = (row: Row) => unfolded.includes(idOf(row));
  const open = unfold && unfolded.length > 0 ? openRows(rows, isOpen) : [];
  const asked = open.map(({ row }) => ({
    ...query,
    ...serverQuery({ ...ALL, where: keys.map((column) => ({ column, value: row.get(column) as string | null })) }),
    limit: MOST,
  }));
  const ids = asked.map((one) => JSON.stringify(one));
  useEffect(() => {
    if (!unfold) return;
    const controller = new AbortController();
    setFailure(null);
    asked.forEach((one, index) => {
      const id = ids[index] ?? "";
      if (found.current.get(id)) return;
      getTable(unfold.table, one, controller.signal).then(
        (answer) => {
          found.current.set(id, answer);
          setArrived((count) => count + 1);
        },
        (reason: unknown) => controller.signal.aborted || setFailure(asApiError(reason)),
      );
    });
    return () => controller.abort();
  }, [ids.join(), tries]);
  if (!unfold) return { rows, fold: null };
  const parts = open.map(({ place }, index) => ({ place, rows: sorted(found.current.get(ids[index] ?? ""), order) }));
  const retry = () => {
    rows.retry();
    setTries(tries + 1);
  };
  const toggle = (row: Row) =>
    change({ unfolded: isOpen(row) ? unfolded.filter((one) => one !== idOf(row)) : [...unfolded, idOf(row)] });
  return {
    rows: { ...withParts(rows, parts), error: rows.error ?? failure, retry },
    fold: {
      label: unfold.label,
      labels: parts.flatMap(({ rows }) => rows.map((row) => (row && unfold.label(row)) || "")),
      isOpen,
      toggle,
    },
  };
}

/** The unfolded rows that are loaded, with their places. */
function openRows(rows: Rows, isOpen: (row: Row) => boolean): { place: number; row: Row }[] {
  const out = [];
  for (let place = 0; place < (rows.count ?? 0); place++) {
    const row = rows.at(place);
    if (row && isOpen(row)) out.push({ place, row });
  }
  return out;
}

/** Rows below one, in the order of the table; null while they are loading. */
function sorted(table: TableJson | undefined, { key, desc }: Order): readonly (Row | null)[] {
  if (!table) return [null];
  const column = table.columns.find((one) => one.key === key);
  const all = Int32Array.from({ length: table.rows }, (_, index) => index);
  const places = column ? sortRows(all, table.data[key] ?? [], column.kind === "text", desc) : all;
  return Array.from(places, (index) => ({ ...rowAt(table.data, index), below: table }));
}

/** A row of the table, and the rows below it. */
interface Parts {
  place: number;
  rows: readonly (Row | null)[];
}

/** The rows with others between them. parts: by place. */
export function withParts(rows: Rows, parts: readonly Parts[]): Rows {
  const more = parts.reduce((sum, part) => sum + part.rows.length, 0);
  return {
    ...rows,
    count: rows.count === null ? null : rows.count + more,
    at: (place) => {
      let before = 0;
      for (const part of parts) {
        const own = part.place + before;
        if (place <= own) break;
        if (place <= own + part.rows.length) return part.rows[place - own - 1] ?? null;
        before += part.rows.length;
      }
      return rows.at(place - before);
    },
    want: (from, to) => rows.want(Math.max(0, from - more), to),
  };
}
