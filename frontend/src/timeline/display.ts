/** Which slices are shown, and what their colours say. */

import { longestOf, type SliceRow } from "./decode";

export const COLOUR_MODES = ["name", "category", "meaning", "rank", "duration"] as const;
/**
 * "name": by name, with fixed colours for names with a meaning. "category": by the category in the trace, else by process.
 * "meaning": by what they do, else by process. "rank": one colour for each rank. "duration": by the longest slice of the bar.
 */
export type ColourMode = (typeof COLOUR_MODES)[number];

export const PACKINGS = ["frames", "streams"] as const;
/** Other rows than those of the trace. "frames": threads without frames of Python. "streams": all streams of a device in one. */
export type Packing = (typeof PACKINGS)[number];

/** Category of the slices that "frames" hides. */
export const FRAME = "python_function";

export interface Display {
  /** Shorter slices are left out, ns; 0: none. */
  least: number;
  colours: ColourMode;
  packings: readonly Packing[];
}

export const ALL_SLICES: Display = { least: 0, colours: "name", packings: [] };

/** Limits (ns) between the classes of durations. */
export const DURATION_LIMITS = [1e3, 1e4, 1e5, 1e6, 1e7] as const;
/** Share of the full colour in each class of durations. */
export const DURATION_SHARES = [0.22, 0.36, 0.5, 0.66, 0.83, 1] as const;

/** Class of the longest slice of a bar: how many limits it reaches. */
export function durationClass(row: SliceRow, index: number): number {
  const longest = longestOf(row, index);
  let reached = 0;
  while (longest >= (DURATION_LIMITS[reached] ?? Number.POSITIVE_INFINITY)) reached++;
  return reached;
}
