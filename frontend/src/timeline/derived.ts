/** Rows that the server computes from the trace. Their numbers are beyond those of the trace. */

import type { ProcessJson } from "../api/types.gen";

export const FIRST_DERIVED_TRACK = 2 ** 19;
export const FIRST_DERIVED_SLICE = 2 ** 31;
/** Process id of the derived rows. */
export const DERIVED = "derived";
const ROWS_PER_TRACK = 4096;

/** Text and colour (a CSS variable) of derived slices, by the name in answers. */
export type SliceLabels = ReadonlyMap<string, { text: string; color: string }>;

export const isDerivedTrack = (track: number): boolean => track >= FIRST_DERIVED_TRACK;
export const isDerivedRow = (row: number): boolean => isDerivedTrack(Math.floor(row / ROWS_PER_TRACK));
export const isDerivedSlice = (id: number): boolean => id >= FIRST_DERIVED_SLICE;

/** The rows of the same timeline as the first one: a request is for those of the trace or for derived ones. */
export function ofOneTimeline(rows: readonly number[]): number[] {
  const [first] = rows;
  return first === undefined ? [] : rows.filter((row) => isDerivedRow(row) === isDerivedRow(first));
}

/** The processes with the derived one: behind the summary of the device, which comes first, or last without one. */
export function insertDerived(processes: readonly ProcessJson[], derived: ProcessJson): ProcessJson[] {
  const at = processes.findIndex((process) => process.name === "Overlap Analysis") + 1 || processes.length;
  return [...processes.slice(0, at), derived, ...processes.slice(at)];
}
