/**
 * Numbers of tracks, rows and slices on the page, and in its links. Each reading is a lane: the open rank is lane 0, and the numbers
 * of lane n follow those of lane n - 1. In a lane, each layer has tracks of its own. Requests name the span and the layer, and the
 * numbers of the layer.
 */

export const ROWS_PER_TRACK = 4096;
/** Numbers of tracks of a layer, of layers, and of slices, in a lane. */
const LAYER_TRACKS = 2 ** 17;
const LANE_LAYERS = 8;
const LANE_SLICES = 2 ** 32;

/** Rows of the trace; merged streams and threads without frames, whose slices are those of the trace; derived rows. */
export type LayerId = "trace" | "streams" | "frames" | "derived";

/** Place of each layer in a lane, and its first slice. */
const LAYERS: Readonly<Record<LayerId, { place: number; slice: number }>> = {
  trace: { place: 0, slice: 0 },
  streams: { place: 1, slice: 0 },
  frames: { place: 2, slice: 0 },
  derived: { place: 4, slice: 2 ** 31 },
};
const PLACES = new Map(Object.entries(LAYERS).map(([layer, { place }]) => [place, layer as LayerId]));

const placeOfTrack = (track: number): number => Math.floor(track / LAYER_TRACKS);
export const laneOfTrack = (track: number): number => Math.floor(placeOfTrack(track) / LANE_LAYERS);
export const layerOfTrack = (track: number): LayerId => PLACES.get(placeOfTrack(track) % LANE_LAYERS) ?? "trace";
export const trackOfRow = (row: number): number => Math.floor(row / ROWS_PER_TRACK);
/** Rows with the same key are of the same layer of the same lane. */
export const sourceOfRow = (row: number): number => placeOfTrack(trackOfRow(row));
export const laneOfSlice = (id: number): number => Math.floor(id / LANE_SLICES);
export const layerOfSlice = (id: number): LayerId => (id % LANE_SLICES >= LAYERS.derived.slice ? "derived" : "trace");

/** What turns numbers and times of a layer into those of the page. */
export interface LaneOffset {
  track: number;
  row: number;
  slice: number;
  /** ns. */
  time: number;
}

/** `time`: added to its times, ns. */
export function laneOffset(lane: number, time: number, layer: LayerId = "trace"): LaneOffset {
  const { place, slice } = LAYERS[layer];
  const track = (lane * LANE_LAYERS + place) * LAYER_TRACKS;
  return { track, row: track * ROWS_PER_TRACK, slice: lane * LANE_SLICES + slice, time };
}

/** Process id of the derived rows of the open rank; those of other ranks end with it. */
export const DERIVED = "derived";

export const isDerivedProcess = (pid: string): boolean => pid === DERIVED || pid.endsWith(`/${DERIVED}`);

/** Text and colour (a CSS variable) of derived slices, by the name in answers. */
export type SliceLabels = ReadonlyMap<string, { text: string; color: string }>;

export const isDerivedTrack = (track: number): boolean => layerOfTrack(track) === "derived";
export const isDerivedRow = (row: number): boolean => isDerivedTrack(trackOfRow(row));
export const isDerivedSlice = (id: number): boolean => layerOfSlice(id) === "derived";
