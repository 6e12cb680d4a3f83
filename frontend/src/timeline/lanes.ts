/**
 * Rows of several ranks on one page. The open rank is lane 0; the numbers of tracks and slices of lane n follow those of
 * lane n - 1.
 */

export const ROWS_PER_TRACK = 4096;
/** Numbers of tracks, and of slices, in a lane: those of the trace and of derived rows. */
export const LANE_TRACKS = 2 ** 20;
export const LANE_SLICES = 2 ** 32;
const LANE_ROWS = LANE_TRACKS * ROWS_PER_TRACK;

export const laneOfTrack = (track: number): number => Math.floor(track / LANE_TRACKS);
export const laneOfRow = (row: number): number => Math.floor(row / LANE_ROWS);
/** Numbers of tracks of one timeline: the trace, merged streams, threads without frames, derived rows. */
const TIMELINE_TRACKS = 2 ** 17;
/** Rows with the same key are of the same timeline of the same lane. */
export const timelineOfRow = (row: number): number => Math.floor(row / ROWS_PER_TRACK / TIMELINE_TRACKS);
export const laneOfSlice = (id: number): number => Math.floor(id / LANE_SLICES);

/** What turns numbers and times of a rank into those of the page. */
export interface LaneOffset {
  track: number;
  row: number;
  slice: number;
  /** ns. */
  time: number;
}

/** `time`: added to its times, ns. */
export function laneOffset(lane: number, time: number): LaneOffset {
  return { track: lane * LANE_TRACKS, row: lane * LANE_ROWS, slice: lane * LANE_SLICES, time };
}
