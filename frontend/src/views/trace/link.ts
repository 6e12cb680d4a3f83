/** The part of the view that its link carries. */

import type { LayoutState } from "../../timeline/rows";
import type { Mark, Range } from "../../timeline/scene";

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
  marks: Mark[];
}

function numbers(text: string): number[] {
  return text.split(",").filter(Boolean).map(Number).filter(Number.isFinite);
}

/** "start,end" with start before end; anything else is null. */
export function parseRange(text: string): Range | null {
  const [start, end] = numbers(text);
  return start !== undefined && end !== undefined && end > start ? { start, end } : null;
}

/** "start,duration" with the start in ns since 1970, as a range in ns after `base` (ns since 1970). */
export function parseMoment(text: string, base: string): Range | null {
  const match = /^(\d+)(?:,(\d+))?$/.exec(text);
  if (!match) return null;
  const start = Number(BigInt(match[1] as string) - BigInt(base));
  return { start, end: start + Math.max(Number(match[2] ?? 0), 1) };
}

export function formatRange({ start, end }: Range): string {
  return `${round(start)},${round(end)}`;
}

/** "start,end,name;..."; the name is escaped, so that it may hold anything. What cannot be read is left out. */
export function parseMarks(text: string): Mark[] {
  return text.split(";").flatMap((part) => {
    const [start, end, name = ""] = part.split(",");
    const range = { start: Number(start), end: Number(end) };
    if (!start || !end || !Number.isFinite(range.start) || !(range.end >= range.start)) return [];
    return [{ ...range, name: unescaped(name) }];
  });
}

export function formatMarks(marks: readonly Mark[]): string {
  return marks.map((mark) => `${formatRange(mark)},${encodeURIComponent(mark.name)}`).join(";");
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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
    marks: own ? parseMarks(get("marks")) : [],
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
