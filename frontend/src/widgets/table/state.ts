import { param, setParams } from "../../state/params";
import type { Order } from "./columnar";

/** The user's choices for a table; kept in the URL under `t.<id>`. */
export interface TableState {
  filter: string;
  /** null: unsorted. */
  order: Order | null;
  /** Visible columns in order; null: the view's default. */
  columns: readonly string[] | null;
  /** Widths in px of columns that were resized. */
  widths: Readonly<Record<string, number>>;
  /** Unfolded rows, by `unfoldKey`. */
  unfolded?: readonly string[];
}

/** Parses `q:text`, `s:-key`, `c:a,b`, `w:a=120,b=80`, `o:a,b`, separated by "~". */
export function parseState(text: string): TableState {
  const state: TableState = { filter: "", order: null, columns: null, widths: {} };
  for (const part of text.split("~")) {
    const value = part.slice(2);
    if (part.startsWith("q:")) state.filter = unquote(value);
    else if (part.startsWith("s:")) state.order = { key: value.replace(/^-/, ""), desc: value.startsWith("-") };
    else if (part.startsWith("c:")) state.columns = value.split(",").filter(Boolean);
    else if (part.startsWith("w:")) state.widths = parseWidths(value);
    else if (part.startsWith("o:")) state.unfolded = unquote(value).split(",").filter(Boolean);
  }
  return state;
}

export function formatState(state: TableState): string {
  const widths = Object.entries(state.widths).map(([key, width]) => `${key}=${Math.round(width)}`);
  return [
    state.filter && `q:${quote(state.filter)}`,
    state.order && `s:${state.order.desc ? "-" : ""}${state.order.key}`,
    state.columns && `c:${state.columns.join(",")}`,
    widths.length > 0 && `w:${widths.join(",")}`,
    state.unfolded?.length && `o:${quote(state.unfolded.join(","))}`,
  ]
    .filter(Boolean)
    .join("~");
}

const quote = (text: string) => text.replaceAll("%", "%25").replaceAll("~", "%7E");
const unquote = (text: string) => text.replaceAll("%7E", "~").replaceAll("%25", "%");

function parseWidths(text: string): Record<string, number> {
  const widths: Record<string, number> = {};
  for (const pair of text.split(",")) {
    const [key = "", width = ""] = pair.split("=");
    if (key && Number(width) >= 30) widths[key] = Number(width);
  }
  return widths;
}

/** State of the table `id`, and a function that changes it. */
export function useTableState(id: string): [TableState, (changes: Partial<TableState>) => void] {
  const key = `t.${id}`;
  const state = parseState(param(key));
  return [state, (changes) => setParams({ [key]: formatState({ ...parseState(param(key)), ...changes }) })];
}
