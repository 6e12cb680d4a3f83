/** Requests the rows of all ranks in sight: one request for all of them. */

import { free, getBinary } from "../../../api/client";
import { rowRanges } from "../../../timeline/cache";
import {
  type CounterSeries,
  decodeCounter,
  decodeSlices,
  emptyRow,
  parseFrame,
  type SliceRow,
  type SourceState,
} from "../../../timeline/decode";
import {
  type LaneOffset,
  type LayerId,
  laneOffset,
  laneOfTrack,
  layerOfTrack,
  ROWS_PER_TRACK,
  sourceOfRow,
  trackOfRow,
} from "../../../timeline/lanes";
import type { RowAnswer, RowQuery } from "../../../timeline/row_loader";
import { askOf, type SourceRef } from "./placement";

/** The timeline of a rank on the page. */
export interface LaneTimeline {
  span: string;
  /** Version of the reading. */
  version: string;
  /** Epoch time (ns) of its time 0. */
  base: string;
  offset: LaneOffset;
}

/** Epoch time (ns) by the clock of a rank at time 0 of the page. */
export function zeroOf({ base, offset }: LaneTimeline): string {
  return String(BigInt(base) - BigInt(offset.time));
}

/** Rows and counters of one layer of a rank. `offset`: of the layer. */
interface Source {
  lane: LaneTimeline;
  number: number;
  layer: LayerId;
  offset: LaneOffset;
  rows: number[];
  counters: number[];
}

/**
 * `laneOf`: the timeline of a lane; null if it is not loaded. `lost`: called for a lane that the server cannot show as
 * requested; rejects or never resolves if the answer is void.
 */
export async function requestRows(
  query: RowQuery,
  needle: string,
  laneOf: (lane: number) => LaneTimeline | null,
  lost: (lane: number, state: SourceState) => Promise<void>,
  signal: AbortSignal,
): Promise<RowAnswer> {
  const sources = sourcesOf(query, laneOf);
  const answer = { rows: [] as SliceRow[], counters: new Map<number, CounterSeries[]>() };
  if (sources.length === 0) return answer;
  const { level, start, end } = query.window;
  const fields = { t0: start, t1: end, px: 2 ** level, exact: query.isExact, q: needle };
  const buffer = await getBinary(...askOf("rows", sources.map(refOf), fields), signal);
  const frame = parseFrame(buffer);
  for (const [at, source] of sources.entries()) {
    const state = frame.header.parts?.[at] ?? "none";
    if (state !== "ready") {
      await lost(source.number, state);
      continue;
    }
    if (source.rows.length > 0) answer.rows.push(...rowsOf(source, frame.part(`${at}`), query.isExact));
    for (const track of source.counters) {
      const curves = frame.part(`${at}.${track - source.offset.track}`);
      answer.counters.set(track, decodeCounter(curves, source.lane.base, source.offset));
    }
  }
  free(buffer); // the columns are copies
  return answer;
}

/** Groups rows and counters by rank and layer. */
function sourcesOf({ rows, counters }: RowQuery, laneOf: (lane: number) => LaneTimeline | null): Source[] {
  const found = new Map<number, Source | null>();
  const sourceOf = (row: number): Source | null => {
    const key = sourceOfRow(row);
    const known = found.get(key);
    if (known !== undefined) return known;
    const track = trackOfRow(row);
    const [number, layer] = [laneOfTrack(track), layerOfTrack(track)];
    const lane = laneOf(number);
    const offset = laneOffset(number, lane?.offset.time ?? 0, layer);
    const source = lane && { lane, number, layer, offset, rows: [], counters: [] };
    found.set(key, source);
    return source;
  };
  for (const row of rows) sourceOf(row)?.rows.push(row);
  for (const track of counters) sourceOf(track * ROWS_PER_TRACK)?.counters.push(track);
  return [...found.values()].filter((source) => source !== null);
}

function refOf({ lane, layer, offset, rows, counters }: Source): SourceRef {
  const own = rowRanges(rows.map((row) => row - offset.row)).flatMap(([first, last]) => depthsOf(first, last));
  const tracks = counters.map((track) => track - offset.track);
  return { span: lane.span, version: lane.version, layer, zero: zeroOf(lane), rows: own, counters: tracks };
}

/** Track, first and last depth of each track of a range of rows. */
function depthsOf(first: number, last: number): [number, number, number][] {
  const tracks = Array.from({ length: trackOfRow(last) - trackOfRow(first) + 1 }, (_, at) => trackOfRow(first) + at);
  return tracks.map((track) => {
    const row = track * ROWS_PER_TRACK;
    return [track, Math.max(first - row, 0), Math.min(last - row, ROWS_PER_TRACK - 1)];
  });
}

/** Rows of a source; a row that a complete answer lacks has no slices in the window. */
function rowsOf({ lane, offset, rows }: Source, bytes: Uint32Array, isExact: boolean): SliceRow[] {
  const found = decodeSlices(bytes, lane.base, offset);
  if (isExact) return found;
  const known = new Set(found.map(({ row }) => row));
  return [...found, ...rows.filter((row) => !known.has(row)).map(emptyRow)];
}
