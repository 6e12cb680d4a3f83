/** The part of the view that its link carries. */

import type { LayoutState } from "../../../timeline/rows";
import type { Area, Mark, Range } from "../../../timeline/scene";

/** Keys of the parameters, all under "trace." so that no other view meets them. */
export const KEYS = {
  of: "trace.of",
  version: "trace.v",
  range: "trace.range",
  area: "trace.area",
  slice: "trace.slice",
  search: "trace.q",
  closed: "trace.closed",
  folded: "trace.folded",
  pinned: "trace.pins",
  filter: "trace.rows",
  marks: "trace.marks",
  arrows: "trace.arrows",
} as const;

export interface LinkState {
  /** The reading of the trace that ids and tracks are of; "": of the whole trace. */
  version: string;
  /** What is in sight. */
  range: Range | null;
  /** What was dragged over. */
  area: Area | null;
  slice: number | null;
  search: string;
  layout: LayoutState;
  marks: Mark[];
  /** Kinds of flows whose arrows are all shown. */
  arrows: ReadonlySet<string>;
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

/** "start,end" of all rows, or with the numbers of its rows after it. */
export function parseArea(text: string): Area | null {
  const range = parseRange(text);
  const tracks = numbers(text).slice(2);
  return range && { ...range, tracks: tracks.length > 0 ? tracks : null };
}

export function formatArea(area: Area): string {
  return [formatRange(area), ...(area.tracks ?? [])].join(",");
}

/** "start,end,name;...", by start; the name is escaped, so that it may hold anything. What cannot be read is left out. */
export function parseMarks(text: string): Mark[] {
  return text
    .split(";")
    .flatMap((part) => {
      const [start, end, name = ""] = part.split(",");
      const range = { start: Number(start), end: Number(end) };
      if (!start || !end || !Number.isFinite(range.start + range.end) || range.end < range.start) return [];
      return [{ ...range, name: unescaped(name) }];
    })
    .sort((a, b) => a.start - b.start);
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

/**
 * State of span `span` from the parameters. What belongs to another span (ids, times) is left out, and so are ids of a
 * reading of its beginning other than `version`, the one on show.
 */
export function parseLink(params: Readonly<Record<string, string>>, span: string, version = ""): LinkState {
  const get = (key: keyof typeof KEYS) => params[KEYS[key]] ?? "";
  const own = get("of") === "" || get("of") === span;
  const hasIds = own && (get("version") === "" || get("version") === version);
  const slice = get("slice");
  return {
    version: own ? get("version") : "",
    range: own ? parseRange(get("range")) : null,
    area: hasIds ? parseArea(get("area")) : null,
    slice: hasIds && /^\d+$/.test(slice) ? Number(slice) : null,
    search: get("search"),
    layout: {
      collapsedProcesses: new Set(get("closed").split("|").filter(Boolean)),
      collapsedTracks: new Set(hasIds ? numbers(get("folded")) : []),
      pinned: hasIds ? numbers(get("pinned")) : [],
      filter: get("filter"),
    },
    marks: own ? parseMarks(get("marks")) : [],
    arrows: new Set(get("arrows").split(",").filter(Boolean)),
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
