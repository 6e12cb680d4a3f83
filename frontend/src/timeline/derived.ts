/** Rows that the server computes from the trace. */

import { layerOfSlice, layerOfTrack, trackOfRow } from "./lanes";

/** Process id of the derived rows of the open rank; those of other ranks end with it. */
export const DERIVED = "derived";

export const isDerivedProcess = (pid: string): boolean => pid === DERIVED || pid.endsWith(`/${DERIVED}`);

/** Text and colour (a CSS variable) of derived slices, by the name in answers. */
export type SliceLabels = ReadonlyMap<string, { text: string; color: string }>;

export const isDerivedTrack = (track: number): boolean => layerOfTrack(track) === "derived";
export const isDerivedRow = (row: number): boolean => isDerivedTrack(trackOfRow(row));
export const isDerivedSlice = (id: number): boolean => layerOfSlice(id) === "derived";
