/** The part of the view that its link carries. */

import type { LayoutState } from "../../timeline/rows";
import type { Range } from "../../timeline/scene";

/** Keys of the parameters, all under "trace." so that no other view meets them. */
export const KEYS = {
  of: "trace.of",
  range: "trace.range",
  slice: "trace.slice",
  search: "trace.q",
  closed: "trace.closed",
  folded: "trace.folded",
  pinned: "trace.pins",
  filter: "trace.rows",
  marks: "trace.marks",
} as const;

export interface LinkState {
  range: Range | null;
  slice: number | null;
  search: string;
  layout: LayoutState;
  marks: Range[];
}

function numbers(text: string): number[] {
  return text.split(",").filter(Boolean).map(Number).filter(Number.isFinite);
}

/** "start,end" with start before end; anything else is null. */
export function parseRange(text: string): Range | null {
  const [start, end] = numbers(text);
  return start !== undefined && end !== undefined && end > start ? { start, end } : null;
}

export function formatRange({ start, end }: Range): string {
  return `${round(start)},${round(end)}`;
}

/** Hundredths of a ns: enough at the closest zoom. */
function round(time: number): number {
  return Math.round(time * 100) / 100;
}

/** State of span `span` from the parameters; what belongs to another span (ids, times) is left out. */
export function parseLink(params: Readonly<Record<string, string>>, span: string): LinkState {
  const get = (key: keyof typeof KEYS) => params[KEYS[key]] ?? "";
  const own = get("of") === "" || get("of") === span;
  const slice = get("slice");
  return {
    range: own ? parseRange(get("range")) : null,
    slice: own && /^\d+$/.test(slice) ? Number(slice) : null,
    search: get("search"),
    layout: {
      collapsedProcesses: new Set(get("closed").split("|").filter(Boolean)),
      collapsedTracks: new Set(own ? numbers(get("folded")) : []),
      pinned: own ? numbers(get("pinned")) : [],
      filter: get("filter"),
    },
    marks: own ? (get("marks").split(";").map(parseRange).filter(Boolean) as Range[]) : [],
  };
}

/** Parameters of the rows: what is folded, pinned and filtered. */
export function formatLayout(state: LayoutState): Record<string, string> {
  return {
    [KEYS.closed]: [...state.collapsedProcesses].join("|"),
    [KEYS.folded]: [...state.collapsedTracks].join(","),
    [KEYS.pinned]: state.pinned.join(","),
    [KEYS.filter]: state.filter,
  };
}
