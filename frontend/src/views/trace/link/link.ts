/** The view state in a link. */

import { isMarkColour } from "../../../timeline/colours";
import { ALL_SLICES, COLOUR_MODES, type Display, PACKINGS } from "../../../timeline/display";
import { DERIVED } from "../../../timeline/lanes";
import type { LayoutState } from "../../../timeline/rows";
import type { Area, Mark, Range } from "../../../timeline/scene";

/** Keys of the parameters, prefixed with "trace." to avoid collisions with other views. */
export const KEYS = {
  of: "trace.of",
  version: "trace.v",
  range: "trace.range",
  area: "trace.area",
  slice: "trace.slice",
  part: "trace.part",
  search: "trace.q",
  closed: "trace.closed",
  folded: "trace.folded",
  pinned: "trace.pins",
  filter: "trace.rows",
  hidden: "trace.hidden",
  hiddenRows: "trace.hidden_rows",
  order: "trace.order",
  rowOrder: "trace.row_order",
  least: "trace.least",
  colours: "trace.colours",
  packings: "trace.rows_as",
  marks: "trace.marks",
  arrows: "trace.arrows",
  derived: "trace.derived",
  ranks: "trace.ranks",
  align: "trace.align",
  offsets: "trace.offsets",
  unfolded: "trace.unfolded",
  grouping: "trace.group",
  sort: "trace.sort",
  foldedGroups: "trace.folded_groups",
  versus: "trace.versus",
} as const;

export interface LinkState {
  /** Version of the reading that ids and tracks belong to; "": the complete trace. */
  version: string;
  /** The visible window. */
  range: Range | null;
  /** The dragged area. */
  area: Area | null;
  slice: number | null;
  /** The selected part of a strip. */
  part: StripPart | null;
  search: string;
  layout: LayoutState;
  display: Display;
  marks: Mark[];
  /** Kinds of flows with all arrows shown. */
  arrows: ReadonlySet<string>;
}

function numbers(text: string): number[] {
  return text.split(",").filter(Boolean).map(Number).filter(Number.isFinite);
}

function keys(text: string): string[] {
  return text.split("|").filter(Boolean);
}

/** Parses "start,end" with start before end; null for anything else. */
export function parseRange(text: string): Range | null {
  const [start, end] = numbers(text);
  return start !== undefined && end !== undefined && end > start ? { start, end } : null;
}

/** Converts "start,duration" (start in ns since 1970) to a range in ns after `base` (ns since 1970). */
export function parseMoment(text: string, base: string): Range | null {
  const match = /^(\d+)(?:,(\d+))?$/.exec(text);
  if (!match) return null;
  const start = Number(BigInt(match[1] as string) - BigInt(base));
  return { start, end: start + Math.max(Number(match[2] ?? 0), 1) };
}

export function formatRange({ start, end }: Range): string {
  return `${round(start)},${round(end)}`;
}

/** Parses "start,end" (all rows), or with track numbers after it, or with numbers of ranks as "r5". */
export function parseArea(text: string): Area | null {
  const range = parseRange(text);
  const tracks = numbers(text).slice(2);
  const lanes = text.split(",").flatMap((part) => (/^r\d+$/.test(part) ? [Number(part.slice(1))] : []));
  const area = range && { ...range, tracks: tracks.length > 0 ? tracks : null };
  return area && lanes.length > 0 ? { ...area, lanes } : area;
}

export function formatArea(area: Area): string {
  return [formatRange(area), ...(area.tracks ?? []), ...(area.lanes ?? []).map((lane) => `r${lane}`)].join(",");
}

/** Part of a strip that is selected: a wait, a step, or what was in sight. Times are those of the page. */
export interface StripPart extends Range {
  span: string;
}

/** Parses "span,start,end". */
function parsePart(text: string): StripPart | null {
  const [span = "", ...times] = text.split(",");
  const range = parseRange(times.join(","));
  return range && span !== "" ? { ...range, span } : null;
}

export function formatPart(part: StripPart): string {
  return `${part.span},${formatRange(part)}`;
}

/** Parses "start,end,name,colour;...", sorted by start; names are escaped. Malformed marks are skipped. */
export function parseMarks(text: string): Mark[] {
  return text
    .split(";")
    .flatMap((part) => {
      const [start, end, name = "", colour] = part.split(",");
      const range = { start: Number(start), end: Number(end) };
      if (!start || !end || !Number.isFinite(range.start + range.end) || range.end < range.start) return [];
      return [{ ...range, name: unescapeText(name), ...(isMarkColour(colour) ? { colour } : {}) }];
    })
    .sort((a, b) => a.start - b.start);
}

export function formatMarks(marks: readonly Mark[]): string {
  return marks
    .map((mark) => `${formatRange(mark)},${encodeURIComponent(mark.name)}${mark.colour ? `,${mark.colour}` : ""}`)
    .join(";");
}

function unescapeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Formats a time with 0.01 ns: enough at the closest zoom. */
function round(time: number): number {
  return Math.round(time * 100) / 100;
}

/**
 * State of span `span` from the parameters. Skips ids and times of another span, and ids of a partial reading other
 * than `version`, the current one.
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
    part: own ? parsePart(get("part")) : null,
    search: get("search"),
    layout: {
      collapsedProcesses: new Set([...keys(get("closed")), ...(get("derived") === "1" ? [] : [DERIVED])]),
      collapsedTracks: new Set(hasIds ? numbers(get("folded")) : []),
      pinned: hasIds ? numbers(get("pinned")) : [],
      filter: get("filter"),
      arrangement: {
        hiddenProcesses: new Set(keys(get("hidden"))),
        hiddenTracks: new Set(hasIds ? numbers(get("hiddenRows")) : []),
        processOrder: keys(get("order")),
        trackOrder: hasIds ? numbers(get("rowOrder")) : [],
      },
    },
    display: {
      least: /^\d{1,15}$/.test(get("least")) ? Number(get("least")) : ALL_SLICES.least,
      colours: COLOUR_MODES.find((mode) => mode === get("colours")) ?? ALL_SLICES.colours,
      packings: PACKINGS.filter((packing) => get("packings").split(",").includes(packing)),
    },
    marks: own ? parseMarks(get("marks")) : [],
    arrows: new Set(get("arrows").split(",").filter(Boolean)),
  };
}

/** Parameters of folded, pinned, filtered, hidden and moved rows. */
export function formatLayout(state: LayoutState): Record<string, string> {
  const { hiddenProcesses, hiddenTracks, processOrder, trackOrder } = state.arrangement;
  return {
    [KEYS.closed]: [...state.collapsedProcesses].filter((key) => key !== DERIVED).join("|"),
    [KEYS.derived]: state.collapsedProcesses.has(DERIVED) ? "" : "1",
    [KEYS.folded]: [...state.collapsedTracks].join(","),
    [KEYS.pinned]: state.pinned.join(","),
    [KEYS.filter]: state.filter,
    [KEYS.hidden]: [...hiddenProcesses].join("|"),
    [KEYS.hiddenRows]: [...hiddenTracks].join(","),
    [KEYS.order]: processOrder.join("|"),
    [KEYS.rowOrder]: trackOrder.join(","),
  };
}

/** Parameters of the shown slices and their colours; those of ALL_SLICES are left out. */
export function formatDisplay({ least, colours, packings }: Display): Record<string, string> {
  return {
    [KEYS.least]: least === ALL_SLICES.least ? "" : String(least),
    [KEYS.colours]: colours === ALL_SLICES.colours ? "" : colours,
    [KEYS.packings]: packings.join(","),
  };
}
