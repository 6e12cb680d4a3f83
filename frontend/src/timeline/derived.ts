/** Rows that the server computes from the trace. Their numbers are beyond those of the trace. */

import { LANE_SLICES, LANE_TRACKS, ROWS_PER_TRACK } from "./lanes";
import type { RowProcess } from "./rows";

export const FIRST_DERIVED_TRACK = 2 ** 19;
const FIRST_DERIVED_SLICE = 2 ** 31;
/** Process id of the derived rows of the open rank; those of other ranks end with it. */
export const DERIVED = "derived";

export const isDerivedProcess = (pid: string): boolean => pid === DERIVED || pid.endsWith(`/${DERIVED}`);

/** Text and colour (a CSS variable) of derived slices, by the name in answers. */
export type SliceLabels = ReadonlyMap<string, { text: string; color: string }>;

export const isDerivedTrack = (track: number): boolean => track % LANE_TRACKS >= FIRST_DERIVED_TRACK;
export const isDerivedRow = (row: number): boolean => isDerivedTrack(Math.floor(row / ROWS_PER_TRACK));
export const isDerivedSlice = (id: number): boolean => id % LANE_SLICES >= FIRST_DERIVED_SLICE;

/** The processes with the derived one: behind the summary of the device, which comes first, or last without one. */
export function insertDerived(processes: readonly RowProcess[], derived: RowProcess): RowProcess[] {
  const at = processes.findIndex((process) => process.name === "Overlap Analysis") + 1 || processes.length;
  return [...processes.slice(0, at), derived, ...processes.slice(at)];
}
