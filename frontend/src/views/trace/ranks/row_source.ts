/** Requests the rows of all ranks in sight: one request for all of them. */

import { free, getBinary } from "../../../api/client";
import { rowRanges } from "../../../timeline/cache";
import {
  type CounterSeries,
  decodeCounter,
  decodeSlices,
  emptyRow,
  type PartState,
  parseFrame,
  type SliceRow,
} from "../../../timeline/decode";
import { type LaneOffset, laneOfRow, laneOfTrack, timelineOfRow } from "../../../timeline/lanes";
import type { RowAnswer, RowQuery } from "../../../timeline/row_loader";

/** The timeline of a rank on the page. */
export interface LaneTimeline {
  span: string;
  /** Version of the reading. */
  version: string;
  /** Epoch time (ns) of its time 0. */
  base: string;
  offset: LaneOffset;
}

/** Rows, or a counter, of one rank. */
interface Part {
  lane: LaneTimeline;
  number: number;
  rows: number[];
  /** null: `rows` are rows. */
  counter: number | null;
}

/**
 * `laneOf`: the timeline of a lane; null if it is not loaded. `lost`: called for a lane that the server cannot show as
 * requested; rejects or never resolves if the answer is void.
 */
export async function requestRows(
  query: RowQuery,
  needle: string,
  laneOf: (lane: number) => LaneTimeline | null,
  lost: (lane: number, state: PartState) => Promise<void>,
  signal: AbortSignal,
): Promise<RowAnswer> {
  const parts = partsOf(query, laneOf);
  const answer = { rows: [] as SliceRow[], counters: new Map<number, CounterSeries[]>() };
  if (parts.length === 0) return answer;
  const text = ({ lane, rows, counter }: Part) => {
    const { span, version, offset } = lane;
    const asked = counter === null ? rowRanges(rows.map((row) => row - offset.row)) : counter - offset.track;
    return [span, version, query.window.start - offset.time, query.window.end - offset.time, asked].join(":");
  };
  const buffer = await getBinary(
    "timeline/rows",
    {
      px: 2 ** query.window.level,
      exact: Number(query.isExact),
      q: needle,
      slices: parts.filter(({ counter }) => counter === null).map(text),
      counter: parts.filter(({ counter }) => counter !== null).map(text),
    },
    signal,
  );
  const frame = parseFrame(buffer);
  for (const [at, part] of parts.entries()) {
    const state = frame.header.parts?.[at] ?? "none";
    if (state !== "ready") await lost(part.number, state);
    else if (part.counter === null) answer.rows.push(...rowsOf(part, frame.part(`${at}`), query.isExact));
    else answer.counters.set(part.counter, decodeCounter(frame.part(`${at}`), part.lane.base, part.lane.offset));
  }
  free(buffer); // the columns are copies
  return answer;
}

/** Groups rows by rank and timeline, then counters. */
function partsOf({ rows, counters }: RowQuery, laneOf: (lane: number) => LaneTimeline | null): Part[] {
  const groups = new Map<number, number[]>();
  for (const row of rows) {
    const key = timelineOfRow(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  const slices = [...groups.values()].map((group) => ({
    number: laneOfRow(group[0] ?? 0),
    rows: group,
    counter: null,
  }));
  const curves = counters.map((counter) => ({ number: laneOfTrack(counter), rows: [], counter }));
  return [...slices, ...curves].flatMap((part) => {
    const lane = laneOf(part.number);
    return lane ? [{ ...part, lane }] : [];
  });
}

/** Rows of a part; a row that a complete answer lacks has no slices in the window. */
function rowsOf({ lane, rows }: Part, bytes: Uint32Array, isExact: boolean): SliceRow[] {
  const found = decodeSlices(bytes, lane.base, lane.offset);
  if (isExact) return found;
  const known = new Set(found.map(({ row }) => row));
  return [...found, ...rows.filter((row) => !known.has(row)).map(emptyRow)];
}
