/** Rows that the server computes from the trace. */

import { layerOfSlice, layerOfTrack, trackOfRow } from "./lanes";
import type { RowProcess } from "./rows";

/** Process id of the derived rows of the open rank; those of other ranks end with it. */
export const DERIVED = "derived";

export const isDerivedProcess = (pid: string): boolean => pid === DERIVED || pid.endsWith(`/${DERIVED}`);

/** Text and colour (a CSS variable) of derived slices, by the name in answers. */
export type SliceLabels = ReadonlyMap<string, { text: string; color: string }>;

export const isDerivedTrack = (track: number): boolean => layerOfTrack(track) === "derived";
export const isDerivedRow = (row: number): boolean => isDerivedTrack(trackOfRow(row));
export const isDerivedSlice = (id: number): boolean => layerOfSlice(id) === "derived";

/** The processes with the derived one: behind the summary of the device, which comes first, or last without one. */
export function insertDerived(processes: readonly RowProcess[], derived: RowProcess): RowProcess[] {
  const at = processes.findIndex((process) => process.name === "Overlap Analysis") + 1 || processes.length;
  return [...processes.slice(0, at), derived, ...processes.slice(at)];
}
